//! Computes the fingerprint of the sources that determine a run's result, except studies' probes.

use std::env;
use std::path::PathBuf;

mod fingerprint;

fn main() {
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = here
        .ancestors()
        .nth(2)
        .expect("the crate is in the folder `crates/` of the repository");
    let text = fingerprint::fingerprint(root, &[]);
    println!("cargo:rustc-env=REDPOLL_FINGERPRINT={text}");
}
