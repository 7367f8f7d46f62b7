//! Computes the fingerprint of the sources that determine a run's result, without studies' probes.

use std::env;
use std::path::PathBuf;

mod fingerprint;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.ancestors().nth(2).expect("the crate is in `crates/`");
    let text = fingerprint::fingerprint(root, &[]);
    println!("cargo:rustc-env=REDPOLL_FINGERPRINT={text}");
}
