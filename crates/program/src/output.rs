//! Output to the user: lines on standard output until a pipe is closed, one line on standard error
//! for each failure, and a progress line that changes in place.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::journal;

static NAME: OnceLock<&str> = OnceLock::new();

/// Sets the name of the program, which begins each message. Only the first call has an effect.
pub fn set_name(name: &'static str) {
    let _ = NAME.set(name);
}

/// Returns the name of the program: `redpoll`, unless [`set_name`] has set another name.
pub fn name() -> &'static str {
    NAME.get().copied().unwrap_or("redpoll")
}

/// Texts in error messages about file systems, each with the remedy. System errors end with their
/// number; SQLite has its own texts.
const REMEDIES: [(&str, &str); 5] = [
    ("(os error 28)", FREE),
    ("database or disk is full", FREE),
    (
        "unable to open database file",
        "choose a place in an existing folder in which you may write",
    ),
    (
        "(os error 122)",
        "delete other files of this user, or choose a place on another file system",
    ),
    (
        "(os error 30)",
        "choose a place on another file system, or mount this one for writing",
    ),
];
const FREE: &str = "delete files on the full file system, or choose a place on another file system";

/// Returns a message about a file, with the remedy if the file system is full or read-only.
pub fn explained(message: impl Display) -> String {
    let message = message.to_string();
    let known = REMEDIES.iter().find(|(words, _)| message.contains(words));
    match known {
        Some((_, remedy)) => format!("{message}; {remedy}"),
        None => message,
    }
}

/// Returns a message about a settings file that cannot be read. `remedy` applies unless the
/// permission is missing, as for a service with a user of its own.
pub fn unreadable(path: &Path, error: &io::Error, remedy: &str) -> String {
    let name = path.display();
    let chmod = format!("let the user of the program read the file: chmod a+r {name}");
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    let remedy = if is_denied { &chmod } else { remedy };
    format!("cannot read {name}: {error}; {remedy}")
}

/// Reports an error in one line on standard error; returns the exit code `code`.
pub fn fail(code: u8, message: impl Display) -> ExitCode {
    let message = explained(message);
    // Ignore an error: if standard error is closed, the message cannot be shown.
    let _ = if journal::reads_standard_error() {
        // The journal adds the name, and reads the severity as in sd-daemon(3).
        writeln!(io::stderr(), "<3>{message}")
    } else {
        writeln!(io::stderr(), "{}: {message}", name())
    };
    ExitCode::from(code)
}

/// Returns whether the reader of a pipe has closed it, which is not a failure.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Returns whether `path` is `-`, which stands for standard output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes `text` to standard output; a closed pipe is not a failure.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_closed_pipe(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Returns a progress bar or line with this `template`, of `len` steps if known, drawn at most `hz`
/// times a second. The bar appears on standard error, only if it is a terminal with cursor control.
pub fn bar(len: Option<u64>, template: &str, hz: u8) -> ProgressBar {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let target = if is_dumb {
        ProgressDrawTarget::hidden()
    } else {
        // The bar hides itself if standard error is not a terminal.
        ProgressDrawTarget::stderr_with_hz(hz)
    };
    let bar = ProgressBar::with_draw_target(len, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_for_unreadable_settings_depends_on_the_fault() {
        let line = |number| {
            let error = io::Error::from_raw_os_error(number);
            unreadable(Path::new("/etc/a.toml"), &error, "correct the path")
        };
        assert!(
            line(13).ends_with("read the file: chmod a+r /etc/a.toml"),
            "{}",
            line(13)
        );
        assert!(line(2).ends_with("; correct the path"), "{}", line(2));
    }

    #[test]
    fn faults_of_file_systems_have_a_remedy() {
        for number in [28, 30, 122] {
            let error = io::Error::from_raw_os_error(number);
            let line = explained(format!("cannot write a.json: {error}"));
            assert!(line.contains("on another file system"), "{line}");
        }
        let line = explained("a.sqlite: database or disk is full");
        assert!(line.ends_with(FREE), "{line}");
        let denied = io::Error::from_raw_os_error(13).to_string();
        assert_eq!(explained(&denied), denied);
    }
}
