//! Which recovery is under way, if any (RFC 5681 §3.2, RFC 6582, RFC 6675 §5).
//!
//! This half decides; `congestion` moves the window, the scoreboard knows the
//! data.

use super::frto::{Answer, Frto};
use crate::SeqNum;
use crate::send::Tick;

/// RFC 5681 §3.2: duplicate ACKs that stand for a loss.
pub(crate) const DUP_THRESH: u8 = 3;

/// How a loss became known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// The retransmission timer ran out.
    Timeout,
    /// Acknowledgments: duplicate, partial, selective.
    Fast,
    /// The link gave up.
    Link,
    /// The path refused the size.
    PathMtu,
}

/// What the connection is recovering from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Nothing.
    Open,
    /// Losses that acknowledgments or the link told of: fast recovery.
    Fast,
    /// A retransmission timeout.
    Timeout,
}

/// The recovery under way.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    mode: Mode,
    /// RFC 6582's `recover` plus one, RFC 6675's RecoveryPoint: what was sent
    /// before this has caused one reduction already and causes no other.
    recover: SeqNum,
    /// When it began.
    began: Tick,
    /// Without SACK: duplicate ACKs that no acknowledgment has explained yet.
    dup_acks: u8,
    /// Why the latest losses are believed in.
    loss: Loss,
    /// The next retransmission leaves even if cwnd is full: it is the first one
    /// (RFC 5681 §3.2, step 3; RFC 6298 §5.4; RFC 9937 §6.2).
    urgent: bool,
    /// Whether the timeout is being found out about.
    frto: Frto,
    /// A timeout was too early, and no round trip was measured since. (What
    /// timestamps find out is mostly that acknowledgments were lost.)
    hasty: bool,
}

