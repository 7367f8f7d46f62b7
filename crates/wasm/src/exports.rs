//! The functions that the page's worker calls.
//!
//! The worker writes a request into the memory that [`input`] returns, calls [`handle`] or
//! [`turn`], and reads the lines of [`output`].
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::panic;
use std::time::Duration;

use crate::engine::Engine;

#[link(wasm_import_module = "worker")]
unsafe extern "C" {
    /// Returns the real time in milliseconds since an arbitrary moment.
    safe fn now_ms() -> f64;
    /// Reports a fault of the program, as text at an address.
    fn fault(text: *const u8, len: usize);
}

#[derive(Default)]
struct State {
    engine: Engine,
    input: Vec<u8>,
    output: String,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Prepares the program. The worker calls this function once, first.
#[unsafe(no_mangle)]
pub extern "C" fn begin() {
    panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: `text` has `len` bytes, and lives until the function returns.
        unsafe { fault(text.as_ptr(), text.len()) };
    }));
}

/// Returns the address of `len` bytes for the next request.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(len, 0);
        state.input.as_mut_ptr()
    })
}

/// Carries out the request in the input.
#[unsafe(no_mangle)]
pub extern "C" fn handle() {
    STATE.with_borrow_mut(|state| {
        let request = String::from_utf8_lossy(&state.input);
        state.engine.handle(&request);
    });
}

/// Advances the run. Returns the time in milliseconds after which another call is useful; −1 if
/// only a request changes anything.
#[unsafe(no_mangle)]
pub extern "C" fn turn() -> f64 {
    STATE.with_borrow_mut(|state| {
        let wait = state.engine.turn(now);
        wait.map_or(-1.0, |wait| wait.as_secs_f64() * 1e3)
    })
}

/// Moves the messages for the page into the output, one in each line, and returns their length in
/// bytes.
#[unsafe(no_mangle)]
pub extern "C" fn collect() -> usize {
    STATE.with_borrow_mut(|state| {
        state.output = state.engine.lines().join("\n");
        state.output.len()
    })
}

/// Returns the address of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

fn now() -> Duration {
    Duration::from_secs_f64(now_ms() / 1e3)
}
