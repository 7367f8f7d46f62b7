//! `redpoll taim install`, `check` and `uninstall` with real firewalls, in the test's namespace.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::Signal;

use crate::daemon::{Daemon, figure};
use crate::net::{self, Network};
use crate::reached;
use crate::support::{Folder, PROGRAM, code, complaint, redpoll, stdout};

/// The programs with which the rules are made and shown.
#[derive(Clone, Copy)]
pub enum Firewall {
    Ip6tables(&'static str),
    Nft,
}

/// Returns the reason for which rules of nft cannot be tested here, if there is one.
pub fn no_nft_queue() -> Option<String> {
    let rule = "add table ip6 t; add chain ip6 t c; add rule ip6 t c queue num 0 bypass";
    let tried = Command::new("nft").args(["-c", rule]).output().ok()?;
    let reason = String::from_utf8_lossy(&tried.stderr).into_owned();
    let is_possible = tried.status.success();
    (!is_possible).then(|| {
        let reason = reason.lines().next().unwrap_or_default();
        format!("nft cannot use queues on this kernel (nft_queue): {reason}")
    })
}

impl Firewall {
    fn name(self) -> &'static str {
        match self {
            Firewall::Ip6tables(program) => program,
            Firewall::Nft => "nft",
        }
    }

    fn flush(self) {
        match self {
            Firewall::Ip6tables(program) => net::flush_with(program),
            Firewall::Nft => {
                let done = Command::new("nft").args(["flush", "ruleset"]).status();
                assert!(done.expect("nft runs").success());
            }
        }
    }

    fn shown(self) -> String {
        let (program, args) = match self {
            Firewall::Ip6tables(program) => (format!("{program}-save"), &[][..]),
            Firewall::Nft => ("nft".to_owned(), &["list", "ruleset"][..]),
        };
        let output = Command::new(program)
            .args(args)
            .output()
            .expect("the program starts");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with(['#', ':']));
        // A table that has become empty is like one that does not exist.
        let lines = lines.filter(|line| !line.starts_with('*') && *line != "COMMIT");
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Drops forwarded packets to port 6001, in the table where a firewall belongs.
    fn drop_6001(self) {
        match self {
            Firewall::Ip6tables(program) => {
                let rule = [
                    "-A", "FORWARD", "-p", "tcp", "--dport", "6001", "-j", "DROP",
                ];
                net::rule(program, &rule);
            }
            Firewall::Nft => nft(
                "add table ip6 fw; add chain ip6 fw f { type filter hook forward priority filter; }; add rule ip6 fw f tcp dport 6001 drop",
            ),
        }
    }

    /// Sends forwarded TCP packets to the queue before the firewall's rules, which they then skip.
    fn endanger(self, queue: &str, bypass: bool) {
        match self {
            Firewall::Ip6tables(program) => {
                let rule = [
                    "-I",
                    "FORWARD",
                    "-p",
                    "tcp",
                    "-j",
                    "NFQUEUE",
                    "--queue-num",
                    queue,
                ];
                let more = if bypass { &["--queue-bypass"][..] } else { &[] };
                net::rule(program, &[&rule, more].concat());
            }
            Firewall::Nft => {
                let more = if bypass { "bypass" } else { "" };
                nft(&format!(
                    "insert rule ip6 fw f meta l4proto tcp queue num {queue} {more}"
                ));
            }
        }
    }
}

fn nft(rules: &str) {
    let done = Command::new("nft").arg(rules).status();
    assert!(done.expect("nft runs").success(), "{rules}");
}

/// Runs `redpoll taim` with the words of `line` as arguments.
fn taim(line: &str) -> Output {
    let args: Vec<&str> = ["taim"].into_iter().chain(line.split(' ')).collect();
    redpoll(&args)
}

fn verdict(place: &str) -> (i32, serde_json::Value) {
    let output = taim(&format!("check {place} --json"));
    let text = stdout(&output);
    let value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    (code(&output), value)
}

fn kinds(value: &serde_json::Value) -> Vec<&str> {
    let findings = value["findings"].as_array().expect("a list");
    findings
        .iter()
        .map(|it| it["kind"].as_str().expect("a word"))
        .collect()
}

