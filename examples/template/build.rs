//! Selects the board by the target, and gives its memory to the linker.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(board, values(\"host\", \"nrf52840\", \"rp2040\"))");
    println!("cargo::rerun-if-changed=memory");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let board = match target.as_str() {
        "thumbv7em-none-eabihf" => "nrf52840",
        "thumbv6m-none-eabi" => "rp2040",
        _ => "host",
    };
    println!("cargo::rustc-cfg=board=\"{board}\"");
    if board == "host" {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy(format!("memory/{board}.x"), out.join("memory.x"))
        .expect("the folder memory has a file for the board");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=--nmagic");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    if board == "rp2040" {
        println!("cargo::rustc-link-arg-bins=-Tlink-rp.x");
    }
}
