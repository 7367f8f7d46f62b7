//! A helper ends with the process that started it, even if a signal kills that process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redpoll_linux::child::kill_with_us;

/// Environment variable of the child process that is killed; the child runs this test again.
const VICTIM: &str = "REDPOLL_TEST_VICTIM";

#[test]
fn a_helper_does_not_outlive_a_killed_process() {
    if std::env::var_os(VICTIM).is_some() {
        let mut helper = Command::new("sleep");
        helper.arg("1000").stdout(Stdio::null());
        kill_with_us(&mut helper);
        println!("\nhelper {}", helper.spawn().unwrap().id());
        sleep(Duration::from_secs(1000));
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_helper_does_not_outlive_a_killed_process"])
        .arg("--nocapture")
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let helper = lines
        .find_map(|line| line.unwrap().strip_prefix("helper ").map(str::to_owned))
        .expect("the number of the helper");
    assert!(runs(&helper));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while runs(&helper) {
        assert!(Instant::now() < deadline, "{helper} is left behind");
        sleep(Duration::from_millis(5));
    }
}

/// Returns whether the process exists and is not a zombie.
fn runs(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find(|line| line.starts_with("State:"));
    state.is_some_and(|state| !state.contains(['Z', 'X']))
}
