//! Slow start, congestion avoidance, and the window in fast recovery
//! (RFC 5681 §3, RFC 6582 §3.2).

use redpoll_base::divide;

use crate::Config;
use crate::ahead::window;

/// The congestion window and its threshold, in bytes. More than 65,535 would be
/// of no use: the peer's windows are not scaled.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    cwnd: u16,
    ssthresh: u16,
    /// Bytes acknowledged since cwnd last grew in congestion avoidance.
    acked: u16,
}

/// RFC 5681 §3.1: IW.
#[inline(never)] // size
fn initial_window(mss: u32) -> u32 {
    let segments = match mss {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    };
    mss.wrapping_mul(segments)
}

/// How many segments may be out at first. Without the feature `other-engines` it takes
/// no room and is RFC 5681's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialWindow {
    #[cfg(feature = "other-engines")]
    segments: u8,
}

impl InitialWindow {
    #[cfg(feature = "other-engines")]
    pub(crate) fn of(config: &Config) -> Self {
        let segments = config.initial_window;
        InitialWindow { segments }
    }

    #[cfg(not(feature = "other-engines"))]
    pub(crate) fn of(_: &Config) -> Self {
        InitialWindow {}
    }

    #[cfg(feature = "other-engines")]
    fn bytes(self, mss: u32) -> u32 {
        match self.segments {
            0 => initial_window(mss),
            segments => mss.wrapping_mul(segments.into()),
        }
    }

    #[cfg(not(feature = "other-engines"))]
    fn bytes(self, mss: u32) -> u32 {
        initial_window(mss)
    }
}

impl NewReno {
    /// Before the handshake; nothing but a SYN is sent.
    pub(crate) fn new(mss: u32, _: &Config) -> Self {
        // RFC 5681 §3.1: ssthresh starts arbitrarily high.
        NewReno {
            cwnd: window(initial_window(mss)),
            ssthresh: u16::MAX,
            acked: 0,
        }
    }

    /// The handshake is complete.
    ///
    /// RFC 5681 §3.1: if the SYN or its answer was lost, the initial window
    /// is one segment.
    pub(crate) fn on_established(&mut self, mss: u32, iw: InitialWindow, syn_lost: bool) {
        self.set(if syn_lost { mss } else { iw.bytes(mss) });
    }

    /// As at the beginning, but for the slow start threshold.
    pub(crate) fn restart(&mut self, mss: u32, iw: InitialWindow, ssthresh: u16) {
        self.set(iw.bytes(mss));
        self.ssthresh = ssthresh;
    }

    /// As somebody else has decided.
    #[cfg(feature = "other-engines")]
    pub(super) fn put(&mut self, cwnd: u32, ssthresh: u32) {
        self.set(cwnd);
        self.ssthresh = window(ssthresh);
    }

    pub(crate) fn cwnd(&self) -> u32 {
        u32::from(self.cwnd)
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        u32::from(self.ssthresh)
    }

    /// `bytes` of new data were acknowledged, outside of fast recovery.
    /// `limit` is RFC 3465's L.
    pub(crate) fn on_ack(&mut self, bytes: u32, mss: u32, limit: u32) {
        if self.cwnd < self.ssthresh {
            // RFC 3465 §2.2: cwnd grows by what was acknowledged, by no more
            // than L segments an ACK.
            return self.grow(bytes.min(mss.wrapping_mul(limit)));
        }
        // RFC 3465 §2.1: one SMSS for each cwnd's worth of acknowledged bytes.
        let acked = u32::from(self.acked).wrapping_add(bytes);
        self.acked = window(acked);
        if acked >= self.usable(acked, mss) {
            self.acked = window(acked.saturating_sub(self.cwnd()));
            self.grow(mss);
        }
    }

    fn grow(&mut self, bytes: u32) {
        self.set(self.cwnd().wrapping_add(bytes));
    }

    /// The whole segments in cwnd, which is as much as a round trip can bring.
    /// Half a segment more, left by halving, must not delay growth: with a
    /// window of two and a half that would be a quarter less than other flows.
    fn usable(&self, acked: u32, mss: u32) -> u32 {
        let mut usable = self.cwnd();
        if acked.wrapping_add(mss) > usable {
            // Only now: dividing takes long.
            usable = divide(usable, mss).wrapping_mul(mss);
        }
        usable
    }

    /// A loss: RFC 5681 §3.1, equation (4). What limited transmit added to the
    /// flight is left out by not looking beyond cwnd (§3.2, step 2).
    pub(crate) fn on_loss(&mut self, flight: u32, mss: u32) {
        self.reduce(flight.min(self.cwnd()) / 2, mss);
    }

    /// A mark (RFC 3168 §6.1.2), with RFC 8511 §3's beta of 0.8.
    pub(crate) fn on_mark(&mut self, flight: u32, mss: u32) {
        let flight = flight.min(self.cwnd());
        self.reduce(divide(flight, 5).wrapping_mul(4), mss);
        self.cwnd = self.cwnd.min(self.ssthresh);
    }

