//! Time of the processor, which does not pass while others have it.

use std::mem::MaybeUninit;
use std::time::Duration;

/// How long this thread has had a processor (clock_gettime(2),
/// `CLOCK_THREAD_CPUTIME_ID`).
pub fn time_of_thread() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the kernel writes a timespec to the pointer, which is one's; zeros are one
    // as well, if it should refuse.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
