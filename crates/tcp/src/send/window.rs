//! The send sequence variables (RFC 9293 §3.3.1) and what follows from them.

use crate::seq::Low;
use crate::{Segment, SeqNum};

/// SND.* of RFC 9293 §3.3.1.
#[derive(Clone, Debug)]
pub(crate) struct SendWindow {
    /// SND.UNA: the oldest unacknowledged sequence number.
    pub(crate) una: SeqNum,
    /// SND.NXT: the next sequence number to send.
    pub(crate) nxt: SeqNum,
    /// SND.WL1: sequence number of the segment that last updated the window.
    /// SND.WL2, its acknowledgment number, need not be known: a segment whose
    /// SEG.ACK is below SND.UNA updates nothing, and WL2 is never above that.
    /// RCV.NXT runs ahead of it by no more than a window.
    wl1: Low,
    wnd: u16,
    max_wnd: u16,
    /// The octet at SND.NXT was sent into a closed window. That does not move
    /// SND.NXT, because it is likely to be refused.
    probed: bool,
}

/// What a frame of IEEE 802.15.4 has room for (aMaxPhyPacketSize).
const FRAME: u32 = 127;

impl SendWindow {
    /// The largest segment that leaves room for another in the peer's largest
    /// window: one alone would wait for a delayed ACK. A window of one frame is
    /// not divided.
    pub(crate) fn most_at_once(&self) -> u32 {
        match self.max_wnd() {
            small @ ..=FRAME => small,
            large => large.div_ceil(2),
        }
    }

    /// Nothing sent yet; the SYN will have number `iss`.
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

    /// SND.UNA and SND.NXT, RCV.NXT, SND.WND and MAX.SND.WND as they were.
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

    /// SND.WND: how far beyond SND.UNA the peer lets us send.
    pub(crate) fn wnd(&self) -> u32 {
        u32::from(self.wnd)
    }

    /// MAX.SND.WND: the largest window the peer ever offered (RFC 5961 §5.2).
    pub(crate) fn max_wnd(&self) -> u32 {
        u32::from(self.max_wnd)
    }

    /// FlightSize (RFC 5681 §2): sent and not acknowledged.
    pub(crate) fn flight(&self) -> u32 {
        self.nxt.since(self.una)
    }

    /// How much the peer's window takes from `seq` on.
    ///
    /// A window that shrank leaves nothing (RFC 9293 §3.8.6, MUST-34).
    pub(crate) fn room_from(&self, seq: SeqNum) -> u32 {
        (self.una + self.wnd()) - seq
    }

    /// One past the highest sequence number that may have reached the peer.
    pub(crate) fn max(&self) -> SeqNum {
        self.nxt + u32::from(self.probed)
    }

    /// Everything before `end` was handed to the link.
    pub(crate) fn on_sent(&mut self, end: SeqNum) {
        if self.nxt < end {
            self.nxt = end;
            self.probed = false;
        }
    }

    /// An octet that ends at `end`, at SND.NXT or before, was sent into a
    /// closed window.
    pub(crate) fn on_probe_sent(&mut self, end: SeqNum) {
        self.probed |= self.nxt < end;
    }

    /// RFC 5961 §5.2: `(SND.UNA - MAX.SND.WND) =< SEG.ACK =< SND.NXT`.
    pub(crate) fn is_plausible_ack(&self, ack: SeqNum) -> bool {
        self.una - self.max_wnd() <= ack && ack <= self.max()
    }

    /// `SND.UNA < SEG.ACK =< SND.NXT`.
    pub(crate) fn is_new_ack(&self, ack: SeqNum) -> bool {
        self.una < ack && ack <= self.max()
    }

    /// The peer has nothing from `seq` on: it counts as never sent.
    pub(crate) fn take_back(&mut self, seq: SeqNum) {
        self.nxt = seq;
        self.probed = false;
    }

    /// A new acknowledgment: everything before `ack` has arrived.
    pub(crate) fn on_ack(&mut self, ack: SeqNum) {
        // The window's right edge stays; the segment's own window comes next.
        self.wnd = self.room_from(ack) as u16;
        self.una = ack;
        self.on_sent(ack);
    }

    /// Takes the window of an acceptable segment that acknowledges SND.UNA, if
    /// it is the newest.
    ///
    /// RFC 9293 §3.10.7.4, fifth step: `SND.WL1 < SEG.SEQ or (SND.WL1 =
    /// SEG.SEQ and SND.WL2 =< SEG.ACK)`, of which the last holds. A segment
    /// beyond a gap counts as one at RCV.NXT: if it was forged, its number would
    /// else make all of a peer's windows look old that has nothing more to send.
    pub(crate) fn update(&mut self, seg: &Segment<'_>, rcv_nxt: SeqNum) {
        let seq = seg.seq.min(rcv_nxt);
        if self.wl1.last_up_to(rcv_nxt) <= seq {
            self.set(seq, seg.window);
        }
    }

    /// The window at the start of the connection.
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
