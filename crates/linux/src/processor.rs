//! Processor time of this thread, which does not pass while other threads run.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns the time for which this thread has had a processor (clock_gettime(2),
/// `CLOCK_THREAD_CPUTIME_ID`); zero if the kernel refuses to say.
pub fn time_of_thread() -> Duration {
    // nix converts `tv_sec`, which has 32 bits on some targets and 64 on others.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
