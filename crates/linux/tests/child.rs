//! Processes that a companion has started end with the companion. The file has one test, because a
//! companion treats all children of the test process as its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::unistd::{Pid, pipe2};
use redpoll_linux::child::Companion;
use redpoll_linux::signals::Signals;

/// Runs `script`, which prints the numbers of two processes that it starts, as a companion. Ends
/// the companion, checks that both have ended, and returns the time that this took.
fn run(script: &str) -> Duration {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .stdout(writer)
        .stdin(Stdio::null());
    let mut companion = Companion::spawn(&mut command).expect("there is a shell");
    drop(command);
    let mut lines = BufReader::new(File::from(reader)).lines();
    let pids: Vec<Pid> = (0..2)
        .map(|_| Pid::from_raw(lines.next().unwrap().unwrap().trim().parse().unwrap()))
        .collect();
    assert!(pids.iter().all(|&pid| kill(pid, None).is_ok()), "both run");
    assert_eq!(companion.reap().unwrap(), None);

    let started = Instant::now();
    drop(companion);
    let took = started.elapsed();
    for pid in pids {
        assert_eq!(kill(pid, None), Err(Errno::ESRCH), "{pid} is left behind");
    }
    took
}

#[test]
fn processes_started_by_a_companion_end_with_it() {
    // These signals are blocked here, as in the program, and must not be blocked in the companion.
    let _signals = Signals::watch().unwrap();
    let polite = "sleep 1000 & echo $!; (sleep 1000 & echo $!); sleep 1000";
    assert!(
        run(polite) < Duration::from_secs(1),
        "it was not asked politely"
    );
    let stubborn = "sleep 1000 & echo $!; (trap '' TERM HUP; sleep 1000 & echo $!) & wait";
    assert!(run(stubborn) < Duration::from_secs(5));
    // The second process has its own session, so signals to the companion's group miss it.
    let other_session = "sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & wait";
    assert!(run(other_session) < Duration::from_secs(1));
}
