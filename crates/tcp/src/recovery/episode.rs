//! Which recovery is under way, if any (RFC 5681 §3.2, RFC 6582, RFC 6675 §5).
//!
//! This half decides; `congestion` moves the window, the scoreboard knows the
//! data.

use redpoll_base::divide;

use super::frto::{Evidence, Frto};
use crate::ahead::Ahead;
use crate::send::Tick;

/// RFC 5681 §3.2: duplicate ACKs that stand for a loss.
pub(crate) const DUP_THRESH: u8 = 3;

/// How a loss became known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Loss {
    /// The retransmission timer ran out.
    #[default]
    Timeout,
    /// Acknowledgments: duplicate, partial, selective.
    Fast,
    /// The link gave up.
    Link,
    /// The path refused the size.
    PathMtu,
}

/// What the connection is recovering from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Mode {
    /// Nothing.
    #[default]
    Open,
    /// Losses that acknowledgments or the link told of: fast recovery.
    Fast,
    /// A retransmission timeout.
    Timeout,
}

/// SND.UNA has come to the end of what was out, and not beyond.
const AT_RECOVER: Ahead = Ahead::NEXT;

/// The recovery under way.
#[derive(Clone, Default, Debug)]
pub(crate) struct Episode {
    /// One past RFC 6675's RecoveryPoint: what was sent before that has caused
    /// one reduction already and causes no other. Once SND.UNA has come here,
    /// it "covers more than `recover`" (RFC 6582 §3.2, step 2).
    beyond: Ahead,
    /// When it began.
    began: Tick,
    mode: Mode,
    /// Without SACK: duplicate ACKs that no acknowledgment has explained yet.
    dup_acks: u8,
    /// The next retransmission leaves even if cwnd is full: it is the first one
    /// (RFC 5681 §3.2, step 3; RFC 6298 §5.4; RFC 9937 §6.2).
    urgent: bool,
    /// Whether the timeout is being found out about.
    frto: Frto,
}

impl Episode {
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    pub(crate) fn began(&self) -> Tick {
        self.began
    }

    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// A retransmission left. F-RTO (RFC 5682) allows for the first only.
    pub(crate) fn on_retransmitted(&mut self) {
        if !self.urgent {
            self.frto = Frto::Off;
        }
        self.urgent = false;
    }

    /// A retransmission did not leave after all.
    pub(crate) fn on_not_retransmitted(&mut self) {
        self.urgent = true;
    }

    /// Fast recovery begins, or begins again because a retransmission was
    /// lost; the `flight` bytes that are out belong to it.
    pub(crate) fn begin(&mut self, flight: u32, now: Tick) {
        self.mode = Mode::Fast;
        self.beyond = Ahead::by(flight.wrapping_add(1));
        self.began = now;
        self.urgent = true;
    }

    /// The retransmission timer ran out (RFC 6582 §3.2, step 4).
    ///
    /// `doubt` if RFC 5682 shall find out whether it was too early.
    pub(crate) fn on_timeout(&mut self, flight: u32, now: Tick, doubt: bool) {
        let was_open = self.is_open();
        self.frto.on_timeout(doubt && was_open);
        self.begin(flight, now);
        self.mode = Mode::Timeout;
        self.dup_acks = 0;
    }

    /// Whether new data goes before what is believed lost (RFC 5682 §2.1, step
    /// 2b); `Some(true)` once some of it did.
    pub(crate) fn tries_new_data(&self, flight: u32) -> Option<bool> {
        let some_went = flight >= self.beyond.bytes();
        self.frto.wants_new_data().then_some(some_went)
    }

