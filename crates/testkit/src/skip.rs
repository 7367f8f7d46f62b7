//! Reports of skipped tests.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports that a test is skipped: on standard output, and as a line of the file that
/// `REDPOLL_SKIPPED` names, which a make target shows at its end. Panics if that file cannot be
/// written.
pub fn skipped(what: &str) {
    println!("skipped: {what}");
    let Some(path) = std::env::var_os("REDPOLL_SKIPPED") else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{what}"))
        .expect("REDPOLL_SKIPPED names a file that can be written");
}

/// Returns whether this machine has pseudo-terminals; otherwise reports `test` as skipped.
pub fn has_terminals(test: &str) -> bool {
    let obstacle = no_terminal();
    if let Some(reason) = &obstacle {
        skipped(&format!("test {test}: {reason}"));
    }
    obstacle.is_none()
}

/// Returns the reason why no pseudo-terminal can be opened; `None` if one can be opened.
pub fn no_terminal() -> Option<String> {
    // If /dev/pts is not mounted, the kernel refuses to open the master's end.
    let master = OpenOptions::new().read(true).write(true).open("/dev/ptmx");
    let error = master.err()?;
    Some(format!(
        "no pseudo-terminal can be opened (/dev/ptmx: {error}); is /dev/pts mounted?"
    ))
}
