//! Output to the user: lines on standard output, which a closed pipe may end, and one line on
//! standard error for each failure.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use redpoll_sim::Scenario;
use redpoll_sim::trace::{FrameTrace, Notes, PcapngFile, TraceError};

/// Reports an error in one line on standard error; returns the exit code `code`.
pub fn fail(code: u8, message: impl Display) -> ExitCode {
    // If standard error is closed, the message is lost.
    let _ = writeln!(io::stderr(), "redpoll: {message}");
    ExitCode::from(code)
}

/// Returns whether the reader of a pipe has closed it, which is not a failure.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the option with which Wireshark and tshark decode the mesh's compressed addresses.
pub fn wireshark_option(scenario: &Scenario) -> String {
    format!("-o 6lowpan.context0:{}/64", scenario.border.prefix)
}

/// Creates a capture at `path` of the frames of `scenario`, with the keys and names that its reader
/// needs; - is standard output. `origin` is the start of a run in real time, since 1970.
pub fn capture(
    path: &Path,
    scenario: &Scenario,
    origin: Duration,
) -> Result<Box<dyn FrameTrace>, TraceError> {
    let notes = Notes {
        comment: format!(
            "Redpoll, scenario {}: 6LoWPAN context 0 is {}/64; wireshark {}",
            scenario.name,
            scenario.border.prefix,
            wireshark_option(scenario),
        ),
        origin,
    };
    if is_standard(path) {
        let name = "standard output".to_owned();
        return Ok(Box::new(PcapngFile::new(io::stdout(), name, &notes)?));
    }
    Ok(Box::new(PcapngFile::create(path, &notes)?))
}

/// Writes `text` to standard output; a closed pipe is not a failure.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_closed_pipe(&error) => Err(error),
        _ => Ok(()),
    }
}
