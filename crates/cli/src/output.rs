//! What goes to the user: lines on standard output that a closed pipe may end,
//! one line on standard error for each thing that fails.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use redpoll_sim::trace::{FrameTrace, PcapngFile, TraceError};

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

/// A capture at `path`; - is standard output.
///
/// # Errors
///
/// If it cannot be created or written.
pub fn capture(path: &Path) -> Result<Box<dyn FrameTrace>, TraceError> {
    if is_standard(path) {
        let name = "standard output".to_owned();
        return Ok(Box::new(PcapngFile::new(io::stdout(), name)?));
    }
    Ok(Box::new(PcapngFile::create(path)?))
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
