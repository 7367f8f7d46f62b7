//! Measures the used part of the stack: bytes that no call has reached still have the pattern with
//! which the stack was filled.

use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    static stack_top: u32;
    static mut bss_end: u32;
}

/// Address below which calls use the stack: [`MARGIN`] words above the end of the pattern.
static TOP: AtomicUsize = AtomicUsize::new(0);

const PATTERN: u32 = 0xa5a5_5a5a;
/// Maximum number of bytes of the stack that are watched, from the top down.
const WATCHED: usize = 16 * 1024;
/// Number of words below the stack pointer that are not filled.
const MARGIN: usize = 16;

/// Returns the lowest word that is watched.
fn bottom() -> *mut u32 {
    let (end, top) = (addr_of_mut!(bss_end), addr_of!(stack_top).cast_mut());
    match (top as usize).saturating_sub(end as usize) {
        // Megabytes would take long to scan, so only the top of a large memory is watched.
        WATCHED.. => top.wrapping_byte_sub(WATCHED),
        _ => end,
    }
}

/// Fills the watched part of the stack, up to [`MARGIN`] words below the present stack pointer,
/// with the pattern.
#[inline(never)]
pub fn paint() {
    let here = 0u32;
    // SAFETY: between the end of the data and this frame there are only remains of calls that
    // have returned.
    unsafe {
        let end = addr_of!(here).sub(MARGIN).cast_mut();
        let mut word = bottom();
        while word < end {
            word.write_volatile(PATTERN);
            word = word.add(1);
        }
        TOP.store(end as usize + 4 * MARGIN, Ordering::Relaxed);
    }
}

/// Returns the maximum number of used stack bytes since [`paint`], and the size of the stack.
pub fn used() -> [u32; 2] {
    // SAFETY: these are the bounds of the stack, which may be read.
    unsafe {
        let top = TOP.load(Ordering::Relaxed) as *const u32;
        let bottom = bottom().cast_const();
        let mut word = bottom;
        while word < top && word.read_volatile() == PATTERN {
            word = word.add(1);
        }
        [top as u32 - word as u32, top as u32 - bottom as u32]
    }
}
