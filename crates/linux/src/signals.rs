//! Signals at a descriptor that can be polled. SIGINT, SIGTERM and SIGHUP request the end of the
//! program. SIGCHLD reports that a [companion](crate::child) has ended. SIGTSTP requests a stop,
//! which is not possible at every point.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The meaning of a signal to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The user or the system wants the process to end.
    End(Signal),
    Child,
    /// The user wants to stop the process (Ctrl-Z). Only [`Signals::watch_stop`] reports this.
    Stop,
}

/// The signals of this process, which arrive at a descriptor instead of interrupting it.
///
/// Create this value before the first thread, because threads inherit the blocked signals.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
}

impl Signals {
    /// Blocks the signals and opens a descriptor at which they arrive instead. Returns the kernel's
    /// error, such as a full table of descriptors.
    pub fn watch() -> io::Result<Signals> {
        Self::of(&[])
    }

    /// Watches the signals of [`Signals::watch`], and Ctrl-Z, which then does not stop the process:
    /// the process gets [`Notice::Stop`], and calls [`stop`] when it is ready.
    pub fn watch_stop() -> io::Result<Signals> {
        Self::of(&[Signal::SIGTSTP])
    }

    fn of(more: &[Signal]) -> io::Result<Signals> {
        let all = [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGCHLD,
        ];
        let heard: SigSet = all.iter().chain(more).copied().collect();
        heard.thread_block()?;
        // While a companion shell owns the terminal, writing to it must not stop this process.
        SigSet::from(Signal::SIGTTOU).thread_block()?;
        let fd = SignalFd::with_flags(&heard, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Signals { fd })
    }

    pub fn next(&self) -> io::Result<Option<Notice>> {
        let Some(info) = self.fd.read_signal()? else {
            return Ok(None);
        };
        Ok(Some(match Signal::try_from(info.ssi_signo as i32) {
            Ok(Signal::SIGCHLD) => Notice::Child,
            Ok(Signal::SIGTSTP) => Notice::Stop,
            Ok(signal) => Notice::End(signal),
            Err(_) => Notice::End(Signal::SIGTERM),
        }))
    }
}

/// Stops this process, as Ctrl-Z would, until it is continued. Returns the kernel's error; none is
/// expected.
pub fn stop() -> io::Result<()> {
    nix::sys::signal::raise(Signal::SIGSTOP)?;
    Ok(())
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
