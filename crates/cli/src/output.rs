//! What goes to the user: lines on standard output that a closed pipe may end,
//! one line on standard error when something fails.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Says in one line on standard error what went wrong, and ends with `code`.
pub fn fail(code: u8, message: impl Display) -> ExitCode {
    // With standard error closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "redpoll: {message}");
    ExitCode::from(code)
}

/// Whether the reader of a pipe has had enough, which is no failure.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Whether `path` stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes `text` to standard output; a closed pipe is no failure.
///
/// # Errors
///
/// Those of the operating system, such as a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_closed_pipe(&error) => Err(error),
        _ => Ok(()),
    }
}