    /// The threshold after a loss: two segments at least.
    pub(super) fn reduce(&mut self, ssthresh: u32, mss: u32) {
        self.ssthresh = window(ssthresh.max(mss.wrapping_mul(2)));
        self.acked = 0;
    }

    /// RFC 9937 §6.2: in recovery cwnd follows what arrives.
    pub(crate) fn set(&mut self, cwnd: u32) {
        self.cwnd = window(cwnd);
    }

    /// cwnd is not above `most`.
    pub(crate) fn limit(&mut self, most: u32) {
        self.set(self.cwnd().min(most));
    }

    /// RFC 9937 §6.4: fast recovery is over.
    pub(crate) fn on_recovered(&mut self) {
        self.fall();
    }

    /// cwnd is what the threshold says, at once.
    pub(crate) fn fall(&mut self) {
        self.cwnd = self.ssthresh;
    }

    /// The retransmission timer ran out; `first` if for the first time since
    /// SND.UNA moved (RFC 5681 §3.1).
    pub(crate) fn on_timeout(&mut self, flight: u32, mss: u32, first: bool) {
        if first {
            self.on_loss(flight, mss);
        }
        // The loss window: one full-sized segment.
        self.set(mss);
    }

    /// The loss was none (RFC 4015 §3.2, step 8): what was out before may be
    /// out again, without a burst.
    pub(crate) fn restore(&mut self, pipe_prev: u32, flight: u32, bytes: u32, mss: u32) {
        let cwnd = flight.wrapping_add(bytes.min(initial_window(mss)));
        self.set(self.cwnd().max(cwnd));
        self.ssthresh = window(pipe_prev);
    }

    /// Nothing was sent for longer than a retransmission timeout
    /// (RFC 5681 §4.1): cwnd is at most RW = min(IW, cwnd).
    pub(crate) fn on_idle(&mut self, mss: u32, iw: InitialWindow) {
        self.limit(iw.bytes(mss));
        self.acked = 0;
    }

    /// The segment size shrank (RFC 5681 §3.1): cwnd by the same ratio.
    pub(crate) fn on_smaller_mss(&mut self, old: u32, new: u32) {
        let product = self.cwnd().wrapping_mul(u32::from(window(new)));
        self.set(divide(product, old).max(new));
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
        let mut cc = NewReno::new(MSS, &Config::default());
        let iw = InitialWindow::of(&Config::default());
        cc.on_established(MSS, iw, true);
        assert_eq!(cc.cwnd(), MSS);
    }

    #[test]
    fn slow_start_then_one_segment_per_window() {
        let mut cc = NewReno::new(MSS, &Config::default());
        cc.on_ack(3 * MSS, MSS, 2);
        assert_eq!(cc.cwnd(), 6 * MSS, "at most two SMSS for an ACK");
        cc.on_ack(10, MSS, 2);
        assert_eq!(cc.cwnd(), 6 * MSS + 10, "no more than was acknowledged");
        cc.on_timeout(5 * MSS, MSS, true);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 5 * MSS / 2));
        while cc.cwnd() < cc.ssthresh() {
            cc.on_ack(MSS, MSS, 1);
        }
        let before = cc.cwnd();
        let mut bytes = 0;
        while cc.cwnd() == before {
            cc.on_ack(2 * MSS, MSS, 2);
            bytes += 2 * MSS;
        }
        assert_eq!(cc.cwnd(), before + MSS);
        assert!(bytes >= before && bytes < before + 2 * MSS);
    }

    #[test]
    fn a_part_of_a_segment_in_cwnd_does_not_delay_growth() {
        let mut cc = NewReno::new(MSS, &Config::default());
        cc.set(6 * MSS);
        cc.on_loss(5 * MSS, MSS);
        cc.on_recovered();
        for segments in [2, 3] {
            let cwnd = 5 * MSS / 2 + (segments - 2) * MSS;
            assert_eq!(cc.cwnd(), cwnd);
            (1..segments).for_each(|_| cc.on_ack(MSS, MSS, 2));
            cc.on_ack(MSS - 1, MSS, 2);
            assert_eq!(cc.cwnd(), cwnd, "not before a whole round trip");
            cc.on_ack(1, MSS, 2);
            assert_eq!(cc.cwnd(), cwnd + MSS);
        }
    }

    #[test]
    fn a_second_timeout_keeps_the_threshold() {
        let mut cc = NewReno::new(MSS, &Config::default());
        cc.set(8 * MSS);
        cc.on_timeout(8 * MSS, MSS, true);
        cc.on_timeout(MSS, MSS, false);
        assert_eq!(cc.ssthresh(), 4 * MSS);
    }

    #[test]
    fn limited_transmit_is_not_counted_in_the_threshold() {
        let mut cc = NewReno::new(MSS, &Config::default());
        cc.set(6 * MSS);
        cc.on_loss(8 * MSS, MSS);
        assert_eq!(cc.ssthresh(), 3 * MSS);
    }

    #[test]
    fn what_was_restored_grows_back_without_a_burst() {
        let mut cc = NewReno::new(MSS, &Config::default());
        cc.on_timeout(8 * MSS, MSS, true);
        cc.restore(9 * MSS, 6 * MSS, MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (7 * MSS, 9 * MSS));
    }
}
