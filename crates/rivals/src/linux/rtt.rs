//! The round-trip time, and the timeout that follows from it. The variation counts as at least 200
//! ms, so that the timeout exceeds the mean by at least this time.

use redpoll_base::Duration;

/// TCP_TIMEOUT_INIT, TCP_RTO_MAX.
const INITIAL: Duration = Duration::from_secs(1);
const MAX: Duration = Duration::from_secs(120);

/// Round-trip times and the timeout, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    srtt: u64,
    mdev: u64,
    has_sample: bool,
    min: Duration,
}

impl Rtt {
    pub(super) fn new(min: Duration) -> Rtt {
        Rtt {
            srtt: 0,
            mdev: 0,
            has_sample: false,
            min,
        }
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_micros();
        if self.has_sample {
            let error = rtt.abs_diff(self.srtt);
            // A round trip far below the average increases the deviation only slightly.
            let is_short = rtt + self.mdev < self.srtt;
            let weight = if is_short { 32 } else { 4 };
            self.mdev = self.mdev - self.mdev / weight + error / weight;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        } else {
            (self.srtt, self.mdev) = (rtt, rtt / 2);
            self.has_sample = true;
        }
    }

    /// Returns the timeout after this number of doublings.
    pub(super) fn timeout(&self, backoff: u8) -> Duration {
        let base = match self.has_sample {
            false => INITIAL,
            true => {
                let variation = Duration::from_micros(4 * self.mdev).max(self.min);
                Duration::from_micros(self.srtt) + variation
            }
        };
        base.times(1 << backoff.min(16)).min(MAX)
    }
}
