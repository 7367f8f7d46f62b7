//! The simulator's end of the process of a node.

use std::ffi::CString;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use redpoll_base::Instant;
use redpoll_sim::foreign::ForeignSpec;
use redpoll_sim::guest::{GuestEvent, GuestNode, GuestOrder};

use super::firmware;
use super::message::{FAILED, LAST, MORE, read_orders, write_event};
use crate::library::more_descriptors;

/// Maximum length of one part of an answer in bytes.
const PART_MAX: usize = 131_072;

pub(crate) struct Process {
    socket: OwnedFd,
    id: libc::pid_t,
    is_over: bool,
    patience: Duration,
    event: Vec<u8>,
    part: Vec<u8>,
}

impl Process {
    /// Starts the process of a node, which loads the node's firmware. The error describes the
    /// problem; the caller puts the name of the file before it.
    pub(crate) fn start(spec: &ForeignSpec<'_>) -> Result<Process, String> {
        let file = std::fs::canonicalize(spec.module)
            .map_err(|error| format!("cannot be read ({error}); allowed: a readable file"))?;
        let file = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| "has a zero byte in its name; allowed: another name".to_owned())?;
        more_descriptors();
        let (ours, theirs) = pair().map_err(system)?;
        set_patience(&ours, spec.patience).map_err(system)?;
        // SAFETY: the child calls only `serve`. This function uses no lock that another thread
        // could hold, except those of the allocator and the loader, which glibc makes usable in the
        // child.
        let id = unsafe { libc::fork() };
        if id == 0 {
            firmware::serve(theirs.as_raw_fd(), &file, spec.seed);
        }
        if id < 0 {
            return Err(system(std::io::Error::last_os_error()));
        }
        drop(theirs);
        let mut process = Process {
            socket: ours,
            id,
            is_over: false,
            patience: spec.patience,
            event: Vec::new(),
            part: vec![0; PART_MAX],
        };
        process.answer()?;
        Ok(process)
    }

    /// Reads the firmware's orders in answer to the current event.
    fn answer(&mut self) -> Result<Vec<GuestOrder>, String> {
        let mut orders = Vec::new();
        loop {
            let len = self.receive()?;
            let (kind, content) = match &self.part[..len] {
                [kind, content @ ..] => (*kind, content),
                [] => return Err(self.crashed()),
            };
            match (kind, read_orders(content)) {
                (FAILED, _) => {
                    let reason = String::from_utf8_lossy(content).into_owned();
                    self.end();
                    return Err(reason);
                }
                (MORE, Some(more)) => orders.extend(more),
                (LAST, Some(more)) => {
                    orders.extend(more);
                    return Ok(orders);
                }
                _ => {
                    self.end();
                    return Err(
                        "has overwritten memory of the simulator in the node's process; check the \
                                firmware's pointers with -fsanitize=address"
                            .to_owned(),
                    );
                }
            }
        }
    }

    /// Receives a part of an answer; its length is 0 if the process has ended.
    fn receive(&mut self) -> Result<usize, String> {
        loop {
            let (to, len) = (self.part.as_mut_ptr().cast(), self.part.len());
            // SAFETY: the buffer is writable for its length.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), to, len, 0) };
            if let Ok(len) = usize::try_from(got) {
                return Ok(len);
            }
            let error = std::io::Error::last_os_error();
            match error.kind() {
                std::io::ErrorKind::Interrupted => {}
                std::io::ErrorKind::WouldBlock => {
                    self.end();
                    let patience = self.patience.as_secs_f64();
                    return Err(format!(
                        "hangs: a call has not returned for {patience:.1} s; return from each call, \
                         or raise modules.patience"
                    ));
                }
                _ => return Ok(0),
            }
        }
    }

    /// Describes the crash or exit of a process that the simulator has not ended.
    fn crashed(&mut self) -> String {
        let status = self.reap();
        let how = match libc::WIFSIGNALED(status) {
            true => signal_name(libc::WTERMSIG(status)),
            false => format!("exit code {}", libc::WEXITSTATUS(status)),
        };
        format!("crashed ({how}); load it in a debugger, or build it with -fsanitize=address")
    }

    fn reap(&mut self) -> i32 {
        let mut status = 0;
        if !std::mem::replace(&mut self.is_over, true) {
            // SAFETY: the process is a child of this one, and was not reaped before.
            unsafe { libc::waitpid(self.id, &raw mut status, 0) };
        }
        status
    }

    fn end(&mut self) {
        if !self.is_over {
            // SAFETY: the process was not reaped, so no other process can have its process ID.
            unsafe { libc::kill(self.id, libc::SIGKILL) };
            self.reap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

impl GuestNode for Process {
    fn run(
        &mut self,
        now: Instant,
        busy: bool,
        event: GuestEvent<'_>,
    ) -> Result<Vec<GuestOrder>, String> {
        write_event(now, busy, event, &mut self.event);
        let (start, len) = (self.event.as_ptr().cast(), self.event.len());
        let flags = libc::MSG_NOSIGNAL;
        // SAFETY: the bytes are readable for their length.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), start, len, flags) };
        if sent < 0 {
            return Err(self.crashed());
        }
        self.answer()
    }
}

fn system(error: std::io::Error) -> String {
    format!("cannot be given a process ({error}); raise the limits of processes and open files")
}

fn pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for both descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptors have just been opened, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

fn set_patience(socket: &OwnedFd, patience: Duration) -> std::io::Result<()> {
    let time = libc::timeval {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_usec: patience.subsec_micros() as libc::suseconds_t,
    };
    let len = size_of::<libc::timeval>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
    // SAFETY: the value is of the option's type.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const time).cast(),
            len,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV, a wrong pointer".to_owned(),
        libc::SIGBUS => "SIGBUS".to_owned(),
        libc::SIGABRT => "SIGABRT, abort or a failed assertion".to_owned(),
        libc::SIGFPE => "SIGFPE, division by zero".to_owned(),
        libc::SIGILL => "SIGILL".to_owned(),
        other => format!("signal {other}"),
    }
}
