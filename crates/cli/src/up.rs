//! `redpoll up`: a mesh in real time, joined to this computer.
//!
//! - `config`: the settings of `--config`;
//! - `join`: the connection by TUN, namespace or forwards only, and its report;
//! - `mesh`: the simulated mesh for the gateway;
//! - `connections`: the lines about each connection;
//! - `frames`: the lines about each frame, with `-v`;
//! - `status`: the status line;
//! - `tui`: the mesh in the terminal, if the user requests it;
//! - `session`: the running mesh and its end;
//! - `services`: forwarded ports, and the services outside the mesh that nodes may reach;
//! - `advertise`: the advertised route to the mesh;
//! - `radio`: a mesh behind a real radio, in place of a simulated one;
//! - `companion`: the program that runs with the mesh;
//! - `environment`: its environment variables;
//! - `demo`: the demonstration, which is such a program.

mod advertise;
mod args;
mod companion;
pub mod config;
mod connections;
mod demo;
mod environment;
mod frames;
mod greeting;
mod join;
mod losses;
mod mesh;
mod radio;
mod services;
mod session;
mod status;
mod tui;

use std::path::Path;
use std::process::ExitCode;

use redpoll_base::{Duration, Instant};
use redpoll_linux::gateway::Gateway;
use redpoll_linux::privilege::Keep;
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_linux::reach::Reach;
use redpoll_linux::signals::Signals;
use redpoll_sim::{NodeSpec, Scenario, When};
use redpoll_web::message::Mode;

use crate::failure::{Failure, cannot_write, fail_all};
use crate::lines::Sockets;
use crate::output::{self, fail};
use crate::places::Places;
use crate::run::outputs::Outputs;
use crate::{FAILED, USAGE, web};
use advertise::advertiser;
pub use args::UpArgs;
use companion::spawned;
use environment::Environment;
use frames::FrameLines;
use mesh::SimulatedMesh;
use redpoll_program::notify::Supervisor;
use redpoll_program::rights::Rights;
use services::{exposed, listen, reserve_forwards};
use session::{Session, end};
use status::StatusLine;
use tui::Tui;

/// Returns a failure with exit code 1: neither the scenario nor an argument is the cause.
fn failed(error: impl std::fmt::Display) -> Failure {
    (FAILED, error.to_string())
}

/// Returns a failure because of unusable arguments.
fn unusable(error: impl std::fmt::Display) -> Failure {
    (USAGE, error.to_string())
}

pub fn run(args: &UpArgs) -> ExitCode {
    let result = if args.demo_steps {
        load(args).and_then(|scenario| {
            let environment = Environment::of_this_process();
            let environment = environment.ok_or_else(|| {
                unusable(
                    "--demo-steps works only inside `redpoll up \
                    --demo`",
                )
            })?;
            Ok(demo::walk(&scenario, &environment))
        })
    } else {
        up(args).map(ExitCode::from)
    };
    result.unwrap_or_else(|(code, line)| fail(code, line))
}

fn up(args: &UpArgs) -> Result<u8, Failure> {
    args.check().map_err(unusable)?;
    if args.check_config {
        return check_config(args).map(|()| 0);
    }
    if args.tui {
        tui::refuse_without_terminal().map_err(unusable)?;
    }
    // Watch signals first: an unwatched one would end the process without removing an interface.
    let signals = Signals::watch().map_err(failed)?;
    let rights = Rights::of(&args.rights)?;
    if let Some(url) = &args.radio {
        return radio::up(args, url, signals, &rights);
    }
    let captures_to_stdout = args.pcap.as_deref().is_some_and(output::is_standard);
    if captures_to_stdout && !args.is_alone() {
        let line = "--pcap - writes to standard output, which the program that `up` starts uses; \
            allowed: --pcap FILE";
        return Err(unusable(line));
    }
    let mut scenario = load(args)?;
    crate::need::check(&scenario)?;
    reserve_forwards(args, &mut scenario);
    Places::default()
        .with("--pcap", args.pcap.as_deref())
        .with("--json", args.json.as_deref())
        .with("--series", args.series.as_deref())
        .with("--record", args.record.as_deref())
        .with("--hosts", args.hosts.as_deref())
        .check_beside(&scenario)
        .map_err(unusable)?;
    let lines = Sockets::beside(&scenario).map_err(failed)?;
    let lines = lines.of(rights.account());
    let mut outputs = Outputs::plan(&args.files())?;
    let mut mesh = simulated(&scenario, &lines)?;
    if !rights.files(|| mesh.write_to(&mut outputs).map_err(first_of))? {
        return Ok(0);
    }
    let chatty = !outputs.takes_standard();
    if args.verbose {
        if !chatty {
            let line = "--verbose writes to standard output, and so does another option; allowed: \
                a FILE for the other option";
            return Err(unusable(line));
        }
        mesh.trace(Box::new(FrameLines::of(&scenario)));
    }

    // Open the sockets in the user's network namespace, before join may enter another one.
    let (forwarder, forwards) = listen(args, &scenario)?;
    let server = web::listen(&args.web)?;
    let joined = join::join(args, &scenario, !forwards.is_empty());
    let joined = joined.map_err(|error| {
        if error.is_usage() {
            unusable(error)
        } else {
            failed(error)
        }
    })?;
    let advertiser = advertiser(args, &scenario, joined.way)?;
    rights.files(|| tell_hosts(args, &scenario))?;
    let environment = Environment {
        way: joined.way,
        host: scenario.border.host.into(),
        forwards,
    };
    let reach = Reach::new(exposed(args, &scenario));
    let mut greeting = greeting::text(&scenario, &joined, &environment, &reach);
    greeting.extend(server.as_ref().map(web::greeting));
    if chatty {
        output::print(&greeting).map_err(failed)?;
    } else {
        eprint!("{greeting}");
    }

    let mut session = Session {
        desk: None,
        gateway: Gateway::new(joined.tun, forwarder).with_reach(reach),
        mesh,
        outputs,
        look_at: Instant::ZERO,
        companion: None,
        stays: args.demo && args.web.web.is_some(),
        advertiser,
        lines: lines.watch(),
        signals,
        supervisor: Supervisor::of_environment(),
        tells: chatty && args.is_alone(),
        status: StatusLine::new(args.is_alone() && !args.verbose && !args.tui),
        tui: None,
        lateness: Duration::ZERO,
    };
    session.companion = spawned(args, &environment, &rights)?;
    let has_companion = session.companion.is_some();
    give_up(&rights, has_companion, lines.sandbox())?;
    // Start the server's thread after the rights were given up, because a thread keeps the rights
    // that it starts with.
    let desk = server.map(|server| server.start(session.mesh.world(), Mode::Up));
    session.desk = desk.transpose().map_err(failed)?;
    if args.tui {
        session.tui = Some(Tui::start(session.mesh.world()).map_err(failed)?);
    }
    end(session, args, &scenario, chatty)
}

