//! Nothing that a companion has started outlives it. One test a file: a
//! companion takes all children of its process for its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::kill;
use nix::unistd::{Pid, pipe2};
use redpoll_linux::child::Companion;

/// Starts a shell that leaves two processes behind: one in the background, one
/// that ignores the signals that ask it to end and has lost its parent.
const SCRIPT: &str = "sleep 1000 & echo $!
    (trap '' TERM HUP; sleep 1000 & echo $!) &
    wait $!; sleep 1000";

#[test]
fn what_a_companion_started_ends_with_it() {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", SCRIPT])
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
    for pid in pids {
        assert_eq!(kill(pid, None), Err(Errno::ESRCH), "{pid} is left behind");
    }
    assert!(started.elapsed() < Duration::from_secs(5));
}
