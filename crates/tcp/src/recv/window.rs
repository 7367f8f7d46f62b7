//! The receive sequence variables (RFC 9293 §3.3.1), the test of acceptable segments, and the
//! announced window.

use crate::SeqNum;

/// The RCV variables of RFC 9293 §3.3.1.
#[derive(Clone, Debug)]
pub(crate) struct RecvWindow {
    /// RCV.NXT: the next sequence number expected.
    pub(crate) nxt: SeqNum,
    /// RCV.NXT + RCV.WND as last announced. It never decreases (RFC 9293 §3.8.6, SHLD-14).
    edge: SeqNum,
}

impl RecvWindow {
    /// Creates the state before the peer's SYN.
    pub(crate) const fn unknown() -> Self {
        RecvWindow {
            nxt: SeqNum(0),
            edge: SeqNum(0),
        }
    }

    /// Sets the variables from the sequence number `irs` of the peer's SYN and `room` free bytes.
    pub(crate) fn synchronize(&mut self, irs: SeqNum, room: u32) {
        self.nxt = irs + 1;
        self.edge = self.nxt + room.min(u32::from(u16::MAX));
    }

    pub(crate) fn restore(&mut self, nxt: SeqNum, edge: SeqNum) {
        (self.nxt, self.edge) = (nxt, edge);
    }

    pub(crate) fn wnd(&self) -> u32 {
        self.edge.since(self.nxt)
    }

    /// Returns the sequence number after the last acceptable one.
    pub(crate) fn edge(&self) -> SeqNum {
        self.edge
    }

    /// Performs the acceptability test of RFC 9293 §3.10.7.4, table 6. The text below the table and
    /// appendix A.2 accept two more kinds of segments, so that their ACKs are processed:
    ///
    /// - An empty segment exactly at the right edge is accepted: its sender has used up the window.
    /// - A segment exactly at RCV.NXT is accepted although the window is closed: it is a window
    ///   probe, whose text is cut off.
    pub(crate) fn accepts(&self, seq: SeqNum, len: u32) -> bool {
        let (at, wnd) = (seq.since(self.nxt), self.wnd());
        if len == 0 {
            at <= wnd
        } else {
            let last = at.wrapping_add(len).wrapping_sub(1);
            at == 0 || at < wnd || last < wnd
        }
    }

    pub(crate) fn contains(&self, seq: SeqNum) -> bool {
        seq.since(self.nxt) < self.wnd()
    }

    pub(crate) fn advance(&mut self, nxt: SeqNum) {
        self.nxt = nxt;
        // `nxt` may pass the edge by 1 after a FIN: see `Connection::process_fin`.
        self.edge = self.edge.max(nxt);
    }

    /// Returns how far the right edge could advance if `room` bytes are free.
    fn growth(&self, room: u32) -> u32 {
        (self.nxt + room.min(u32::from(u16::MAX))) - self.edge
    }

    /// Returns the window for a segment to be sent now. RFC 9293 §3.8.6.2.2: the edge stays until
    /// it can advance by `min(RCV.BUFF / 2, Eff.snd.MSS)`.
    pub(crate) fn announce(&mut self, room: u32, capacity: u32, mss: u32) -> u16 {
        let growth = self.growth(room);
        if growth > 0 && growth >= mss.min(capacity / 2) {
            self.edge += growth;
        }
        u16::try_from(self.wnd()).unwrap_or(u16::MAX)
    }

    /// Returns whether to announce free space at once: if the window can grow by two segments or by
    /// half the buffer. If the window is smaller than both one segment and half the buffer, growth
    /// by the smaller of these two suffices.
    pub(crate) fn wants_update(&self, room: u32, capacity: u32, mss: u32) -> bool {
        let growth = self.growth(room);
        let least = mss.min(capacity / 2).max(1);
        if self.wnd() < least {
            growth >= least
        } else {
            growth >= mss.wrapping_mul(2).min(capacity / 2).max(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(nxt: u32, wnd: u32) -> RecvWindow {
        RecvWindow {
            nxt: SeqNum(nxt),
            edge: SeqNum(nxt) + wnd,
        }
    }

    /// RFC 9293 §3.10.7.4, table 6, and the two additional cases.
    #[test]
    fn segments_are_acceptable_by_table_6() {
        let open = window(u32::MAX - 1, 10);
        let at = |offset: u32| SeqNum(u32::MAX - 1) + offset;
        assert!(open.accepts(at(0), 0) && open.accepts(at(9), 0));
        assert!(open.accepts(at(10), 0), "at the edge, empty");
        assert!(!open.accepts(at(11), 0) && !open.accepts(at(0) - 1, 0));
        assert!(
            open.accepts(at(0) - 3, 4),
            "the last octet is in the window"
        );
        assert!(!open.accepts(at(0) - 3, 3), "just before the window");
        assert!(open.accepts(at(9), 100));
        assert!(!open.accepts(at(10), 1));
        let closed = window(5, 0);
        assert!(closed.accepts(SeqNum(5), 0));
        assert!(closed.accepts(SeqNum(5), 1), "a window probe");
        assert!(!closed.accepts(SeqNum(6), 0) && !closed.accepts(SeqNum(4), 0));
        assert!(!closed.accepts(SeqNum(4), 1) && !closed.accepts(SeqNum(6), 1));
    }

    #[test]
    fn the_edge_moves_in_steps_and_never_back() {
        // A buffer of 1848 bytes, and segments of 462 bytes.
        let mut rcv = window(0, 1848);
        rcv.advance(SeqNum(462));
        assert_eq!(
            rcv.announce(1848 - 462, 1848, 462),
            1386,
            "nothing read yet"
        );
        assert_eq!(
            rcv.announce(1848 - 462 + 461, 1848, 462),
            1386,
            "one byte too little"
        );
        assert_eq!(rcv.announce(1848, 1848, 462), 1848);
        assert_eq!(rcv.announce(0, 1848, 462), 1848, "no shrinking");
    }

    #[test]
    fn updates_come_for_two_segments_or_a_reopened_window() {
        let rcv = window(0, 924);
        assert!(!rcv.wants_update(924 + 923, 1848, 462));
        assert!(rcv.wants_update(924 + 924, 1848, 462));
        let closed = window(0, 0);
        assert!(!closed.wants_update(461, 1848, 462));
        assert!(closed.wants_update(462, 1848, 462));
    }
}
