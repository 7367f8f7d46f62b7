//! A program that runs next to the mesh, such as a shell inside its namespace. Neither the program
//! nor any process that it started outlives this process.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Makes the kernel kill the process that `command` starts as soon as the thread that starts it has
/// ended, for any reason. This is for a helper that must not remain even after SIGKILL.
pub fn kill_with_us(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed;
    // prctl(2) is a bare system call and allocates nothing.
    unsafe {
        command.pre_exec(|| prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from));
    }
}

/// A child process and all its descendants. The process that spawns it adopts orphaned processes
/// (`PR_SET_CHILD_SUBREAPER`), so it may have only one companion at a time, and no other child.
/// Dropping the companion ends all processes that still run.
#[derive(Debug)]
pub struct Companion {
    pid: Pid,
    exit_code: Option<u8>,
}

impl Companion {
    /// Longest time for a process to end after SIGTERM and SIGHUP, before SIGKILL.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// Starts the program with no signal blocked. The program gets a SIGHUP if this process ends.
    pub fn spawn(command: &mut Command) -> io::Result<Companion> {
        prctl::set_child_subreaper(true)?;
        // SAFETY: only async-signal-safe calls are allowed between fork and exec. prctl(2) and
        // sigprocmask(2) are system calls and allocate nothing.
        unsafe {
            command.pre_exec(|| {
                // Without this call, the signals that `Signals` blocks would remain blocked in the
                // child.
                SigSet::empty().thread_set_mask()?;
                prctl::set_pdeathsig(Signal::SIGHUP).map_err(io::Error::from)
            });
        }
        let child = command.spawn()?;
        Ok(Companion {
            pid: Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?),
            exit_code: None,
        })
    }

    /// Collects processes that have ended; call it after SIGCHLD. Returns the exit code of the
    /// program itself, if it has ended (128 + the signal's number if it was killed), or the
    /// kernel's error.
    pub fn reap(&mut self) -> io::Result<Option<u8>> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.pid => {
                    self.exit_code = Some(u8::try_from(code & 0xff).unwrap_or(1));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.pid => {
                    self.exit_code = Some(u8::try_from(128 + signal as i32).unwrap_or(u8::MAX));
                }
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(self.exit_code),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Ends the program and its descendants by SIGTERM and SIGHUP, and by SIGKILL after
    /// [`Self::PATIENCE`].
    fn end(&mut self) {
        let deadline = Instant::now() + Self::PATIENCE;
        let mut asked = Vec::new();
        loop {
            let _ = self.reap();
            let children = children();
            if children.is_empty() {
                return;
            }
            let patient = Instant::now() < deadline;
            // The children of an ended process become children of this one, so look again each
            // time.
            for child in children {
                if !patient {
                    let _ = kill(child, Signal::SIGKILL);
                } else if !asked.contains(&child) {
                    asked.push(child);
                    let _ = kill(child, Signal::SIGTERM);
                    // An interactive shell ignores SIGTERM.
                    let _ = kill(child, Signal::SIGHUP);
                }
            }
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns this process's direct children (proc(5); none if the kernel has no
/// `CONFIG_PROC_CHILDREN`). Each thread has a separate list.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
            pids.map(Pid::from_raw).collect::<Vec<_>>()
        })
        .collect()
}
