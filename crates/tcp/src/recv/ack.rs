//! The time of acknowledgments (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

#[derive(Clone, Debug, Default)]
pub(crate) struct AckPolicy {
    /// Segments in order since the last acknowledgment; [`DUE`] if an ACK must be sent now.
    unacked: u8,
    /// Duplicate ACKs owed: one for each segment beyond a gap.
    duplicates: u8,
    /// Number of segments in order that remain to be acknowledged individually.
    quick: u8,
}

const DUE: u8 = u8::MAX;

/// Number of segments after a sign of loss that are acknowledged individually. A peer in recovery
/// has few segments outstanding, and ACKs are lost as well. More of these ACKs would collide with
/// the data over several hops: with 32, one-frame segments over three hops lose 6 % of goodput.
const QUICK: u8 = 16;

/// Maximum of owed duplicates: fast retransmit needs three after a new ACK; more have no effect.
const MOST_DUPLICATES: u8 = 4;

impl AckPolicy {
    /// Counts a segment with text in order. `every` is the number of segments that share an
    /// acknowledgment. Returns whether the ACK may be delayed. Segments count regardless of their
    /// size, which RFC 5681 §4.2 recommends: the peer's full-sized segments may be smaller than
    /// ours.
    pub(crate) fn on_in_order(&mut self, every: u8) -> bool {
        // An ACK that is due remains due, because `DUE` is the maximum.
        let unacked = self.unacked.saturating_add(1);
        let may_wait = unacked < every && self.quick == 0;
        self.unacked = if may_wait { unacked } else { DUE };
        self.quick = self.quick.saturating_sub(1);
        may_wait
    }

    /// Makes a duplicate ACK due for a segment that arrived beyond a gap. RFC 5681 §4.2: each
    /// out-of-order segment is acknowledged at once. If `with_sack`, a delayed acknowledgment that
    /// still waits goes together with the duplicate, because a sender with SACK counts the blocks
    /// (RFC 6675 §2). Without SACK, the delayed acknowledgment goes first, because an ACK that
    /// advances is not counted as a duplicate (RFC 5681 §2).
    pub(crate) fn on_out_of_order(&mut self, with_sack: bool) {
        self.quick = QUICK;
        let waiting = u8::from(self.unacked > 0 && !with_sack);
        self.unacked = 0;
        let owed = self.duplicates.wrapping_add(waiting).wrapping_add(1);
        self.duplicates = owed.min(MOST_DUPLICATES);
    }

    /// Makes an ACK due after a segment filled all or part of a gap (RFC 5681 §4.2: at once).
    pub(crate) fn on_gap_filled(&mut self) {
        self.duplicates = 0;
        self.on_duplicate();
    }

    /// Makes an ACK due after a segment arrived again, because its acknowledgment was lost or late.
    /// RFC 5681 §4.2: "MUST NOT generate more than one ACK for every incoming segment".
    /// If that ACK is lost, the peer's timeout elicits another.
    pub(crate) fn on_duplicate(&mut self) {
        self.unacked = DUE;
        self.quick = QUICK;
    }

    /// Makes an ACK due, for example after a FIN or when the delay has passed.
    pub(crate) fn require(&mut self) {
        self.unacked = DUE;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.unacked == DUE
    }

    pub(crate) fn owes_duplicate(&self) -> bool {
        self.duplicates > 0
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.unacked > 0
    }

    /// Records that we sent a segment with an ACK; `pure` if it has neither text nor control bits.
    /// Only such a segment can be a duplicate ACK (RFC 5681 §2).
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
    fn after_a_sign_of_loss_each_of_16_segments_is_acknowledged() {
        let signs: [fn(&mut AckPolicy); 3] =
            [AckPolicy::on_duplicate, AckPolicy::on_gap_filled, |acks| {
                acks.on_out_of_order(true)
            }];
        for sign in signs {
            let mut acks = AckPolicy::default();
            sign(&mut acks);
            for n in 0..16 {
                acks.on_sent(true);
                assert!(!acks.on_in_order(2) && acks.is_due(), "{n}");
            }
            acks.on_sent(true);
            assert!(acks.on_in_order(2) && !acks.is_due());
        }
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
