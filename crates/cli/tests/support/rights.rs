//! The rights of each thread of a running program, as the kernel lists them, and the kernel's
//! answers to system calls of such a thread.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]

use std::fs;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

/// User and group of the tests: no account has these numbers.
pub const USER: u32 = 64_321;
pub const GROUP: u32 = 64_123;
/// For `--user`.
pub const USER_OPTION: &str = "64321:64123";
/// `CAP_NET_ADMIN`, as /proc writes a set with nothing else.
pub const NET_ADMIN: &str = "0000000000001000";
/// An empty set.
pub const NOTHING: &str = "0000000000000000";

/// One thread, from `/proc/PID/task/TID/status`.
pub struct Thread {
    pub tid: Pid,
    status: String,
}

impl Thread {
    /// The value of a line, its words with one blank between them.
    pub fn line(&self, name: &str) -> String {
        let mut lines = self.status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.unwrap_or_else(|| panic!("{name} {}", self.status));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// All threads of a process.
pub fn threads(pid: u32) -> Vec<Thread> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).expect("the program runs");
    entries
        .flatten()
        .filter_map(|entry| {
            let tid = entry.file_name().to_str()?.parse().ok()?;
            Some(Thread {
                tid: Pid::from_raw(tid),
                status: fs::read_to_string(entry.path().join("status")).ok()?,
            })
        })
        .collect()
}

/// Waits until the program has `count` threads, all of which are under a filter: a program
/// greets the user before that.
pub fn settled(pid: u32, count: usize) -> Vec<Thread> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let threads = threads(pid);
        let is_filtered = |thread: &Thread| thread.line("Seccomp") == "2";
        if threads.len() == count && threads.iter().all(is_filtered) {
            return threads;
        }
        let statuses: Vec<&str> = threads.iter().map(|it| it.status.as_str()).collect();
        assert!(Instant::now() < deadline, "{count} threads: {statuses:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Checks that each thread has exactly these capabilities, can gain none, and is the user of
/// the tests, or root.
pub fn check(threads: &[Thread], capabilities: &str, is_user: bool) {
    let ids = |id: u32| format!("{id} {id} {id} {id}");
    let (user, group, groups) = match is_user {
        true => (ids(USER), ids(GROUP), GROUP.to_string()),
        false => (ids(0), ids(0), threads[0].line("Groups")),
    };
    for thread in threads {
        for (name, expected) in [
            ("Uid", user.as_str()),
            ("Gid", &group),
            ("Groups", &groups),
            ("CapEff", capabilities),
            ("CapPrm", capabilities),
            ("CapInh", NOTHING),
            ("CapAmb", NOTHING),
            ("CapBnd", NOTHING),
            ("NoNewPrivs", "1"),
            ("Seccomp", "2"),
        ] {
            let name_of_thread = thread.line("Name");
            assert_eq!(thread.line(name), expected, "{name} of {name_of_thread}");
        }
    }
}