/// Checks the settings without starting anything.
fn check_config(args: &UpArgs) -> Result<(), Failure> {
    let scenario = load(args)?;
    if args.radio.is_some() {
        radio::check(args, &scenario)?;
    }
    let file = args.config.as_deref().unwrap_or(Path::new(""));
    output::print(&format!("{}: no errors\n", file.display())).map_err(failed)
}

fn simulated(scenario: &Scenario, lines: &Sockets) -> Result<SimulatedMesh, Failure> {
    let secrets = mesh::secrets().map_err(failed)?;
    SimulatedMesh::new(scenario, secrets, lines).map_err(unusable)
}

/// Reports all failures except the last, which it returns.
fn first_of(mut failures: Vec<Failure>) -> Failure {
    let last = failures.pop();
    fail_all(&failures);
    last.unwrap_or_else(|| failed("cannot create an output file"))
}

/// Writes the requested lines for /etc/hosts.
fn tell_hosts(args: &UpArgs, scenario: &Scenario) -> Result<(), Failure> {
    let Some(path) = &args.hosts else {
        return Ok(());
    };
    let text = hosts(scenario);
    let written = if output::is_standard(path) {
        output::print(&text)
    } else {
        std::fs::write(path, text)
    };
    written.map_err(|error| cannot_write(&path.display().to_string(), &error))
}

fn give_up(rights: &Rights, has_companion: bool, mut sandbox: Sandbox) -> Result<(), Failure> {
    // Without --user, the started program may change to another user. Ending it then requires
    // CAP_KILL.
    let mut keeps = &[][..];
    if has_companion {
        if rights.account().is_none() {
            keeps = &[Keep::Kill];
        }
        // The descendants of the started program, which are ended with it, are found in /proc.
        sandbox = sandbox.with_signals().with_reading("/proc");
    }
    for line in rights.give_up(keeps, &sandbox)? {
        eprintln!("redpoll: {line}");
    }
    Ok(())
}

/// Loads the scenario with the user's changes, without the apps that only run in virtual time.
fn load(args: &UpArgs) -> Result<Scenario, Failure> {
    let mut scenario = Scenario::load(&args.scenario.file, &args.overrides()).map_err(unusable)?;
    // No simulated host, because this computer is the host.
    scenario.host = None;
    let is_demo = args.demo || args.demo_steps;
    scenario.retain_apps_of(if is_demo { When::Demo } else { When::Up });
    if scenario.border_router().is_none() {
        let line = format!(
            "{}: no node has role = \"border\", so there is nothing to join to this computer; simulate it with `redpoll run`",
            args.scenario.file
        );
        return Err(unusable(line));
    }
    Ok(scenario)
}

/// Returns lines for /etc/hosts: every node as NAME.redpoll.
fn hosts(scenario: &Scenario) -> String {
    let line = |(index, node): (usize, &NodeSpec)| {
        let address = std::net::Ipv6Addr::from(scenario.address(index)?);
        Some(format!("{address} {}.redpoll\n", node.name))
    };
    let lines = scenario.nodes.iter().enumerate().filter_map(line);
    lines.collect()
}
