//! The retransmission timeout that follows from a flow's round trips.

/// Clock granularity G in RFC 6298's formula, in microseconds.
const GRANULARITY_US: u64 = 10_000;
/// Least number of samples from which the timeout is derived.
const SAMPLES_MIN: u64 = 4;
/// Maximum number of samples for the median; later samples replace earlier ones.
const KEPT_MAX: usize = 4_096;

/// Round-trip times, from the first bit of a segment on the air to the last bit of its
/// acknowledgement (RFC 6298 §2).
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    count: u64,
    srtt_us: u64,
    rttvar_us: u64,
    kept: Vec<u64>,
}

impl RoundTrips {
    pub fn sample(&mut self, rtt_us: u64) {
        if self.count == 0 {
            (self.srtt_us, self.rttvar_us) = (rtt_us, rtt_us / 2);
        } else {
            let off = self.srtt_us.abs_diff(rtt_us);
            self.rttvar_us = (3 * self.rttvar_us + off) / 4;
            self.srtt_us = (7 * self.srtt_us + rtt_us) / 8;
        }
        let at = self.count as usize;
        self.count += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(rtt_us)
        } else {
            self.kept[at % KEPT_MAX] = rtt_us
        }
    }

    /// Adds the round trips of another connection between the same ends, for the median. The
    /// timeout of the later connection is used if that connection has [`SAMPLES_MIN`] samples, or
    /// at least as many as the earlier ones.
    pub fn join(&mut self, later: RoundTrips) {
        let room = KEPT_MAX.saturating_sub(self.kept.len());
        self.kept.extend(later.kept.into_iter().take(room));
        if later.count >= self.count.min(SAMPLES_MIN) {
            (self.srtt_us, self.rttvar_us) = (later.srtt_us, later.rttvar_us);
        }
        self.count += later.count;
    }

    /// Returns SRTT + max(G, 4 RTTVAR), without a minimum; `None` before there are enough samples.
    pub fn rto_us(&self) -> Option<u64> {
        let rto = self.srtt_us + GRANULARITY_US.max(4 * self.rttvar_us);
        (self.count >= SAMPLES_MIN).then_some(rto)
    }

    pub fn median_us(&self) -> Option<u64> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}
