//! Slow start, congestion avoidance, and the window in fast recovery
//! (RFC 5681 §3, RFC 6582 §3.2).

/// The congestion window and its threshold, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    cwnd: u32,
    ssthresh: u32,
    /// Bytes acknowledged since cwnd last grew in congestion avoidance.
    acked: u32,
}

/// RFC 5681 §3.1: IW.
fn initial_window(mss: u32) -> u32 {
    let segments = match mss {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    };
    mss.saturating_mul(segments)
}

impl NewReno {
    /// Before the handshake; nothing but a SYN is sent.
    pub(crate) fn new(mss: u32) -> Self {
        // RFC 5681 §3.1: ssthresh starts arbitrarily high.
        NewReno {
            cwnd: initial_window(mss),
            ssthresh: u32::MAX,
            acked: 0,
        }
    }

    /// The handshake is complete.
    ///
    /// RFC 5681 §3.1: if the SYN or its answer was lost, the initial window
    /// is one segment.
    pub(crate) fn on_established(&mut self, mss: u32, syn_lost: bool) {
        self.cwnd = if syn_lost { mss } else { initial_window(mss) };
    }

    pub(crate) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// `bytes` of new data were acknowledged, outside of recovery.
    pub(crate) fn on_ack(&mut self, bytes: u32, mss: u32) {
        if self.cwnd < self.ssthresh {
            // RFC 5681 §3.1, equation (2): cwnd += min(N, SMSS).
            self.cwnd = self.cwnd.saturating_add(bytes.min(mss));
            return;
        }
        // RFC 5681 §3.1: one SMSS for each cwnd's worth of acknowledged bytes.
        self.acked = self.acked.saturating_add(bytes);
        if self.acked >= self.cwnd {
            self.acked = self.acked.saturating_sub(self.cwnd);
            self.cwnd = self.cwnd.saturating_add(mss);
        }
    }

    /// RFC 5681 §3.1, equation (4). What limited transmit added to the flight
    /// is left out by not looking beyond cwnd (§3.2, step 2).
    fn halve(&mut self, flight: u32, mss: u32) {
        self.ssthresh = (flight.min(self.cwnd) / 2).max(mss.saturating_mul(2));
        self.acked = 0;
    }

    /// Three duplicate ACKs (RFC 5681 §3.2, steps 2 and 3).
    pub(crate) fn on_fast_retransmit(&mut self, flight: u32, mss: u32) {
        self.halve(flight, mss);
        self.cwnd = self.ssthresh.saturating_add(mss.saturating_mul(3));
    }

    /// A further duplicate ACK in recovery (RFC 5681 §3.2, step 4).
    pub(crate) fn on_dup_ack(&mut self, mss: u32) {
        self.cwnd = self.cwnd.saturating_add(mss);
    }

    /// A partial acknowledgment of `bytes` (RFC 6582 §3.2, step 3).
    pub(crate) fn on_partial_ack(&mut self, bytes: u32, mss: u32) {
        self.cwnd = self.cwnd.saturating_sub(bytes);
        if bytes >= mss {
            self.cwnd = self.cwnd.saturating_add(mss);
        }
        self.cwnd = self.cwnd.max(mss);
    }

    /// Recovery is over with `flight` bytes outstanding (RFC 6582 §3.2, step
    /// 3, option 1, which avoids a burst).
    pub(crate) fn on_full_ack(&mut self, flight: u32, mss: u32) {
        self.cwnd = self.ssthresh.min(flight.max(mss).saturating_add(mss));
    }

    /// The retransmission timer ran out; `first` if for the first time since
    /// SND.UNA moved (RFC 5681 §3.1).
    pub(crate) fn on_timeout(&mut self, flight: u32, mss: u32, first: bool) {
        if first {
            self.halve(flight, mss);
        }
        // The loss window: one full-sized segment.
        self.cwnd = mss;
    }

    /// The link gave up a segment: as much a sign of congestion as a
    /// duplicate ACK, and no more, for the acknowledgments still flow.
    pub(crate) fn on_link_loss(&mut self, flight: u32, mss: u32) {
        self.halve(flight, mss);
        self.cwnd = self.cwnd.min(self.ssthresh);
    }

    /// Nothing was sent for longer than a retransmission timeout
    /// (RFC 5681 §4.1): cwnd is at most RW = min(IW, cwnd).
    pub(crate) fn on_idle(&mut self, mss: u32) {
        self.cwnd = self.cwnd.min(initial_window(mss));
        self.acked = 0;
    }

    /// The segment size shrank (RFC 5681 §3.1): cwnd by the same ratio.
    pub(crate) fn on_smaller_mss(&mut self, old: u32, new: u32) {
        let scaled = u64::from(self.cwnd).saturating_mul(u64::from(new));
        let cwnd = scaled.checked_div(u64::from(old)).unwrap_or(0);
        self.cwnd = (cwnd as u32).max(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 462;

    #[test]
    fn initial_windows_of_rfc5681() {
        assert_eq!(initial_window(1095), 4 * 1095);
        assert_eq!(initial_window(1096), 3 * 1096);
        assert_eq!(initial_window(2190), 3 * 2190);
        assert_eq!(initial_window(2191), 2 * 2191);
        let mut cc = NewReno::new(MSS);
        cc.on_established(MSS, true);
        assert_eq!(cc.cwnd(), MSS);
    }

    #[test]
    fn slow_start_then_one_segment_per_window() {
        let mut cc = NewReno::new(MSS);
        cc.on_ack(2 * MSS, MSS);
        assert_eq!(cc.cwnd(), 5 * MSS, "at most one SMSS for an ACK");
        cc.on_ack(10, MSS);
        assert_eq!(cc.cwnd(), 5 * MSS + 10, "no more than was acknowledged");
        cc.on_timeout(5 * MSS, MSS, true);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 5 * MSS / 2));
        while cc.cwnd() < cc.ssthresh() {
            cc.on_ack(MSS, MSS);
        }
        let before = cc.cwnd();
        let mut bytes = 0;
        while cc.cwnd() == before {
            cc.on_ack(2 * MSS, MSS);
            bytes += 2 * MSS;
        }
        assert_eq!(cc.cwnd(), before + MSS);
        assert!(bytes >= before && bytes < before + 2 * MSS);
    }

    #[test]
    fn fast_recovery_inflates_and_deflates() {
        let mut cc = NewReno::new(MSS);
        cc.cwnd = 8 * MSS;
        cc.on_fast_retransmit(8 * MSS, MSS);
        assert_eq!((cc.ssthresh(), cc.cwnd()), (4 * MSS, 7 * MSS));
        cc.on_dup_ack(MSS);
        assert_eq!(cc.cwnd(), 8 * MSS);
        cc.on_partial_ack(3 * MSS, MSS);
        assert_eq!(cc.cwnd(), 6 * MSS);
        cc.on_full_ack(0, MSS);
        assert_eq!(cc.cwnd(), 2 * MSS);
    }

    #[test]
    fn a_second_timeout_keeps_the_threshold() {
        let mut cc = NewReno::new(MSS);
        cc.cwnd = 8 * MSS;
        cc.on_timeout(8 * MSS, MSS, true);
        cc.on_timeout(MSS, MSS, false);
        assert_eq!(cc.ssthresh(), 4 * MSS);
    }

    #[test]
    fn limited_transmit_is_not_counted_in_the_threshold() {
        let mut cc = NewReno::new(MSS);
        cc.cwnd = 6 * MSS;
        cc.on_fast_retransmit(8 * MSS, MSS);
        assert_eq!(cc.ssthresh(), 3 * MSS);
    }
}
