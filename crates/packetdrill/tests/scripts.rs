//! Runs every script in `scripts/` as a separate test.

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use libtest_mimic::{Arguments, Failed, Trial};

fn trials() -> io::Result<Vec<Trial>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut trials = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "pkt") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = name.into_owned();
        trials.push(Trial::test(name, move || {
            let text = fs::read_to_string(&path)?;
            redpoll_packetdrill::script::run(&text)
                .map_err(|failure| Failed::from(format!("{}: {failure}", path.display())))
        }));
    }
    Ok(trials)
}

fn main() -> ExitCode {
    let trials = trials().expect("the folder of scripts can be read");
    assert!(!trials.is_empty(), "there are no scripts");
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
