//! When to acknowledge (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

/// What acknowledgments are owed.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckPolicy {
    /// Segments in order since the last acknowledgment; [`DUE`] if one is due now.
    unacked: u8,
    /// Duplicate ACKs owed: one for each segment beyond a gap.
    duplicates: u8,
    /// Segments in order that are yet to be acknowledged one by one.
    quick: u8,
}

const DUE: u8 = u8::MAX;

/// How many segments after a sign of loss are acknowledged one by one: while
/// the peer repairs it has few segments out, and acknowledgments get lost too.
const QUICK: u8 = 16;

/// Fast retransmit needs three duplicate ACKs behind one that is new; more say
/// nothing.
const MOST_DUPLICATES: u8 = 4;

impl AckPolicy {
    /// A segment with text arrived in order. `every` is how many of them may
    /// share an acknowledgment. Returns whether the ACK may wait.
    ///
    /// Segments are counted whatever their size, as RFC 5681 §4.2 thinks
    /// desirable: the peer's idea of full-sized may be smaller than ours.
    pub(crate) fn on_in_order(&mut self, every: u8) -> bool {
        // One that is due stays so: nothing is above that.
        let unacked = self.unacked.saturating_add(1);
        let may_wait = unacked < every && self.quick == 0;
        self.unacked = if may_wait { unacked } else { DUE };
        self.quick = self.quick.saturating_sub(1);
        may_wait
    }

    /// Owes a duplicate ACK for a segment that arrived beyond a gap.
    ///
    /// RFC 5681 §4.2: each such segment is acknowledged at once. A delayed
    /// acknowledgment that still waits goes together with the duplicate if
    /// `with_sack`: a sender with SACK counts the blocks (RFC 6675 §2). Without
    /// SACK the delayed acknowledgment goes first, because an ACK that advances
    /// is not counted as a duplicate (RFC 5681 §2).
    pub(crate) fn on_out_of_order(&mut self, with_sack: bool) {
        self.quick = QUICK;
        let waiting = u8::from(self.unacked > 0 && !with_sack);
        self.unacked = 0;
        let owed = self.duplicates.wrapping_add(waiting).wrapping_add(1);
        self.duplicates = owed.min(MOST_DUPLICATES);
    }

    /// A segment filled a gap or a part of it. RFC 5681 §4.2: answered at once.
    pub(crate) fn on_gap_filled(&mut self) {
        self.duplicates = 0;
        self.on_duplicate();
    }

    /// A segment arrived again: its acknowledgment was lost or late.
    ///
    /// RFC 5681 §4.2: "MUST NOT generate more than one ACK for every incoming
    /// full-sized segment". If that ACK is lost, the peer's timeout asks for it.
    pub(crate) fn on_duplicate(&mut self) {
        self.unacked = DUE;
        self.quick = QUICK;
    }

    /// An ACK is due for another reason.
    pub(crate) fn require(&mut self) {
        self.unacked = DUE;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.unacked == DUE
    }

    pub(crate) fn owes_duplicate(&self) -> bool {
        self.duplicates > 0
    }

    /// Whether an acknowledgment waits, or is due.
    pub(crate) fn is_waiting(&self) -> bool {
        self.unacked > 0
    }

    /// A segment with an acknowledgment leaves; `pure` if it has neither text
    /// nor control. Only such a segment can be a duplicate ACK (RFC 5681 §2).
    pub(crate) fn on_sent(&mut self, pure: bool) {
        self.unacked = 0;
        if pure {
            self.duplicates = self.duplicates.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut acks = AckPolicy::default();
        assert!(acks.on_in_order(2) && acks.is_waiting() && !acks.is_due());
        assert!(!acks.on_in_order(2) && acks.is_due());
        acks.on_sent(true);
        assert!(!acks.is_due() && !acks.is_waiting());
    }

    #[test]
    fn each_segment_beyond_a_gap_has_its_own_duplicate() {
        let mut acks = AckPolicy::default();
        acks.on_out_of_order(false);
        acks.on_out_of_order(false);
        acks.on_sent(false);
        assert!(
            acks.owes_duplicate(),
            "data does not count as a duplicate ACK"
        );
        acks.on_sent(true);
        acks.on_sent(true);
        assert!(!acks.owes_duplicate());
        acks.on_in_order(2);
        acks.on_out_of_order(false);
        acks.on_sent(true);
        assert!(
            acks.owes_duplicate(),
            "the first was the delayed acknowledgment"
        );
        acks.on_gap_filled();
        assert!(!acks.owes_duplicate() && acks.is_due());
    }
    #[test]
    fn with_sack_a_delayed_acknowledgment_and_a_duplicate_are_one() {
        let mut acks = AckPolicy::default();
        acks.on_in_order(2);
        acks.on_out_of_order(true);
        assert!(acks.owes_duplicate() && !acks.is_waiting() && !acks.is_due());
        acks.on_sent(true);
        assert!(!acks.owes_duplicate() && !acks.is_due());
    }
}
