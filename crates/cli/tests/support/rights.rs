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
pub const USER_OPTION: &str = "64321:64123";
/// The capability set with only `CAP_NET_ADMIN`, as /proc writes it.
pub const NET_ADMIN: &str = "0000000000001000";
pub const NOTHING: &str = "0000000000000000";

/// A thread, read from `/proc/PID/task/TID/status`.
pub struct Thread {
    pub tid: Pid,
    status: String,
}

impl Thread {
    /// Returns the value of a status line, with its words separated by single spaces.
    pub fn line(&self, name: &str) -> String {
        let mut lines = self.status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.unwrap_or_else(|| panic!("{name} {}", self.status));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

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

/// Waits until the program has `count` threads, all with a seccomp filter. The program prints its
/// greeting before it sets the filter.
pub fn settled(pid: u32, count: usize) -> Vec<Thread> {
    wait_for(pid, count, "2")
}

/// Waits until the program has `count` threads without a seccomp filter.
pub fn started(pid: u32, count: usize) -> Vec<Thread> {
    wait_for(pid, count, "0")
}

fn wait_for(pid: u32, count: usize, filter: &str) -> Vec<Thread> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let threads = threads(pid);
        let is_so = |thread: &Thread| thread.line("Seccomp") == filter;
        if threads.len() == count && threads.iter().all(is_so) {
            return threads;
        }
        let statuses: Vec<&str> = threads.iter().map(|it| it.status.as_str()).collect();
        assert!(Instant::now() < deadline, "{count} threads: {statuses:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Checks that each thread has exactly these capabilities, can gain none, and runs as the user of
/// the tests or as root.
pub fn check(threads: &[Thread], capabilities: &str, is_user: bool) {
    let ids = |id: u32| format!("{id} {id} {id} {id}");
    let (user, group, groups) = if is_user {
        (ids(USER), ids(GROUP), GROUP.to_string())
    } else {
        (ids(0), ids(0), threads[0].line("Groups"))
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

/// Makes a thread of the program execute a system call, by ptrace(2). `bytes` are written into its
/// memory; an argument of [`BYTES`] is replaced by their address. Returns the value of the system
/// call, or the negative number of an error.
#[cfg(target_arch = "x86_64")]
pub fn answer(tid: Pid, number: libc::c_long, arguments: &[u64], bytes: &[u8]) -> i64 {
    use nix::sys::ptrace;
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

    let wait = |signal| {
        let status = waitpid(tid, Some(WaitPidFlag::__WALL)).expect("the thread is traced");
        assert_eq!(status, WaitStatus::Stopped(tid, signal));
    };
    /// The instruction `syscall`, two bytes.
    const SYSCALL: i64 = 0x050f;
    for _ in 0..200 {
        ptrace::attach(tid).expect("root may trace the thread");
        wait(Signal::SIGSTOP);
        let before = ptrace::getregs(tid).unwrap();
        let instruction = ptrace::read(tid, (before.rip - 2) as ptrace::AddressType).unwrap();
        // The thread waits in a system call, as it does most of the time.
        if instruction & 0xffff == SYSCALL {
            // The bytes are written below the used part of the stack.
            let place = (before.rsp - 2_048) & !7;
            for (at, word) in bytes.chunks(8).enumerate() {
                let mut value = [0; 8];
                value[..word.len()].copy_from_slice(word);
                let address = (place + 8 * at as u64) as ptrace::AddressType;
                ptrace::write(tid, address, i64::from_ne_bytes(value)).unwrap();
            }
            let argument = |at: usize| match arguments.get(at).copied().unwrap_or(0) {
                BYTES => place,
                value => value,
            };
            let mut asking = before;
            asking.rip -= 2;
            asking.rax = number as u64;
            // Prevents the kernel from restarting the interrupted system call.
            asking.orig_rax = u64::MAX;
            asking.rdi = argument(0);
            asking.rsi = argument(1);
            asking.rdx = argument(2);
            asking.r10 = argument(3);
            asking.r8 = argument(4);
            asking.r9 = argument(5);
            ptrace::setregs(tid, asking).unwrap();
            ptrace::step(tid, None).unwrap();
            wait(Signal::SIGTRAP);
            let answer = ptrace::getregs(tid).unwrap().rax as i64;
            ptrace::setregs(tid, before).unwrap();
            ptrace::detach(tid, None).unwrap();
            return answer;
        }
        ptrace::detach(tid, None).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the thread {tid} is never in a system call");
}

/// An argument that [`answer`] replaces with the address of its bytes.
pub const BYTES: u64 = u64::MAX - 1;

/// Checks that the sandbox denies forbidden system calls to each thread. Without the sandbox,
/// checks that the threads may make some of them. `readable` is a file that all users may read.
#[cfg(target_arch = "x86_64")]
pub fn check_sandbox(threads: &[Thread], readable: &str, is_sandboxed: bool) {
    let path = format!("{readable}\0").into_bytes();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_be_bytes();
    let family = (libc::AF_INET as u16).to_ne_bytes();
    let address = [&family[..], &port, &[127, 0, 0, 1], &[0; 8]].concat();
    let (denied, refused) = (-i64::from(libc::EACCES), -i64::from(libc::EPERM));
    for thread in threads {
        let name = format!("{} of {}", thread.line("Name"), thread.line("Pid"));
        let ask =
            |number, arguments: &[u64], bytes: &[u8]| answer(thread.tid, number, arguments, bytes);
        let here = libc::AT_FDCWD as u64;
        let fd = ask(libc::SYS_openat, &[here, BYTES, 0], &path);
        let socket = [libc::AF_INET as u64, libc::SOCK_STREAM as u64];
        let socket = ask(libc::SYS_socket, &socket, &[]);
        assert!(socket >= 0, "{name}: {socket}");
        let connected = ask(libc::SYS_connect, &[socket as u64, BYTES, 16], &address);
        // Signal 0 only checks whether the process may send a signal.
        let parent = std::process::id().into();
        let signalled = ask(libc::SYS_kill, &[parent, 0], &[]);
        // Executes a program that does not exist, and queries the personality of this process.
        let executed = ask(libc::SYS_execve, &[BYTES], b"/no/such/program\0");
        let personality = ask(libc::SYS_personality, &[0xffff_ffff], &[]);
        let x32 = ask(0x4000_0000 | libc::SYS_getpid, &[], &[]);
        if !is_sandboxed {
            // Root may signal its own processes without a capability.
            let signals = if thread.line("Uid").starts_with("0 ") {
                0
            } else {
                refused
            };
            assert_eq!(signalled, signals, "{name}");
            assert!(fd >= 0 && personality >= 0, "{name}: {fd} {personality}");
            assert_eq!(
                (connected, executed),
                (0, -i64::from(libc::ENOENT)),
                "{name}"
            );
            ask(libc::SYS_close, &[fd as u64], &[]);
            ask(libc::SYS_close, &[socket as u64], &[]);
            continue;
        }
        ask(libc::SYS_close, &[socket as u64], &[]);
        assert_eq!((fd, connected), (denied, denied), "{name}");
        assert_eq!(
            (signalled, executed, personality, x32),
            (refused, refused, refused, refused),
            "{name}"
        );
        for number in [
            libc::SYS_execveat,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_mount,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_bpf,
            libc::SYS_init_module,
            libc::SYS_kexec_load,
            libc::SYS_io_uring_setup,
            libc::SYS_userfaultfd,
            libc::SYS_setresuid,
            libc::SYS_keyctl,
        ] {
            let got = ask(number, &[0, 0, 0, 0, 0, 0], &[]);
            assert_eq!(got, refused, "{name}: {number}");
        }
        let clone = ask(libc::SYS_clone, &[libc::CLONE_NEWUSER as u64], &[]);
        let clone3 = ask(libc::SYS_clone3, &[0, 0], &[]);
        assert_eq!(
            (clone, clone3),
            (refused, -i64::from(libc::ENOSYS)),
            "{name}"
        );
        // The program still gets memory.
        let memory = ask(libc::SYS_mmap, &[0, 4_096, 3, 0x22, u64::MAX, 0], &[]);
        assert!(memory > 0, "{name}: {memory}");
    }
}

/// Skips the check on other processors, whose registers have other names.
#[cfg(not(target_arch = "x86_64"))]
pub fn check_sandbox(_: &[Thread], _: &str, _: bool) {
    redpoll_testkit::skipped("check of what the sandbox denies: it traces x86-64 processes");
}
