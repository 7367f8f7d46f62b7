//! Output functions: those that all of Redpoll's programs share, and the creation of captures.

use std::io;
use std::path::Path;
use std::time::Duration;

pub use redpoll_program::output::{bar, fail, is_closed_pipe, is_standard, print};
use redpoll_sim::Scenario;
use redpoll_sim::trace::{FrameTrace, Notes, PcapngFile, TraceError};

/// Returns the option with which Wireshark and tshark decode the mesh's compressed addresses.
pub fn wireshark_option(scenario: &Scenario) -> String {
    format!("-o 6lowpan.context0:{}/64", scenario.border.prefix)
}

/// Creates a capture of the frames of `scenario` at `path` (`-`: standard output), with its keys
/// and node names. `origin` is the time from 1970 to the start of a run in real time.
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
