//! The C examples on an emulated Cortex-M3, unchanged: the same sources, the library for
//! microcontrollers, and newlib. Without a compiler for this processor (`gcc-arm-none-eabi`,
//! `libnewlib-arm-none-eabi`), QEMU, or Rust's target, the test is skipped and its name printed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c::{here, measures_coverage, runs, skipped, text};

const TARGET: &str = "thumbv6m-none-eabi";
const COMPILER: &str = "arm-none-eabi-gcc";
const MACHINE: &str = "qemu-system-arm";

/// Returns the library with these features and without the standard library, or why it is missing.
fn library(features: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--quiet", "--release", "-p", "redpoll-capi"]);
    cargo.args(["--lib", "--crate-type", "staticlib"]);
    cargo.args(["--no-default-features", "--features", features]);
    cargo.args(["--target", TARGET]);
    if measures_coverage() {
        // This target has no runtime that counts.
        cargo.env_remove("RUSTFLAGS");
    }
    let output = cargo.current_dir(here(".")).output().unwrap();
    let tests = std::env::current_exe().unwrap();
    // target/PROFILE/deps/this
    let target = tests.ancestors().nth(3).unwrap();
    let library = target.join(TARGET).join("release/libredpoll_capi.a");
    match output.status.success() {
        true => Ok(library),
        false => Err(text(&output)),
    }
}

fn run(library: &Path, example: &str) -> String {
    let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{example}.elf"));
    let mut link = Command::new(COMPILER);
    link.args(["-std=gnu11", "-Os", "-mcpu=cortex-m3", "-mthumb", "-w"]);
    link.args(["--specs=rdimon.specs", "-Wl,--no-warn-execstack", "-T"]);
    link.arg(here("tests/mps2.ld"))
        .arg("-I")
        .arg(here("include"));
    link.arg(here(&format!("examples/{example}.c")));
    link.arg(here("tests/mps2.c")).arg(library);
    let output = link.arg("-o").arg(&image).output().unwrap();
    assert!(output.status.success(), "{example}: {}", text(&output));
    let mut qemu = Command::new("timeout");
    qemu.args(["120", MACHINE, "-machine", "mps2-an385", "-semihosting"]);
    qemu.args(["-display", "none", "-monitor", "none", "-serial", "none"]);
    let output = qemu.arg("-kernel").arg(&image).output().unwrap();
    assert!(output.status.success(), "{example}: {}", text(&output));
    text(&output)
}

#[test]
fn the_examples_run_on_a_cortex_m3() {
    let has = |name: &str| {
        let mut version = Command::new(name);
        version.arg("--version");
        runs(version)
    };
    let mut libraries = Command::new(COMPILER);
    libraries.args(["--specs=rdimon.specs", "-x", "c", "-E", "-"]);
    libraries.stdin(std::process::Stdio::null());
    if !has(COMPILER) || !has(MACHINE) || !runs(libraries) {
        skipped(
            "of the examples in C on a Cortex-M3: no gcc-arm-none-eabi with newlib, or no QEMU",
        );
        return;
    }
    let whole = match library("radio,full") {
        Ok(library) => library,
        Err(why) if why.contains("target may not be installed") => {
            skipped("of the examples in C on a Cortex-M3: no Rust target for it");
            return;
        }
        Err(why) => panic!("{why}"),
    };
    let loops = run(&whole, "bare_loop");
    assert!(
        loops.contains("20000 bytes") && loops.contains("all right"),
        "{loops}"
    );
    let waits = run(&whole, "waiting");
    assert!(waits.contains("50 echoes"), "{waits}");
    let packets = run(&whole, "ip_loop");
    assert!(packets.contains("all right"), "{packets}");
    let over_ip = library("node").unwrap();
    let packets = run(&over_ip, "ip_loop");
    assert!(packets.contains("all right"), "{packets}");
}
