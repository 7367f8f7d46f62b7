//! Traces of noise, plain or compressed with gzip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redpoll_sim::{NoiseTrace, open_measured};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = open_measured(bytes) else {
        return;
    };
    let Ok(trace) = NoiseTrace::read(reader) else {
        return;
    };
    assert!(!trace.samples_dbm.is_empty());
    assert!(trace.samples_dbm.iter().all(|sample| sample.is_finite()));
});
