//! Slow start, congestion avoidance, and the window in fast recovery (RFC 5681 §3, RFC 6582 §3.2).

use redpoll_base::divide;

use super::{Congestion, FlowState, initial_window};
use crate::ahead::window;

/// NewReno (RFC 5681, RFC 6582) with the response of RFC 8511 to a mark. Its windows are at most
/// 65,535 bytes, because the peer's windows are not scaled.
#[derive(Clone, Debug)]
pub struct NewReno {
    cwnd: u16,
    ssthresh: u16,
    /// Bytes acknowledged since cwnd last grew in congestion avoidance.
    acked: u16,
}

impl NewReno {
    /// Creates the congestion control before the handshake, when only a SYN is sent.
    pub fn new(mss: u32) -> Self {
        // RFC 5681 §3.1: ssthresh starts arbitrarily high.
        NewReno {
            cwnd: window(initial_window(mss)),
            ssthresh: u16::MAX,
            acked: 0,
        }
    }

    fn grow(&mut self, bytes: u32) {
        self.set_cwnd(self.cwnd().wrapping_add(bytes));
    }

    /// Returns the whole segments in cwnd, in bytes: the most that one round trip can acknowledge.
    /// A rest of half a segment, left by halving, must not delay growth: with a window of 2.5
    /// segments, growth by a segment would take 1.25 round trips instead of one.
    fn usable(&self, acked: u32, mss: u32) -> u32 {
        let mut usable = self.cwnd();
        if acked.wrapping_add(mss) > usable {
            // If `acked` is at least one segment below cwnd, rounding down to whole segments does
            // not matter, so the slow division is skipped.
            usable = divide(usable, mss).wrapping_mul(mss);
        }
        usable
    }

    /// Sets ssthresh after a loss, to at least two segments.
    pub fn reduce(&mut self, ssthresh: u32, mss: u32) {
        self.ssthresh = window(ssthresh.max(mss.wrapping_mul(2)));
        self.acked = 0;
    }
}

impl Congestion for NewReno {
    fn cwnd(&self) -> u32 {
        u32::from(self.cwnd)
    }

