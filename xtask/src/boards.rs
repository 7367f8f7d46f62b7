//! Checks that the examples for boards build with the present crates. The examples are not linked,
//! so neither a C library nor a board is necessary.

use std::path::Path;

use crate::report::Failure;
use crate::workspace::{self, Workspace};

/// The example for an nRF52840, which is a separate workspace.
const EXAMPLE: &str = "examples/nrf52840";
/// Images of the example, each with its features and its target.
const IMAGES: [(&str, &str, &str); 2] = [
    ("leaf", "", "thumbv7em-none-eabihf"),
    ("thread", "thread", "thumbv7em-none-eabi"),
];
/// Folder of the example's builds: next to those of the workspace, but separate.
const TARGET: &str = "target/nrf52840";

/// Checks all images; returns those for whose target the toolchain has no library.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let mut rustc = std::process::Command::new("rustc");
    let sysroot = workspace::output(rustc.args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    let mut left_out = Vec::new();
    for (image, features, target) in IMAGES {
        if !libraries.join(target).join("lib").is_dir() {
            left_out.push(format!("{image} (rustup target add {target})"));
            continue;
        }
        let mut cargo = workspace.cargo();
        cargo.current_dir(workspace.root.join(EXAMPLE));
        cargo.args(["check", "--quiet", "--release", "--locked", "--bin", image]);
        cargo.args(["--features", features, "--target", target]);
        cargo.arg("--target-dir").arg(workspace.root.join(TARGET));
        // Flags for the host would replace its own.
        cargo.env_remove("RUSTFLAGS");
        workspace::run(&mut cargo)?;
        println!("boards: {EXAMPLE} {image} builds for {target}");
    }
    Ok((!left_out.is_empty()).then(|| left_out.join(", ")))
}
