//! A harness whose tests run in the test's own network namespace, so that they never touch the
//! host's interfaces, routes or ports.
//!
//! As root the harness makes the namespace directly; otherwise it makes an unprivileged user
//! namespace. If neither is possible, every test is skipped: counted as ignored and named at the
//! end. Otherwise only a test that names a missing program of the host is skipped.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::Ipv6Addr;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial, run};
use redpoll_linux::namespace;
use redpoll_linux::tun::TunConfig;

pub struct Case {
    name: String,
    /// Program of the host that the test requires.
    program: Option<&'static str>,
    /// Returns why the case cannot run, for a reason other than a missing program.
    unless: fn() -> Option<String>,
    run: Box<dyn FnOnce() + Send>,
}

impl Case {
    pub fn new(name: impl Into<String>, run: impl FnOnce() + Send + 'static) -> Self {
        Case {
            name: name.into(),
            program: None,
            unless: || None,
            run: Box::new(run),
        }
    }

    /// Returns a test that uses a program of the host.
    #[allow(
        dead_code,
        reason = "each test binary uses its own part of this module"
    )]
    pub fn with(program: &'static str, name: &str, run: impl FnOnce() + Send + 'static) -> Self {
        Case {
            program: Some(program),
            ..Case::new(name, run)
        }
    }

    /// Returns a test that is skipped if `obstacle` returns a reason.
    #[allow(
        dead_code,
        reason = "each test binary uses its own part of this module"
    )]
    pub fn unless(
        obstacle: fn() -> Option<String>,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> Self {
        Case {
            unless: obstacle,
            ..Case::new(name, run)
        }
    }

    /// Returns the same test, which also requires a program of the host.
    #[allow(
        dead_code,
        reason = "each test binary uses its own part of this module"
    )]
    pub fn needing(self, program: &'static str) -> Self {
        Case {
            program: Some(program),
            ..self
        }
    }

    /// Returns why the case cannot run here, if it cannot.
    fn obstacle(&self, no_network: Option<&str>) -> Option<String> {
        let no_program = || {
            let program = self.program?;
            let missing = Command::new(program).output().is_err();
            missing.then(|| format!("there is no {program}"))
        };
        no_network
            .map(str::to_owned)
            .or_else(no_program)
            .or_else(self.unless)
    }
}

/// Runs the cases; to be called as the first thing in `main`.
#[allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]
pub fn main(cases: Vec<Case>) -> ExitCode {
    // The tests mostly wait for a slow link, so eight run in parallel on any computer.
    main_with(cases, 8)
}

pub fn main_with(cases: Vec<Case>, threads: usize) -> ExitCode {
    let no_network = isolate().err();
    let mut arguments = Arguments::from_args();
    let mut skipped = String::new();
    let trials = cases
        .into_iter()
        .filter(|case| is_wanted(&arguments, &case.name))
        .map(|case| {
            let obstacle = case.obstacle(no_network.as_deref());
            if let Some(obstacle) = &obstacle {
                let _ = writeln!(skipped, "test {}: {obstacle}", case.name);
            }
            let trial = Trial::test(case.name, move || {
                (case.run)();
                Ok(())
            });
            trial.with_ignored_flag(obstacle.is_some())
        })
        .collect();
    arguments.test_threads.get_or_insert(threads);
    let conclusion = run(&arguments, trials);
    if !skipped.is_empty() {
        print!("Skipped:\n{skipped}");
        note(&skipped);
    }
    conclusion.exit_code()
}

/// Returns whether the command line selects the case, as the library of the tests decides it. Cases
/// that are not selected are not reported as skipped.
fn is_wanted(arguments: &Arguments, name: &str) -> bool {
    let matches = |filter: &String| match arguments.exact {
        true => name == filter,
        false => name.contains(filter.as_str()),
    };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
}

/// Appends the lines to the file of `REDPOLL_SKIPPED`, in which the caller collects skipped tests.
fn note(lines: &str) {
    let Some(path) = std::env::var_os("REDPOLL_SKIPPED") else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(lines.as_bytes()))
        .expect("REDPOLL_SKIPPED names a file that can be written");
}

/// Moves this process into its own network namespace, or returns the reason why this is impossible.
fn isolate() -> Result<(), String> {
    namespace::probe(&config(0)).map_err(|e| e.to_string())?;
    namespace::enter().map_err(|e| e.to_string())
}

/// Returns the settings of the TUN interface of test `n`, with a prefix that no other test uses.
pub fn config(n: u16) -> TunConfig {
    TunConfig {
        name: "rptest%d".to_owned(),
        address: host_address(n),
        route: (Ipv6Addr::new(0xfd72, 0x6564, 0x706f, n, 0, 0, 0, 0), 64),
        mtu: 1280,
    }
}

pub fn host_address(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd72, 0x6564, 0, n, 0, 0, 0, 1)
}

/// Returns the address of a node behind the interface of test number `n`.
#[allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]
pub fn node_address(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd72, 0x6564, 0x706f, n, 0, 0xff, 0xfe00, 2)
}