    fn ssthresh(&self) -> u32 {
        u32::from(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: u32) {
        self.cwnd = window(cwnd);
    }

    fn set_ssthresh(&mut self, ssthresh: u32) {
        self.ssthresh = window(ssthresh);
    }

    fn on_ack(&mut self, acked: u32, limit: u32, flow: &FlowState) {
        let mss = flow.mss;
        if self.cwnd <= self.ssthresh {
            // RFC 5681 §3.1: "When cwnd and ssthresh are equal, the sender may use either slow
            // start or congestion avoidance." Slow start (L = 1) is used: with two segments in
            // flight, a lost ACK often leaves only the timer.
            let limit = if self.cwnd < self.ssthresh { limit } else { 1 };
            // RFC 3465 §2.2: cwnd grows by the acknowledged bytes, by at most L segments per ACK.
            return self.grow(acked.min(mss.wrapping_mul(limit)));
        }
        // RFC 3465 §2.1: cwnd grows by one SMSS for each cwnd of acknowledged bytes.
        let acked = u32::from(self.acked).wrapping_add(acked);
        self.acked = window(acked);
        if acked >= self.usable(acked, mss) {
            self.acked = window(acked.saturating_sub(self.cwnd()));
            self.grow(mss);
        }
    }

    /// Reduces ssthresh after a loss (RFC 5681 §3.1, equation (4)). The flight is limited to cwnd,
    /// which excludes segments of limited transmit (§3.2, step 2).
    fn on_loss(&mut self, flow: &FlowState) {
        self.reduce(flow.flight.min(self.cwnd()) / 2, flow.mss);
    }

    /// Reduces the window after a mark (RFC 3168 §6.1.2), with the beta of 0.8 from RFC 8511 §3.
    fn on_mark(&mut self, flow: &FlowState) {
        let flight = flow.flight.min(self.cwnd());
        self.reduce(divide(flight, 5).wrapping_mul(4), flow.mss);
        self.cwnd = self.cwnd.min(self.ssthresh);
    }

    fn on_recovered(&mut self, _: &FlowState) {
        self.cwnd = self.ssthresh;
    }

    fn on_idle(&mut self, initial_window: u32, _: &FlowState) {
        self.limit_cwnd(initial_window);
        self.acked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 462;

    fn flow(flight: u32) -> FlowState {
        FlowState::new(flight, MSS)
    }

    #[test]
    fn initial_windows_of_rfc5681() {
        assert_eq!(initial_window(1095), 4 * 1095);
        assert_eq!(initial_window(1096), 3 * 1096);
        assert_eq!(initial_window(2190), 3 * 2190);
        assert_eq!(initial_window(2191), 2 * 2191);
    }

    #[test]
    fn slow_start_then_one_segment_per_window() {
        let mut cc = NewReno::new(MSS);
        cc.on_ack(3 * MSS, 2, &flow(0));
        assert_eq!(cc.cwnd(), 6 * MSS, "at most two SMSS for an ACK");
        cc.on_ack(10, 2, &flow(0));
        assert_eq!(cc.cwnd(), 6 * MSS + 10, "no more than was acknowledged");
        cc.on_timeout(true, &flow(5 * MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 5 * MSS / 2));
        while cc.cwnd() < cc.ssthresh() {
            cc.on_ack(MSS, 1, &flow(0));
        }
        let before = cc.cwnd();
        let mut bytes = 0;
        while cc.cwnd() == before {
            cc.on_ack(2 * MSS, 2, &flow(0));
            bytes += 2 * MSS;
        }
        assert_eq!(cc.cwnd(), before + MSS);
        assert!(bytes >= before && bytes < before + 2 * MSS);
    }

    #[test]
    fn a_part_of_a_segment_in_cwnd_does_not_delay_growth() {
        let mut cc = NewReno::new(MSS);
        cc.set_cwnd(6 * MSS);
        cc.on_loss(&flow(5 * MSS));
        cc.on_recovered(&flow(0));
        cc.on_ack(MSS, 2, &flow(0));
        for segments in [3, 4] {
            let cwnd = 5 * MSS / 2 + (segments - 2) * MSS;
            assert_eq!(cc.cwnd(), cwnd);
            (1..segments).for_each(|_| cc.on_ack(MSS, 2, &flow(0)));
            cc.on_ack(MSS - 1, 2, &flow(0));
            assert_eq!(cc.cwnd(), cwnd, "not before a whole round trip");
            cc.on_ack(1, 2, &flow(0));
            assert_eq!(cc.cwnd(), cwnd + MSS);
        }
    }

    #[test]
    fn at_the_threshold_one_ack_adds_at_most_one_segment() {
        for (acked, growth) in [(1, 1), (MSS, MSS), (2 * MSS, MSS), (9 * MSS, MSS)] {
            for limit in [1, 2] {
                let mut cc = NewReno::new(MSS);
                cc.on_loss(&flow(4 * MSS));
                cc.on_recovered(&flow(0));
                assert_eq!((cc.cwnd(), cc.ssthresh()), (2 * MSS, 2 * MSS));
                cc.on_ack(acked, limit, &flow(0));
                assert_eq!(cc.cwnd(), 2 * MSS + growth, "{acked} bytes, L = {limit}");
                cc.on_ack(MSS, limit, &flow(0));
                assert_eq!(cc.cwnd(), 2 * MSS + growth, "above the threshold");
            }
        }
    }

    #[test]
    fn a_second_timeout_keeps_the_threshold() {
        let mut cc = NewReno::new(MSS);
        cc.set_cwnd(8 * MSS);
        cc.on_timeout(true, &flow(8 * MSS));
        cc.on_timeout(false, &flow(MSS));
        assert_eq!(cc.ssthresh(), 4 * MSS);
    }

    #[test]
    fn limited_transmit_is_not_counted_in_the_threshold() {
        let mut cc = NewReno::new(MSS);
        cc.set_cwnd(6 * MSS);
        cc.on_loss(&flow(8 * MSS));
        assert_eq!(cc.ssthresh(), 3 * MSS);
    }

    #[test]
    fn a_restored_window_grows_back_without_a_burst() {
        let mut cc = NewReno::new(MSS);
        cc.on_timeout(true, &flow(8 * MSS));
        cc.on_undone(9 * MSS, MSS, &flow(6 * MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (7 * MSS, 9 * MSS));
    }
}
