//! Unpredictable bytes from the operating system.

use std::io;

/// Fills `bytes` with random bytes from the kernel (getrandom(2)); waits until it has
/// gathered enough of them after it was booted.
///
/// # Errors
///
/// The kernel's, on one without random numbers.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::from)
}
