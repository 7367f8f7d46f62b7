//! The version of the library.

use core::ffi::{CStr, c_char};

/// The version with its final zero.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// `redpoll.h` describes this function.
#[unsafe(no_mangle)]
pub extern "C" fn rp_version() -> *const c_char {
    VERSION.as_ptr()
}