    /// Whether RFC 5682 waits for an acknowledgment.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.frto.is_on()
    }

    /// Whether SND.UNA has yet to come to the end of what was out.
    pub(crate) fn is_partial(&self) -> bool {
        self.beyond > AT_RECOVER
    }

    /// Whether all that was out lies before `end`, and something else does.
    pub(crate) fn is_beyond(&self, end: Ahead) -> bool {
        end >= self.beyond
    }

    /// An acknowledgment arrived. Returns whether the timeout was spurious.
    pub(crate) fn judge(&mut self, ack: Evidence) -> bool {
        self.frto.on_ack(ack)
    }

    /// The loss of a retransmission counts once for each of these.
    pub(crate) fn begin_again(&mut self, now: Tick) {
        self.began = now;
    }

    /// Recovery is over, or there was nothing to recover from.
    pub(crate) fn cancel(&mut self) {
        *self = Episode {
            beyond: self.beyond.min(AT_RECOVER),
            began: self.began,
            ..Episode::default()
        };
    }

    /// SND.UNA advanced by `bytes`. Returns whether a recovery ended.
    ///
    /// RFC 6582 §6: `recover` does not fall so far behind that the order wraps,
    /// for nothing is kept of it once it was passed.
    pub(crate) fn on_advance(&mut self, bytes: u32) -> bool {
        self.beyond.on_advance(bytes);
        let ended = !self.is_open() && !self.is_partial();
        if ended {
            self.mode = Mode::Open;
        }
        if self.is_open() {
            self.dup_acks = 0;
        }
        ended
    }

    /// Without SACK, a duplicate ACK (RFC 5681 §2). Returns whether it is the
    /// one that stands for a loss at SND.UNA (RFC 6582 §3.2, step 2).
    pub(crate) fn on_dup_ack(&mut self) -> bool {
        self.dup_acks = self.dup_acks.saturating_add(1);
        self.is_open() && self.dup_acks >= DUP_THRESH && self.beyond == Ahead::UNA
    }

    /// Without SACK: what duplicate ACKs say has arrived beyond the gap.
    pub(crate) fn dup_acked(&self, mss: u32) -> u32 {
        u32::from(self.dup_acks).wrapping_mul(mss)
    }

    /// Without SACK, in recovery: `bytes` were acknowledged. All but the first
    /// segment had caused duplicate ACKs, if any did. Returns how many bytes
    /// these had told of.
    pub(crate) fn explain_dup_acks(&mut self, bytes: u32, mss: u32) -> u32 {
        let told = self.dup_acked(mss).min(bytes.saturating_sub(mss));
        let count = divide(told, mss);
        self.dup_acks = self
            .dup_acks
            .saturating_sub(u8::try_from(count).unwrap_or(u8::MAX));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Tick = Tick::EPOCH;

    #[test]
    fn the_third_duplicate_enters_and_a_full_ack_leaves() {
        let mut episode = Episode::default();
        let dups = [(); 3].map(|()| episode.on_dup_ack());
        assert_eq!(dups, [false, false, true]);
        episode.begin(100, NOW);
        assert!(!episode.on_dup_ack());
        assert!(!episode.on_advance(99));
        assert!(episode.on_advance(1));
        assert!(!episode.on_advance(20));
    }

    #[test]
    fn duplicates_of_what_was_resent_after_a_timeout_are_not_a_new_loss() {
        let mut episode = Episode::default();
        episode.on_timeout(100, NOW, false);
        assert!(episode.on_advance(100));
        assert!(!(0..9).any(|_| episode.on_dup_ack()));
        episode.on_advance(1);
        let dups = [(); 3].map(|()| episode.on_dup_ack());
        assert_eq!(dups, [false, false, true]);
    }

    #[test]
    fn losses_of_one_flight_count_once() {
        let mut episode = Episode::default();
        assert!(episode.is_open());
        episode.begin(50, NOW);
        episode.on_advance(49);
        assert!(!episode.is_open());
        episode.on_advance(1);
        assert!(episode.is_open());
    }

    /// RFC 6582 §6: `recover` must not fall half the sequence space behind.
    #[test]
    fn gigabytes_later_a_loss_is_still_news() {
        let mut episode = Episode::default();
        for _ in 0..10 {
            episode.on_advance(1 << 29);
        }
        let dups = [(); 3].map(|()| episode.on_dup_ack());
        assert!(dups[2]);
    }

    #[test]
    fn acknowledgments_explain_duplicates() {
        let mut episode = Episode::default();
        for _ in 0..4 {
            episode.on_dup_ack();
        }
        assert_eq!(episode.explain_dup_acks(300, 100), 200);
        assert_eq!(episode.dup_acked(100), 200);
        assert_eq!(episode.explain_dup_acks(1000, 100), 200);
        assert_eq!(episode.dup_acked(100), 0);
    }
}
