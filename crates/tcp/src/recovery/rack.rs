//! RACK: loss detection by time (RFC 8985 §6).
//!
//! A stretch is a range of data that was sent at one time, as the scoreboard records it. It is lost
//! if a stretch that was sent later has arrived and the reordering window has passed.
//! This detects losses in windows too small for three duplicate ACKs, and lost retransmissions.

use crate::ahead::{Ahead, Span};
use crate::send::{Scoreboard, Stretch, TIMED, Tick};

/// Whether RACK and TLP are compiled in: feature `rack-tlp`.
pub(crate) const ON: bool = TIMED;

/// State of RACK, with the names of RFC 8985 §5.3. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts, while `has_segment`.
    xmit_ts: Tick,
    /// RACK.end_seq.
    end_seq: Ahead,
    /// RACK.fack.
    fack: Ahead,
    /// RACK.rtt.
    rtt: u16,
    /// RACK.min_RTT: the minimum of up to [`WINDOW`] samples, so that it adapts to a path that
    /// became longer. 0 before the first sample.
    min_rtt: u16,
    samples: u8,
    /// RACK.dsack_round; SND.UNA for none.
    dsack_round: Ahead,
    /// Whether a RACK.segment exists.
    has_segment: bool,
    reordering: Reordering,
    leniency: Leniency,
}

/// RACK.reordering_seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reordering {
    Unseen,
    /// The scoreboard had no room for all arrivals: data that arrive below RACK.fack may have been
    /// reported before.
    Untold,
    Seen,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Found {
    pub(crate) bytes: u32,
    /// Whether a lost segment had been retransmitted at `since` of [`Rack::detect`] or later.
    pub(crate) again: bool,
    /// Delay until the next detection, in milliseconds.
    pub(crate) later: Option<u16>,
}

/// Number of samples for RACK.min_RTT.
const WINDOW: u8 = 128;

/// RFC 8985 §6.2, step 4: RACK.reo_wnd_mult minus 1 in the upper three bits, RACK.reo_wnd_persist
/// in the others. Three bits suffice: RACK.reo_wnd is at most SRTT, and 8/4 of min_RTT exceed SRTT
/// unless a queue has doubled it.
#[derive(Clone, Copy, Default, Debug)]
struct Leniency(u8);

impl Leniency {
    /// Number of recoveries for which an enlarged window persists.
    const PERSIST: u8 = 16;

    fn mult(self) -> u16 {
        u16::from(self.0 >> 5).wrapping_add(1)
    }

    fn grow(&mut self) {
        let more = (self.0 >> 5).wrapping_add(1).min(7);
        self.0 = more << 5 | Leniency::PERSIST;
    }

    fn fade(&mut self) {
        self.0 = match self.0 & 31 {
            0 | 1 => 0,
            _ => self.0.wrapping_sub(1),
        };
    }
}

impl Rack {
    /// Creates the state before the first transmission.
    pub(crate) fn new() -> Self {
        Rack {
            xmit_ts: Tick::default(),
            end_seq: Ahead::UNA,
            fack: Ahead::UNA,
            rtt: 0,
            min_rtt: 0,
            samples: 0,
            dsack_round: Ahead::UNA,
            has_segment: false,
            reordering: Reordering::Unseen,
            leniency: Leniency::default(),
        }
    }

    /// Returns RACK.fack: the highest sequence number that has arrived.
    pub(crate) fn fack(&self) -> Ahead {
        self.fack
    }

    pub(crate) fn on_advance(&mut self, bytes: u32) {
        self.fack.on_advance(bytes);
        if self.fack == Ahead::UNA && self.reordering == Reordering::Untold {
            self.reordering = Reordering::Unseen;
        }
        if ON {
            self.end_seq.on_advance(bytes);
            self.dsack_round.on_advance(bytes);
        }
    }

    /// Records a measured round-trip time (step 1).
    pub(crate) fn on_rtt(&mut self, ms: u16) {
        if !ON {
            return;
        }
        if self.samples == 0 || ms < self.min_rtt {
            self.min_rtt = ms;
        }
        self.samples = self.samples.wrapping_add(1) % WINDOW;
    }

    /// Forgets RACK.segment when nothing is in flight or after a timeout. Its transmission time is
    /// too old to compare with those of later segments.
    pub(crate) fn on_break(&mut self) {
        self.has_segment = false;
    }

