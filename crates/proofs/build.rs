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
        let name = file.replace('/', "-");
        let code = code_of(&crates.join(file));
        fs::write(Path::new(&out).join(name), code).expect("OUT_DIR is writable");
    }
}

/// Returns the code of a file, with the code of its modules in other files.
fn code_of(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let mut code = String::new();
    for line in text.lines().filter(|line| !line.starts_with("//!")) {
        let module = line
            .strip_prefix("mod ")
            .and_then(|it| it.strip_suffix(';'));
        match module {
            Some(module) => {
                let inner = path.with_extension("").join(module).with_extension("rs");
                code += &format!("mod {module} {{\n{}}}\n", code_of(&inner));
            }
            None => {
                code += line;
                code.push('\n');
            }
        }
    }
    code
}
