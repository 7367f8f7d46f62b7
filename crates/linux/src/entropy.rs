//! Unpredictable bytes from the operating system.

use std::io;

/// Fills `bytes` with random bytes from the kernel (getrandom(2)). After a boot, the call waits
/// until the kernel has enough entropy. Fails if the kernel has no random numbers.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::from)
}