    /// Processes the arrival of `what` (steps 2 and 3). `fack` is RACK.fack before the current ACK,
    /// so that the order of arrivals within one ACK does not count as reordering. `echo` is the
    /// timestamp that a cumulative ACK echoes. Returns the number of bytes newly known to have
    /// arrived.
    pub(crate) fn on_delivered(
        &mut self,
        board: &mut Scoreboard,
        what: Span,
        fack: Ahead,
        now: Tick,
        echo: Option<Tick>,
    ) -> u32 {
        let mut bytes = 0u32;
        for (at, stretch) in board.walk(what) {
            if !what.covers(at) {
                // The scoreboard could not store this arrival.
                if self.reordering == Reordering::Unseen {
                    self.reordering = Reordering::Untold;
                }
            } else if stretch.arrive() {
                self.on_news(Ahead::by(at.end), stretch, fack, now, echo);
                bytes = bytes.wrapping_add(at.len());
            }
        }
        bytes
    }

    /// Processes the arrival of `stretch`, which ends at `end` and was not known to have arrived.
    #[inline(never)] // size
    fn on_news(
        &mut self,
        end: Ahead,
        stretch: &Stretch,
        fack: Ahead,
        now: Tick,
        echo: Option<Tick>,
    ) {
        self.fack = self.fack.max(end);
        if !ON {
            return;
        }
        let is_late = end < fack && !stretch.was_sent_again();
        if is_late && self.reordering == Reordering::Unseen {
            self.reordering = Reordering::Seen;
        }
        let rtt = now.since(stretch.at());
        if stretch.was_sent_again() {
            // The arrival may be that of an earlier transmission.
            let is_earlier = echo.is_some_and(|echo| stretch.made_at().is_after(echo));
            if is_earlier || rtt.wrapping_add(1) < self.min_rtt {
                return;
            }
        }
        self.rtt = rtt;
        let sent = (stretch.at(), end);
        if !self.has_segment || was_sent_after(sent, (self.xmit_ts, self.end_seq)) {
            self.has_segment = true;
            (self.xmit_ts, self.end_seq) = sent;
        }
    }

    /// Enlarges the window after an ACK reported a duplicate (step 4); `flight` bytes are
    /// outstanding.
    pub(crate) fn on_dsack(&mut self, flight: u32) {
        if !ON || self.dsack_round != Ahead::UNA {
            return;
        }
        self.dsack_round = Ahead::by(flight);
        self.leniency.grow();
    }

    /// Reduces the persistence of an enlarged window after a recovery (step 4).
    pub(crate) fn on_recovered(&mut self) {
        if ON {
            self.leniency.fade();
        }
    }

    /// Returns RACK.reo_wnd (step 4) in milliseconds. It is 0 if no reordering was seen and `eager`
    /// is true: recovery is in progress, or DupThresh segments arrived beyond the gap.
    fn reo_wnd(&self, eager: bool, srtt_ms: u16) -> u16 {
        if eager && self.reordering != Reordering::Seen {
            return 0;
        }
        let quarter = self.min_rtt / 4;
        quarter.saturating_mul(self.leniency.mult()).min(srtt_ms)
    }

    /// Marks lost data (step 5). `is_held` returns whether the link has yet to send a range. A loss
    /// of data that were retransmitted at `since` or later sets [`Found::again`].
    pub(crate) fn detect(
        &self,
        board: &mut Scoreboard,
        now: Tick,
        eager: bool,
        srtt_ms: u16,
        since: Tick,
        is_held: impl Fn(Span) -> bool,
    ) -> Found {
        let mut found = Found::default();
        if !self.has_segment {
            return found;
        }
        let patience = self.rtt.saturating_add(self.reo_wnd(eager, srtt_ms));
        let segment = (self.xmit_ts, self.end_seq);
        for (at, stretch) in board.walk(Span::ALL) {
            let is_older = was_sent_after(segment, (stretch.at(), Ahead::by(at.end)));
            if !stretch.is_in_flight() || !is_older || is_held(at) {
                continue;
            }
            let remaining = patience.saturating_sub(now.since(stretch.at()));
            if remaining > 0 {
                found.later = found.later.max(Some(remaining));
                continue;
            }
            found.again |= stretch.was_sent_again() && !since.is_after(stretch.at());
            found.bytes = found.bytes.wrapping_add(stretch.lose());
        }
        found
    }

    /// Returns whether a stretch, other than the first, is lost after a timeout, because it is
    /// overdue (RFC 8985 §6.3).
    pub(crate) fn is_overdue(&self, stretch: &Stretch, now: Tick) -> bool {
        now.since(stretch.at()) >= self.rtt.saturating_add(self.min_rtt / 4)
    }
}

