//! Exit codes and messages of commands that fail.

use std::process::ExitCode;

use redpoll_linux::signals::{Notice, Signals};

use crate::FAILED;
use crate::output::fail;

/// A shell's exit code for a process that a signal ended, minus the signal's number.
pub(crate) const SIGNALLED: u8 = 128;

pub(crate) use redpoll_program::Failure;

pub(crate) fn fail_all(failures: &[Failure]) -> Option<ExitCode> {
    let mut codes = failures.iter().map(|(code, line)| fail(*code, line));
    let first = codes.next();
    codes.for_each(drop);
    first
}

pub(crate) fn asked_to_end(signals: &Signals) -> Option<u8> {
    while let Ok(Some(notice)) = signals.next() {
        if let Notice::End(signal) = notice {
            return u8::try_from(signal as i32).ok();
        }
    }
    None
}

pub(crate) fn cannot_write(what: &str, error: &std::io::Error) -> Failure {
    (FAILED, format!("cannot write {what}: {error}"))
}
