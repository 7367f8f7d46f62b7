//! `rand` and `srand` of the C library, with a separate state for each node.
//!
//! Modules take random numbers from libc, which has one generator for the whole process. A node
//! that seeds this generator would therefore seed it for all nodes. The dynamic loader looks for
//! symbols in the program first, so the two functions in this file replace libc's.

use std::cell::Cell;
use std::ffi::{c_int, c_uint};

use redpoll_base::Rng;

thread_local! {
    /// State of the random generator of the node that runs in this thread.
    static STATE: Cell<u64> = const { Cell::new(1) };
}

pub(crate) fn enter(state: u64) {
    // Refer to both functions, so that the linker keeps them.
    std::hint::black_box((
        rand as extern "C" fn() -> c_int,
        srand as extern "C" fn(c_uint),
    ));
    STATE.set(state);
}

/// Ends the run of a node. Returns the state of the node's random generator.
pub(crate) fn leave() -> u64 {
    STATE.replace(1)
}

/// Returns a number from 0 to `RAND_MAX`, 2^31 - 1 (C17 §7.22.2.1).
// SAFETY: no other symbol of this name is in the program. The function replaces libc's on purpose,
// and behaves as the C standard requires.
#[unsafe(no_mangle)]
extern "C" fn rand() -> c_int {
    let state = STATE.get();
    let mut rng = Rng::new(state);
    let number = rng.next_u64();
    STATE.set(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
    (number >> 33) as c_int
}

/// Seeds the generator (C17 §7.22.2.2).
// SAFETY: as for `rand`.
#[unsafe(no_mangle)]
extern "C" fn srand(seed: c_uint) {
    STATE.set(u64::from(seed));
}
