//! Static buffers, which are given to the caller once.

use core::ptr::addr_of_mut;
use core::sync::atomic::{AtomicBool, Ordering};

/// Bytes in each buffer: four segments of 462 bytes.
pub const BUFFER: usize = 1848;

/// Buffers at an address that is a multiple of four, so that copies cost the same in every build.
#[repr(align(4))]
struct Aligned([[u8; BUFFER]; 4]);

static mut BUFFERS: Aligned = Aligned([[0; BUFFER]; 4]);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns the buffers; `None` at the second call.
pub fn buffers() -> Option<[&'static mut [u8]; 4]> {
    // ARMv6-M has no atomic exchange, and one thread needs none.
    if TAKEN.load(Ordering::Relaxed) {
        return None;
    }
    TAKEN.store(true, Ordering::Relaxed);
    // SAFETY: there is one thread and no interrupt, and the flag prevents a second call from
    // getting the buffers.
    let Aligned([a, b, c, d]) = unsafe { &mut *addr_of_mut!(BUFFERS) };
    Some([a, b, c, d])
}
