//! Fast retransmit and fast recovery, NewReno (RFC 5681 §3.2, RFC 6582).
//!
//! This half decides; `congestion` moves the window, `Resend` the data.

use crate::SeqNum;

/// RFC 5681 §3.2: duplicate ACKs that stand for a loss.
const THRESHOLD: u8 = 3;

/// What a duplicate ACK means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DupAck {
    /// Not enough of them yet, or they tell nothing new.
    Wait,
    /// A segment is lost: fast retransmit.
    Enter,
    /// In recovery: one more segment has left the network.
    Inflate,
}

/// What an acknowledgment of new data means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NewAck {
    /// Not in recovery.
    Normal,
    /// In recovery, and the next segment is lost too.
    Partial,
    /// Recovery is over.
    Full,
}

/// RFC 6582's state.
#[derive(Clone, Debug)]
pub(crate) struct FastRecovery {
    /// RFC 6582's `recover`, plus one: what was sent before this has caused
    /// one reduction already and causes no other.
    recover: SeqNum,
    /// What was sent again in this recovery ends here.
    resent: SeqNum,
    dup_acks: u8,
    active: bool,
}

impl FastRecovery {
    /// RFC 6582 §3.2, step 1.
    pub(crate) fn new(iss: SeqNum) -> Self {
        FastRecovery {
            recover: iss,
            resent: iss,
            dup_acks: 0,
            active: false,
        }
    }

    /// Segments that limited transmit may add to cwnd (RFC 3042).
    pub(crate) fn limited_transmit(&self) -> u32 {
        if self.active {
            0
        } else {
            u32::from(self.dup_acks.min(2))
        }
    }

    /// A duplicate ACK (RFC 5681 §2) arrived; `flight_segments` are out.
    pub(crate) fn on_dup_ack(&mut self, una: SeqNum, nxt: SeqNum, flight_segments: u32) -> DupAck {
        self.dup_acks = self.dup_acks.saturating_add(1);
        if self.active {
            // RFC 5681 §3.2, step 4: inflation may stop at the number of
            // outstanding segments, against forged duplicates.
            if u32::from(self.dup_acks) <= flight_segments {
                DupAck::Inflate
            } else {
                DupAck::Wait
            }
        } else if self.dup_acks >= THRESHOLD && self.covers(una) {
            // RFC 6582 §3.2, step 2.
            self.enter(una, nxt);
            DupAck::Enter
        } else {
            DupAck::Wait
        }
    }

    fn enter(&mut self, una: SeqNum, nxt: SeqNum) {
        self.recover = nxt;
        self.resent = una;
        self.active = true;
    }

    /// Whether a loss at `una` would be news (RFC 6582 §3.2, step 2).
    fn covers(&self, una: SeqNum) -> bool {
        una > self.recover
    }

    /// SND.UNA is now `una`.
    pub(crate) fn on_new_ack(&mut self, una: SeqNum) -> NewAck {
        if !self.active {
            self.dup_acks = 0;
            if una > self.recover {
                // RFC 6582 §6: keep `recover` from falling so far behind that
                // the order wraps.
                self.recover = una - 1;
            }
            return NewAck::Normal;
        }
        // RFC 6582 §3.2, step 3.
        if una < self.recover {
            NewAck::Partial
        } else {
            self.active = false;
            self.dup_acks = 0;
            NewAck::Full
        }
    }

    /// The retransmission timer ran out (RFC 6582 §3.2, step 4).
    pub(crate) fn on_timeout(&mut self, nxt: SeqNum) {
        *self = FastRecovery {
            recover: nxt,
            ..FastRecovery::new(nxt)
        };
    }

    /// Everything before `end` was sent at least once more.
    pub(crate) fn on_resent(&mut self, end: SeqNum) {
        if self.active {
            self.resent = self.resent.max(end);
        }
    }

    /// Whether the segment at `una`, missing at the peer, was not sent again
    /// in this recovery yet. Without the link's word this is always so when a
    /// partial acknowledgment arrives.
    pub(crate) fn is_unrepaired(&self, una: SeqNum) -> bool {
        self.resent <= una
    }

    /// The link gave up a segment: as good as three duplicate ACKs. Returns
    /// whether this is the first loss known among what is out, so that
    /// recovery begins and the window is reduced.
    pub(crate) fn on_link_loss(&mut self, una: SeqNum, nxt: SeqNum) -> bool {
        let news = !self.active && self.covers(una);
        if news {
            self.enter(una, nxt);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_duplicate_enters_and_a_full_ack_leaves() {
        let mut fast = FastRecovery::new(SeqNum(0));
        let mut dup = || fast.on_dup_ack(SeqNum(1), SeqNum(100), 10);
        assert_eq!(
            [dup(), dup(), dup(), dup()],
            [DupAck::Wait, DupAck::Wait, DupAck::Enter, DupAck::Inflate]
        );
        assert_eq!(fast.on_new_ack(SeqNum(50)), NewAck::Partial);
        assert_eq!(fast.on_new_ack(SeqNum(100)), NewAck::Full);
        assert_eq!(fast.on_new_ack(SeqNum(120)), NewAck::Normal);
    }

    #[test]
    fn duplicates_of_what_was_resent_after_a_timeout_are_not_a_new_loss() {
        let mut fast = FastRecovery::new(SeqNum(0));
        fast.on_timeout(SeqNum(100));
        for _ in 0..9 {
            assert_eq!(fast.on_dup_ack(SeqNum(100), SeqNum(100), 4), DupAck::Wait);
        }
        fast.on_new_ack(SeqNum(101));
        assert_eq!(fast.limited_transmit(), 0);
        let dups = [(); 3].map(|()| fast.on_dup_ack(SeqNum(101), SeqNum(200), 4));
        assert_eq!(dups[2], DupAck::Enter);
    }

    /// RFC 6582 §6: `recover` must not fall half the sequence space behind.
    #[test]
    fn gigabytes_later_a_loss_is_still_news() {
        let mut fast = FastRecovery::new(SeqNum(0));
        let mut una = SeqNum(1);
        for _ in 0..10 {
            una += 1 << 29;
            fast.on_new_ack(una);
        }
        let dups = [(); 3].map(|()| fast.on_dup_ack(una, una + 100, 4));
        assert_eq!(dups[2], DupAck::Enter);
    }

    #[test]
    fn inflation_stops_at_what_is_out() {
        let mut fast = FastRecovery::new(SeqNum(0));
        let inflated = (0..20)
            .filter(|_| fast.on_dup_ack(SeqNum(1), SeqNum(100), 5) == DupAck::Inflate)
            .count();
        assert_eq!(inflated, 2);
    }

    #[test]
    fn link_losses_of_one_flight_count_once() {
        let mut fast = FastRecovery::new(SeqNum(0));
        assert!(fast.on_link_loss(SeqNum(1), SeqNum(50)));
        fast.on_resent(SeqNum(20));
        assert!(!fast.on_link_loss(SeqNum(1), SeqNum(60)));
        assert!(!fast.is_unrepaired(SeqNum(10)) && fast.is_unrepaired(SeqNum(20)));
        assert_eq!(fast.on_new_ack(SeqNum(51)), NewAck::Full);
        assert!(fast.on_link_loss(SeqNum(51), SeqNum(80)));
    }
}
