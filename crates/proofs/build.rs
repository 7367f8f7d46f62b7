//! Copies source files of the device crates without their tests and inner documentation. This crate
//! includes the copies, because the device crates do not export the mechanisms in them.

use std::path::Path;
use std::{env, fs};

const FILES: [&str; 6] = [
    "mac/src/security/counter.rs",
    "tcp/src/ahead.rs",
    "tcp/src/recv/inbox.rs",
    "tcp/src/recv/ranges.rs",
    "tcp/src/send/scoreboard.rs",
    "tcp/src/seq.rs",
];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for file in FILES {
        let path = crates.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
        let text = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with("//!"));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let name = file.replace('/', "-");
        fs::write(Path::new(&out).join(name), code).expect("OUT_DIR is writable");
    }
}