pub fn installed(firewall: Firewall, n: u16) {
    let network = Network::new(n, [1, 1]);
    firewall.flush();
    firewall.drop_6001();
    let before = firewall.shown();
    let name = firewall.name();
    let place = format!("--interface rpt{n}x16 --queue {n}");
    let (rc, found) = verdict(&place);
    assert_eq!((rc, &found["verdict"]), (1, &"missing".into()), "{found}");
    assert_eq!(kinds(&found), ["no_rule", "no_rule", "no_program"]);

    // Printing the commands changes nothing. Below, a shell executes them with the same effect.
    let printed = taim(&format!("install {place} --firewall {name} --print"));
    assert_eq!((code(&printed), firewall.shown()), (0, before.clone()));
    let done = taim(&format!("install {place} --firewall {name}"));
    assert_eq!(code(&done), 0, "{done:?}");
    let installed = firewall.shown();
    assert_eq!(installed.matches("redpoll-taim").count(), 2, "{installed}");
    let again = taim(&format!("install {place} --firewall {name}"));
    assert_eq!((code(&again), firewall.shown()), (0, installed.clone()));
    assert!(stdout(&again).contains("already"), "{again:?}");
    assert_eq!(kinds(&verdict(&place).1), ["no_program"]);
    assert_eq!(reached(&network), [true, false], "without the program");

    let queue = n.to_string();
    let args = ["--queue", &queue, "--metrics", "127.0.0.1:0"];
    let daemon = Daemon::start(&args);
    let (rc, found) = verdict(&place);
    assert_eq!((rc, &found["verdict"]), (0, &"safe".into()), "{found}");
    assert_eq!(reached(&network), [true, false], "with the program");
    let seen = figure(&daemon.metrics(), "redpoll_taim_on_probation_total ");
    assert!(seen > 1.0, "the rules send no packets: {seen}");
    daemon.end(Signal::SIGKILL);
    assert_eq!(reached(&network), [true, false], "killed");

    let gone = taim("uninstall");
    assert_eq!((code(&gone), firewall.shown()), (0, before.clone()));
    let nothing = taim("uninstall");
    assert_eq!((code(&nothing), firewall.shown()), (0, before));
    let shell = Command::new("sh")
        .stdin(Stdio::null())
        .args(["-ec", &stdout(&printed)])
        .status();
    assert!(shell.expect("sh runs").success(), "{printed:?}");
    assert_eq!(firewall.shown(), installed);
    let other = taim(&format!("uninstall --interface lo --queue {n}"));
    assert_eq!((code(&other), firewall.shown()), (0, installed));
    assert_eq!(code(&taim(&format!("uninstall {place}"))), 0);
    firewall.flush();
}

pub fn dangers(firewall: Firewall, n: u16) {
    let network = Network::new(n, [1, 1]);
    firewall.flush();
    firewall.drop_6001();
    let (name, queue) = (firewall.name(), n.to_string());
    let place = format!("--interface rpt{n}x16 --queue {n}");
    assert_eq!(
        code(&taim(&format!("install {place} --firewall {name}"))),
        0
    );
    let daemon = Daemon::start(&["--queue", &queue]);
    assert_eq!(verdict(&place).0, 0);
    firewall.endanger(&queue, true);
    assert_eq!(reached(&network), [true, true], "the firewall is skipped");
    let (rc, found) = verdict(&place);
    assert_eq!((rc, &found["verdict"]), (1, &"dangerous".into()), "{found}");
    assert_eq!(kinds(&found), ["skips_firewall"]);
    let text = found["findings"][0]["text"].as_str().unwrap();
    assert!(text.contains("6001"), "{text}");
    // The command ignores the queue of another program.
    assert_eq!(
        kinds(&verdict(&format!("--interface rpt{n}x16 --queue 999")).1),
        ["no_rule", "no_rule", "no_program"]
    );

    firewall.flush();
    firewall.drop_6001();
    firewall.endanger(&queue, false);
    let (rc, found) = verdict(&place);
    assert_eq!(rc, 1);
    assert_eq!(kinds(&found), ["skips_firewall", "no_bypass"]);
    let told = taim(&format!("check {place}"));
    assert_eq!(code(&told), 1);
    assert_eq!(stdout(&told).matches("remedy: ").count(), 2, "{told:?}");
    drop(daemon);
    firewall.flush();
}

