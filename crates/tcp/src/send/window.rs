//! The send sequence variables (RFC 9293 §3.3.1) and derived values.

use crate::seq::Low;
use crate::{Segment, SeqNum};

/// The SND variables of RFC 9293 §3.3.1.
#[derive(Clone, Debug)]
pub(crate) struct SendWindow {
    /// SND.UNA: the oldest unacknowledged sequence number.
    pub(crate) una: SeqNum,
    pub(crate) nxt: SeqNum,
    /// SND.WL1: sequence number of the segment that last updated the window. SND.WL2 is not needed:
    /// segments with SEG.ACK below SND.UNA do not update the window, and WL2 is never above
    /// SND.UNA. RCV.NXT is at most a window ahead, so 16 bits suffice.
    wl1: Low,
    wnd: u16,
    max_wnd: u16,
    /// Whether the octet at SND.NXT was sent into a closed window. This does not advance SND.NXT,
    /// because the peer will probably refuse it.
    probed: bool,
}

/// Maximum frame of IEEE 802.15.4 in bytes (aMaxPhyPacketSize).
const FRAME: u32 = 127;

impl SendWindow {
    /// Returns the maximum length of a segment such that two fit in the peer's largest window,
    /// because a single segment would wait for a delayed ACK. A window of one frame is not divided.
    pub(crate) fn most_at_once(&self) -> u32 {
        match self.max_wnd() {
            small @ ..=FRAME => small,
            large => large.div_ceil(2),
        }
    }

    /// Creates the state before the SYN, which will have the sequence number `iss`.
    pub(crate) fn new(iss: SeqNum) -> Self {
        SendWindow {
            una: iss,
            nxt: iss,
            wl1: Low::of(iss),
            wnd: 0,
            max_wnd: 0,
            probed: false,
        }
    }

    /// Restores SND.UNA and SND.NXT, RCV.NXT, SND.WND and MAX.SND.WND.
    pub(crate) fn restore(
        &mut self,
        [una, nxt]: [SeqNum; 2],
        rcv_nxt: SeqNum,
        [wnd, max_wnd]: [u16; 2],
    ) {
        (self.una, self.nxt) = (una, nxt);
        self.wl1 = Low::of(rcv_nxt);
        (self.wnd, self.max_wnd) = (wnd, max_wnd);
    }

    /// Returns SND.WND: how far beyond SND.UNA the peer's window reaches.
    pub(crate) fn wnd(&self) -> u32 {
        u32::from(self.wnd)
    }

    /// Returns MAX.SND.WND: the largest window that the peer has offered (RFC 5961 §5.2).
    pub(crate) fn max_wnd(&self) -> u32 {
        u32::from(self.max_wnd)
    }

    /// Returns FlightSize (RFC 5681 §2): the bytes sent and not acknowledged.
    pub(crate) fn flight(&self) -> u32 {
        self.nxt.since(self.una)
    }

    /// Returns how many bytes from `seq` on fit in the peer's window; none in a window that shrank
    /// (RFC 9293 §3.8.6, MUST-34).
    pub(crate) fn room_from(&self, seq: SeqNum) -> u32 {
        (self.una + self.wnd()) - seq
    }

    /// Returns the sequence number after the highest one that may have reached the peer.
    pub(crate) fn max(&self) -> SeqNum {
        self.nxt + u32::from(self.probed)
    }

    /// Records that all data before `end` were given to the link.
    pub(crate) fn on_sent(&mut self, end: SeqNum) {
        if self.nxt < end {
            self.nxt = end;
            self.probed = false;
        }
    }

    /// Records a window probe: an octet at or before SND.NXT, whose end is `end`.
    pub(crate) fn on_probe_sent(&mut self, end: SeqNum) {
        self.probed |= self.nxt < end;
    }

    /// Tests `(SND.UNA - MAX.SND.WND) =< SEG.ACK =< SND.NXT` (RFC 5961 §5.2).
    pub(crate) fn is_plausible_ack(&self, ack: SeqNum) -> bool {
        self.una - self.max_wnd() <= ack && ack <= self.max()
    }

    /// Tests `SND.UNA < SEG.ACK =< SND.NXT`.
    pub(crate) fn is_new_ack(&self, ack: SeqNum) -> bool {
        self.una < ack && ack <= self.max()
    }

    /// Makes the data from `seq` on unsent, because the peer does not have these data.
    pub(crate) fn take_back(&mut self, seq: SeqNum) {
        self.nxt = seq;
        self.probed = false;
    }

    /// Processes a new acknowledgment of everything before `ack`.
    pub(crate) fn on_ack(&mut self, ack: SeqNum) {
        // Keeps the right edge of the window until `update` sets it.
        self.wnd = self.room_from(ack) as u16;
        self.una = ack;
        self.on_sent(ack);
    }

    /// Adopts the window of an acceptable segment that acknowledges SND.UNA, if it is the newest.
    /// RFC 9293 §3.10.7.4, fifth step: `SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and SND.WL2 =<
    /// SEG.ACK)`, the last part of which always holds. A segment beyond a gap counts as one at
    /// RCV.NXT. Otherwise, if a peer sends no more data, one segment with a forged number would
    /// make all later windows of this peer look old.
    pub(crate) fn update(&mut self, seg: &Segment<'_>, rcv_nxt: SeqNum) {
        let seq = seg.seq.min(rcv_nxt);
        if self.wl1.last_up_to(rcv_nxt) <= seq {
            self.set(seq, seg.window);
        }
    }

    pub(crate) fn set(&mut self, wl1: SeqNum, wnd: u16) {
        self.wl1 = Low::of(wl1);
        self.wnd = wnd;
        self.max_wnd = self.max_wnd.max(wnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Options};

    fn seg(seq: u32, ack: u32, window: u16) -> Segment<'static> {
        Segment {
            src_port: 1,
            dst_port: 2,
            seq: SeqNum(seq),
            ack: SeqNum(ack),
            flags: Flags::ACK,
            window,
            options: Options::default(),
            payload: &[],
        }
    }

    #[test]
    fn old_segments_do_not_move_the_window() {
        let mut snd = SendWindow::new(SeqNum(1000));
        snd.set(SeqNum(50), 500);
        snd.update(&seg(49, 1001, 7), SeqNum(50));
        assert_eq!(snd.wnd(), 500);
        snd.update(&seg(50, 1001, 7), SeqNum(50));
        assert_eq!(snd.wnd(), 7);
        assert_eq!(snd.max_wnd(), 500);
    }

    #[test]
    fn a_shrunk_window_leaves_no_room_and_no_underflow() {
        let mut snd = SendWindow::new(SeqNum(0));
        snd.set(SeqNum(0), 100);
        snd.on_sent(SeqNum(100));
        snd.update(&seg(0, 0, 30), SeqNum(0));
        assert_eq!(snd.room_from(snd.nxt), 0);
        assert_eq!(snd.room_from(snd.una), 30);
        snd.on_ack(SeqNum(60));
        assert_eq!(snd.wnd(), 0);
    }

    #[test]
    fn a_probe_may_be_acknowledged_though_it_is_not_counted_as_sent() {
        let mut snd = SendWindow::new(SeqNum(u32::MAX));
        snd.on_sent(SeqNum(0));
        snd.on_ack(SeqNum(0));
        snd.on_probe_sent(SeqNum(1));
        assert_eq!(snd.flight(), 0);
        assert!(snd.is_new_ack(SeqNum(1)));
        assert!(!snd.is_new_ack(SeqNum(2)));
        snd.on_ack(SeqNum(1));
        assert_eq!(snd.nxt, SeqNum(1));
    }
}