/// RACK_sent_after: whether the first was sent after the second, by times and then by ends.
fn was_sent_after(first: (Tick, Ahead), second: (Tick, Ahead)) -> bool {
    first.0.is_after(second.0) || (first.0 == second.0 && first.1 > second.1)
}

#[cfg(test)]
#[cfg(feature = "rack-tlp")]
mod tests {
    use super::*;

    const RTT: u64 = 100;

    fn at(ms: u64) -> Tick {
        Tick::of_ms(ms as u32)
    }

    fn span(segment: u32) -> Span {
        Span::new(segment * 100, segment * 100 + 100)
    }

    struct Rig {
        rack: Rack,
        board: Scoreboard,
    }

    impl Rig {
        /// Sends segments of 100 bytes, one every 10 ms.
        fn new(segments: u32) -> Rig {
            let mut rack = Rack::new();
            rack.on_rtt(RTT as u16);
            let mut board = Scoreboard::new();
            for n in 0..segments {
                board.on_made(span(n), at(u64::from(n) * 10));
                board.on_sent(span(n), false, at(u64::from(n) * 10));
            }
            Rig { rack, board }
        }

        fn sack(&mut self, segment: u32, ms: u64) {
            let (rack, now) = (&mut self.rack, at(ms));
            let fack = rack.fack();
            rack.on_delivered(&mut self.board, span(segment), fack, now, None);
        }

        fn detect(&mut self, ms: u64, eager: bool) -> Found {
            let now = at(ms);
            let since = at(0);
            self.rack
                .detect(&mut self.board, now, eager, RTT as u16, since, |_| false)
        }
    }

    #[test]
    fn a_later_segment_that_arrived_makes_an_earlier_one_lost() {
        let mut rig = Rig::new(3);
        rig.sack(2, 120);
        // Segments 1 and 0 left 10 and 20 ms before segment 2; the reordering window is 25 ms.
        let found = rig.detect(120, false);
        assert_eq!((found.bytes, found.later), (0, Some(15)));
        assert_eq!(rig.detect(125, false).bytes, 100);
        let found = rig.detect(135, false);
        assert_eq!((found.bytes, found.later), (100, None));
        assert_eq!(rig.board.lost(), 200);
    }

    #[test]
    fn in_recovery_the_reordering_window_is_zero_without_reordering() {
        let mut rig = Rig::new(3);
        rig.sack(2, 120);
        assert_eq!(rig.detect(120, true).bytes, 200);
        let mut rig = Rig::new(4);
        rig.sack(3, 130);
        rig.sack(1, 131);
        assert_eq!(rig.detect(131, true).bytes, 0);
    }

    #[test]
    fn a_lost_retransmission_is_found() {
        let mut rig = Rig::new(2);
        rig.sack(1, 110);
        assert_eq!(rig.detect(110, true).bytes, 100);
        rig.board.on_made(span(0), at(110));
        rig.board.on_made(span(2), at(115));
        rig.sack(2, 215);
        let found = rig.detect(215, true);
        assert!(found.again);
        assert_eq!(found.bytes, 100);
    }

    #[test]
    fn an_answer_sooner_than_any_round_trip_is_not_the_retransmissions() {
        let mut rig = Rig::new(1);
        rig.board.on_made(span(0), at(150));
        rig.sack(0, 200);
        assert!(!rig.rack.has_segment);
    }

    #[test]
    fn duplicates_widen_the_window_once_a_round_trip() {
        let mut rack = Rack::new();
        rack.on_rtt(100);
        rack.on_dsack(100);
        rack.on_advance(50);
        rack.on_dsack(100);
        assert_eq!(rack.reo_wnd(false, 200), 50);
        rack.on_advance(50);
        rack.on_dsack(100);
        assert_eq!(rack.reo_wnd(false, 200), 75);
        assert_eq!(rack.reo_wnd(false, 60), 60, "at most SRTT");
        for _ in 0..20 {
            rack.on_advance(100);
            rack.on_dsack(100);
        }
        assert_eq!(rack.reo_wnd(false, 1_000), 200);
        for _ in 0..Leniency::PERSIST {
            rack.on_recovered();
        }
        assert_eq!(rack.reo_wnd(false, 200), 25);
    }

    #[test]
    fn the_least_round_trip_is_forgotten_in_the_end() {
        let mut rack = Rack::new();
        rack.on_rtt(10);
        for _ in 1..WINDOW {
            rack.on_rtt(30);
        }
        assert_eq!(rack.min_rtt, 10);
        for _ in 0..WINDOW {
            rack.on_rtt(30);
        }
        assert_eq!(rack.min_rtt, 30);
    }
}