/// Checks that a failure leaves the rules as they were, and is explained in one line.
pub fn failures(program: &'static str, n: u16) {
    let firewall = Firewall::Ip6tables(program);
    let network = Network::new(n, [1, 1]);
    firewall.flush();
    firewall.drop_6001();
    let before = firewall.shown();
    let place = format!("--interface rpt{n}x16 --queue {n} --firewall {program}");

    for command in ["install", "check"] {
        let output = taim(&format!("{command} --interface nowhere0 --queue {n}"));
        let line = complaint(&output);
        assert_eq!((code(&output), firewall.shown()), (2, before.clone()));
        assert!(
            line.contains("nowhere0 does not exist (present: "),
            "{line}"
        );
    }
    let odd = taim("install --interface a/b");
    assert_eq!(code(&odd), 2, "{odd:?}");

    let nobody = |command: &str| {
        let mut program = Command::new(PROGRAM);
        program.args(["taim", command, "--interface", "lo"]);
        program.uid(65_534).output()
    };
    for command in ["install", "uninstall", "check"] {
        // The namespace of an ordinary user contains no other user: skip this part.
        let Ok(output) = nobody(command) else { break };
        let line = complaint(&output);
        assert_eq!((code(&output), firewall.shown()), (2, before.clone()));
        assert!(line.contains("run the command as root"), "{line}");
    }

    // With these scripts, the kernel accepts the first rule and refuses the second.
    let folder = Folder::new(&format!("taim-{n}"));
    // `redpoll taim` may run the back end by the name `ip6tables`, too.
    for restore in [format!("{program}-restore"), "ip6tables-restore".to_owned()] {
        let script = format!(
            "#!/bin/sh\nPATH=/usr/sbin:/sbin:/usr/bin:/bin\nsed '/-o /s/NFQUEUE/NOSUCH/' | {restore} \"$@\"\n"
        );
        let path = folder.write(&restore, &script);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let rest = std::env::var("PATH").unwrap();
    let output = Command::new(PROGRAM)
        .args(["taim", "install"])
        .args(place.split(' '))
        .env("PATH", format!("{}:{rest}", folder.0.display()))
        .output()
        .unwrap();
    let line = complaint(&output);
    assert_eq!(
        (code(&output), firewall.shown()),
        (1, before.clone()),
        "{line}"
    );
    assert!(line.contains("nothing has changed"), "{line}");

    // Incomplete rules are completed, and rules for another queue are changed to this one.
    assert_eq!(code(&taim(&format!("install {place}"))), 0);
    let sorted = || {
        let mut lines: Vec<String> = firewall.shown().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let whole = sorted();
    let half = ["-t", "mangle", "-D", "FORWARD", "1"];
    net::rule(program, &half);
    assert_eq!(code(&taim(&format!("install {place}"))), 0);
    assert_eq!(sorted(), whole);
    let moved = format!("install --interface rpt{n}x16 --queue 77 --firewall {program}");
    assert_eq!(code(&taim(&moved)), 0);
    assert_eq!(code(&taim(&format!("install {place}"))), 0);
    assert_eq!(sorted(), whole);
    assert_eq!(code(&taim("uninstall")), 0);
    assert_eq!(firewall.shown(), before);

    // Rules that were added by hand suffice; `uninstall` removes them only for a named interface.
    for way in ["-i", "-o"] {
        let interface = format!("rpt{n}x16");
        let queue = n.to_string();
        let rule = [
            "-t", "mangle", "-I", "FORWARD", way, &interface, "-p", "tcp",
        ];
        let target = ["-j", "NFQUEUE", "--queue-num", &queue, "--queue-bypass"];
        net::rule(program, &[&rule[..], &target].concat());
    }
    let by_hand = firewall.shown();
    assert_eq!(code(&taim(&format!("install {place}"))), 0);
    assert_eq!(firewall.shown(), by_hand);
    assert_eq!(code(&taim("uninstall")), 0);
    assert_eq!(firewall.shown(), by_hand);
    assert_eq!(code(&taim(&format!("uninstall {place}"))), 0);
    assert_eq!(firewall.shown(), before);
    drop(network);
    firewall.flush();
}