impl Episode {
    /// RFC 6582 §3.2, step 1.
    pub(crate) fn new(iss: SeqNum) -> Self {
        Episode {
            mode: Mode::Open,
            recover: iss,
            began: Tick::default(),
            dup_acks: 0,
            loss: Loss::Timeout,
            urgent: false,
            frto: Frto::Off,
            hasty: false,
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    pub(crate) fn began(&self) -> Tick {
        self.began
    }

    pub(crate) fn loss(&self) -> Loss {
        self.loss
    }

    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Something is to be sent again.
    pub(crate) fn on_loss(&mut self, loss: Loss) {
        self.loss = loss;
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
    /// lost; everything before `nxt` belongs to it.
    pub(crate) fn begin(&mut self, nxt: SeqNum, now: Tick) {
        self.mode = Mode::Fast;
        self.recover = nxt;
        self.began = now;
        self.urgent = true;
    }

    /// The retransmission timer ran out (RFC 6582 §3.2, step 4).
    ///
    /// `doubt` if RFC 5682 shall find out whether it was too early.
    pub(crate) fn on_timeout(&mut self, nxt: SeqNum, now: Tick, doubt: bool) {
        let was_open = self.is_open();
        self.frto.on_timeout(doubt && was_open);
        self.begin(nxt, now);
        self.mode = Mode::Timeout;
        self.dup_acks = 0;
    }

    /// Whether new data goes before what is believed lost (RFC 5682 §2.1, step
    /// 2b); `Some(true)` once some of it did.
    pub(crate) fn tries_new_data(&self, nxt: SeqNum) -> Option<bool> {
        self.frto.wants_new_data().then_some(nxt > self.recover)
    }

    /// Whether RFC 5682 waits for an acknowledgment.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.frto != Frto::Off
    }

    /// What was out at the timeout lies before this.
    pub(crate) fn recover(&self) -> SeqNum {
        self.recover
    }

    /// An acknowledgment arrived. Returns whether the timeout was spurious.
    pub(crate) fn judge(&mut self, ack: Answer) -> bool {
        let is_spurious = self.frto.on_ack(ack);
        self.hasty |= is_spurious;
        is_spurious
    }

    /// Whether a timeout was spurious and no round trip was measured since.
    pub(crate) fn is_hasty(&self) -> bool {
        self.hasty
    }

    /// A round-trip time was measured.
    pub(crate) fn on_measurement(&mut self) {
        self.hasty = false;
    }

    /// The loss of a retransmission counts once for each of these.
    pub(crate) fn begin_again(&mut self, now: Tick) {
        self.began = now;
    }

    /// Recovery is over, or there was nothing to recover from.
    pub(crate) fn cancel(&mut self, una: SeqNum) {
        self.mode = Mode::Open;
        self.frto = Frto::Off;
        self.recover = self.recover.min(una);
        self.dup_acks = 0;
        self.urgent = false;
    }

    /// SND.UNA is now `una`. Returns whether a recovery ended.
    pub(crate) fn on_advance(&mut self, una: SeqNum) -> bool {
        let ended = self.mode != Mode::Open && una >= self.recover;
        if ended {
            self.mode = Mode::Open;
            self.dup_acks = 0;
        } else if self.mode == Mode::Open {
            self.dup_acks = 0;
            // RFC 6582 §6: keep `recover` from falling so far behind that the
            // order wraps.
            if una > self.recover {
                self.recover = una - 1;
            }
        }
        ended
    }

    /// Without SACK, a duplicate ACK (RFC 5681 §2). Returns whether it is the
    /// one that stands for a loss at `una` (RFC 6582 §3.2, step 2).
    pub(crate) fn on_dup_ack(&mut self, una: SeqNum) -> bool {
        self.dup_acks = self.dup_acks.saturating_add(1);
        self.mode == Mode::Open && self.dup_acks >= DUP_THRESH && una > self.recover
    }

    /// Without SACK: what duplicate ACKs say has arrived beyond the gap.
    pub(crate) fn dup_acked(&self, mss: u32) -> u32 {
        u32::from(self.dup_acks).saturating_mul(mss)
    }

    /// Without SACK, in recovery: `bytes` were acknowledged. All but the first
    /// segment had caused duplicate ACKs, if any did. Returns how many bytes
    /// these had told of.
    pub(crate) fn explain_dup_acks(&mut self, bytes: u32, mss: u32) -> u32 {
        let told = self.dup_acked(mss).min(bytes.saturating_sub(mss));
        let count = told.checked_div(mss).unwrap_or(0);
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
        let mut episode = Episode::new(SeqNum(0));
        let dups = [(); 3].map(|()| episode.on_dup_ack(SeqNum(1)));
        assert_eq!(dups, [false, false, true]);
        episode.begin(SeqNum(100), NOW);
        assert!(!episode.on_dup_ack(SeqNum(1)));
        assert!(!episode.on_advance(SeqNum(50)));
        assert!(episode.on_advance(SeqNum(100)));
        assert!(!episode.on_advance(SeqNum(120)));
    }

    #[test]
    fn duplicates_of_what_was_resent_after_a_timeout_are_not_a_new_loss() {
        let mut episode = Episode::new(SeqNum(0));
        episode.on_timeout(SeqNum(100), NOW, false);
        assert!(episode.on_advance(SeqNum(100)));
        assert!(!(0..9).any(|_| episode.on_dup_ack(SeqNum(100))));
        episode.on_advance(SeqNum(101));
        let dups = [(); 3].map(|()| episode.on_dup_ack(SeqNum(101)));
        assert_eq!(dups, [false, false, true]);
    }

    #[test]
    fn losses_of_one_flight_count_once() {
        let mut episode = Episode::new(SeqNum(0));
        assert!(episode.is_open());
        episode.begin(SeqNum(50), NOW);
        episode.on_advance(SeqNum(49));
        assert!(!episode.is_open());
        episode.on_advance(SeqNum(50));
        assert!(episode.is_open());
    }

    /// RFC 6582 §6: `recover` must not fall half the sequence space behind.
    #[test]
    fn gigabytes_later_a_loss_is_still_news() {
        let mut episode = Episode::new(SeqNum(0));
        let mut una = SeqNum(1);
        for _ in 0..10 {
            una += 1 << 29;
            episode.on_advance(una);
        }
        let dups = [(); 3].map(|()| episode.on_dup_ack(una));
        assert!(dups[2]);
    }

    #[test]
    fn acknowledgments_explain_duplicates() {
        let mut episode = Episode::new(SeqNum(0));
        for _ in 0..4 {
            episode.on_dup_ack(SeqNum(1));
        }
        assert_eq!(episode.explain_dup_acks(300, 100), 200);
        assert_eq!(episode.dup_acked(100), 200);
        assert_eq!(episode.explain_dup_acks(1000, 100), 200);
        assert_eq!(episode.dup_acked(100), 0);
    }
}
