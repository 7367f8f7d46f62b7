//! What tests leave out, told where it is seen.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Says that something is left out: here, and by a line of the file that `REDPOLL_SKIPPED`
/// names, which a make target shows at its end.
///
/// # Panics
///
/// If that file cannot be written.
pub fn skipped(what: &str) {
    println!("skipped: {what}");
    let Some(path) = std::env::var_os("REDPOLL_SKIPPED") else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{what}"))
        .expect("REDPOLL_SKIPPED names a file that can be written");
}
