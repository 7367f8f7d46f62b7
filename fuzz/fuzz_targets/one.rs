//! Runs the target whose name is in the environment variable FUZZ_TARGET.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use redpoll_fuzz::Target;

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let run = TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET is set");
        let target = Target::find(&name);
        target.unwrap_or_else(|| panic!("no target {name}")).run
    });
    run(bytes);
});
