//! The scoreboard: the state of all data between SND.UNA and SND.NXT (RFC 6675 §3, RFC 8985 §5.2).
//!
//! The sequence numbers are divided into stretches. All bytes of a stretch were sent at the same
//! time and have the same fate. A stretch is a segment or a part of one. When the table is full, a
//! stretch may cover several segments: two adjacent stretches are joined if both have arrived or
//! neither has. If no adjacent stretches can be joined, a further arrival is not recorded. Its data
//! may be retransmitted, and SND.UNA covers them later. Recorded arrivals are never lost, and data
//! that may not have arrived are never recorded as arrived.

mod stretch;
#[cfg(test)]
mod tests;
mod tick;

use crate::ahead::Span;
pub(crate) use stretch::Stretch;
use stretch::{Fate, WAIT_STEP_MS, Walk};
pub(crate) use tick::Tick;

/// Whether stretches store the time of transmission for loss detection by time: feature `rack-tlp`.
pub(crate) const TIMED: bool = cfg!(feature = "rack-tlp");

/// Maximum number of stretches, which must be odd: see [`Scoreboard::on_made`]. Windows are four to
/// eight segments, and limited transmit adds one or two. With the feature `large-windows`, four
/// times the blocks of a SACK option, plus one.
const STRETCHES: usize = if cfg!(feature = "large-windows") {
    17
} else {
    9
};

/// Maximum lead of a recorded time over the clock, in ms. A lead keeps transmissions in order.
const SKEW_MS: u16 = 50;

#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// Stretches in order, starting at SND.UNA, followed by unused entries.
    list: [Stretch; STRETCHES],
    latest: Tick,
}

impl Scoreboard {
    pub(crate) const fn new() -> Self {
        Scoreboard {
            list: [Stretch::NOTHING; STRETCHES],
            latest: Tick(0),
        }
    }

    /// Returns all stretches in order with their positions, followed by unused entries.
    fn spans(&self) -> impl Iterator<Item = (Span, &Stretch)> {
        self.list.iter().scan(0u32, |end, stretch| {
            let start = *end;
            *end = start.wrapping_add(u32::from(stretch.len));
            Some((Span::new(start, *end), stretch))
        })
    }

    /// Returns the last stretch in flight; an empty span if there is none.
    pub(crate) fn last_in_flight(&self) -> Span {
        let in_flight = self.spans().filter(|(_, stretch)| {
            // `is_in_flight` is true for an unused entry, too.
            stretch.is_in_flight() && !stretch.is_nothing()
        });
        in_flight.last().map_or(Span::default(), |(span, _)| span)
    }

    fn end(&self) -> u32 {
        let lens = self.list.iter().map(|stretch| u32::from(stretch.len));
        lens.fold(0, u32::wrapping_add)
    }

    #[inline(never)] // size
    fn bytes(&self, fate: Fate) -> u32 {
        let mut sum = 0u32;
        for stretch in &self.list {
            if stretch.is_nothing() {
                break;
            }
            if stretch.fate == fate {
                sum = sum.wrapping_add(u32::from(stretch.len));
            }
        }
        sum
    }

    /// Returns the number of bytes in the network: RFC 6675's pipe, RFC 9937's inflight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.bytes(Fate::InFlight)
    }

    pub(crate) fn arrived(&self) -> u32 {
        self.bytes(Fate::Arrived)
    }

    pub(crate) fn lost(&self) -> u32 {
        self.bytes(Fate::Lost)
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost() > 0
    }

    /// Returns whether the number of outstanding segments is even. A stretch counts as one segment.
    pub(crate) fn is_even(&self) -> bool {
        let odd = |odd, stretch: &Stretch| odd ^ !stretch.is_nothing();
        !self.list.iter().fold(false, odd)
    }

    fn front(&self) -> &Stretch {
        let [front, ..] = &self.list;
        front
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.front().is_nothing()
    }

    /// Returns whether SACK reported the byte at SND.UNA, in contradiction to the cumulative
    /// acknowledgment.
    pub(crate) fn front_has_arrived(&self) -> bool {
        self.front().fate == Fate::Arrived
    }

    pub(crate) fn front_is_lost(&self) -> bool {
        self.front().fate == Fate::Lost
    }

    pub(crate) fn front_was_sent_again(&self) -> bool {
        self.front().was_sent_again()
    }

    /// Returns the first run of lost bytes that may be sent now. `free` removes from a span the
    /// bytes that must not be sent now.
    pub(crate) fn first_lost(&self, free: impl Fn(Span) -> Span) -> Span {
        let mut run = Span::default();
        for (span, stretch) in self.spans() {
            if stretch.fate == Fate::Lost {
                run.end = span.end;
            } else if !run.is_empty() && !free(run).is_empty() {
                break;
            } else {
                run = Span::new(span.end, span.end);
            }
        }
        free(run)
    }

    /// Records that `span` was given to the link: new data, old data, or both.
    pub(crate) fn on_made(&mut self, span: Span, now: Tick) {
        let end = self.end();
        for (_, stretch) in self.walk(Span::new(span.start, span.end.min(end))) {
            // An arrival remains recorded, even if a probe repeats the data.
            if stretch.fate != Fate::Arrived {
                stretch.at = now;
                stretch.fate = Fate::InFlight;
                stretch.again = 1;
            }
        }
        let new = span.end.saturating_sub(span.start.max(end));
        if new == 0 {
            return;
        }
        if !self.make_room(0) {
            // Arrived and other stretches alternate, and their number is odd. So the last one has
            // not arrived, unless the first one has. In that case SND.UNA contradicts SACK: the
            // peer has dropped data that it reported.
            let [.., last] = &mut self.list;
            last.len = last.len.wrapping_add(new as u16);
            last.at = now;
            last.fate = Fate::InFlight;
        } else if let Some(slot) = self.list.iter_mut().find(|slot| slot.is_nothing()) {
            slot.len = new as u16;
            slot.at = now;
        }
    }

    /// Records that the link sent `span` now; `again` if part of it was sent before. The parts of
    /// `span` that were marked as lost are in flight again.
    pub(crate) fn on_sent(&mut self, span: Span, again: bool, now: Tick) {
        let at = self.stamp(again, now);
        for (_, stretch) in self.walk(span) {
            if stretch.fate == Fate::Lost {
                stretch.fate = Fate::InFlight;
            }
            if !TIMED {
                continue;
            }
            if stretch.was_sent_again() {
                let waited = at.since(stretch.at) / WAIT_STEP_MS;
                stretch.again = waited.saturating_add(1).min(255) as u8;
            }
            stretch.at = at;
        }
        self.latest = at;
    }

    /// Returns the time to store. Within a millisecond, sequence numbers give the order of new
    /// data, and old data get distinct times.
    fn stamp(&self, again: bool, now: Tick) -> Tick {
        if !TIMED
            || self.is_empty()
            || now.is_after(self.latest)
            || self.latest.since(now) > SKEW_MS
        {
            now
        } else if again {
            self.latest.next()
        } else {
            self.latest
        }
    }

    pub(crate) fn on_ack(&mut self, bytes: u32) {
        let mut left = bytes;
        while !self.is_empty() && left > 0 {
            let [front, ..] = &mut self.list;
            let len = u32::from(front.len);
            front.len = len.saturating_sub(left) as u16;
            if front.is_nothing() {
                self.remove(0);
            }
            left = left.saturating_sub(len);
        }
    }

    /// Returns whether all of `span` was sent and is not cumulatively acknowledged.
    pub(crate) fn holds(&self, span: Span) -> bool {
        span.end <= self.end()
    }

    /// Marks as lost the stretches in flight that `span` covers completely, and the first stretch
    /// even if `span` covers only a part of it. Returns the number of bytes newly lost.
    pub(crate) fn lose(&mut self, span: Span) -> u32 {
        let mut lost = 0u32;
        for (at, stretch) in self.walk(span) {
            if at.start == 0 || span.covers(at) {
                lost = lost.wrapping_add(stretch.lose());
            }
        }
        lost
    }

    /// Marks as lost the data that were not retransmitted and have more than `reached` arrived
    /// bytes beyond them, except where `is_held`. Returns the number of bytes newly lost. Only the
    /// retransmission timer detects lost retransmissions (RFC 6675 §5).
    pub(crate) fn lose_before(&mut self, reached: u32, is_held: impl Fn(Span) -> bool) -> u32 {
        let (mut beyond, mut lost) = (self.arrived(), 0u32);
        for (at, stretch) in self.walk(Span::ALL) {
            if stretch.fate == Fate::Arrived {
                beyond = beyond.wrapping_sub(at.len());
            } else if beyond > reached && !stretch.was_sent_again() && !is_held(at) {
                lost = lost.wrapping_add(stretch.lose());
            }
        }
        lost
    }

    /// Marks as in flight all data that are marked as lost and were not retransmitted.
    pub(crate) fn take_back(&mut self) {
        self.doubt(Fate::Lost);
    }

    /// Forgets arrivals beyond the gap, because the peer may have dropped the data (RFC 2018 §8).
    pub(crate) fn forget_arrived(&mut self) {
        self.doubt(Fate::Arrived);
    }

    #[inline(never)] // size
    fn doubt(&mut self, fate: Fate) {
        for stretch in &mut self.list {
            if stretch.fate == fate {
                stretch.fate = Fate::InFlight;
            }
        }
    }

    /// Returns the stretches in `span` with their positions. When the table is full, they may
    /// extend beyond `span`; a caller for which this matters must check.
    #[inline(never)] // size
    pub(crate) fn walk(&mut self, mut span: Span) -> Walk<'_> {
        let mut first = 0;
        if !span.is_empty() {
            let (kept, _) = self.cut(span.end, 0);
            (first, span.start) = self.cut(span.start, kept);
        }
        Walk {
            rest: self.list.get_mut(first..).unwrap_or_default().iter_mut(),
            span,
        }
    }

    /// Makes a stretch start at `at`, unless no data are outstanding there or the table is full.
    /// The stretch with index `kept` (0: none) is not joined with the one before it. Returns the
    /// index of the stretch that contains `at`, and its start.
    #[inline(never)] // size
    fn cut(&mut self, at: u32, kept: usize) -> (usize, u32) {
        let (mut head, mut index) = (at, 0usize);
        for stretch in &self.list {
            let len = u32::from(stretch.len);
            if head < len || len == 0 {
                break;
            }
            head = head.wrapping_sub(len);
            index = index.wrapping_add(1);
        }
        let is_out = self.list.get(index).is_some_and(|it| !it.is_nothing());
        if head == 0 || !is_out {
            return (index, at);
        }
        if self.is_full() {
            return if self.make_room(kept) {
                self.cut(at, kept)
            } else {
                (index, at.wrapping_sub(head))
            };
        }
        let mut rest = self.list.iter_mut().skip(index);
        let Some(first) = rest.next() else {
            return (index, at);
        };
        // Each entry moves up by one place; the last entry is unused.
        let mut carried = *first;
        first.len = head as u16;
        carried.len = carried.len.saturating_sub(first.len);
        for slot in rest {
            (*slot, carried) = (carried, *slot);
        }
        (index.wrapping_add(1), at)
    }

    /// Returns whether the table has no room for one more stretch, so that adjacent stretches must
    /// be joined first.
    pub(crate) fn is_full(&self) -> bool {
        let [.., last] = &self.list;
        !last.is_nothing()
    }

    /// Makes room for one more stretch, and returns whether there is room. If the table is full,
    /// joins two adjacent stretches: the shortest pair that has arrived; if there is none, the
    /// shortest pair with the same fate; if there is none, the shortest pair that has not arrived.
    /// If several pairs have this length, it joins the last one, because least is known about the
    /// latest data. The stretch with index `kept` (0: none) is not joined with the stretch before
    /// it.
    #[inline(never)] // size
    fn make_room(&mut self, kept: usize) -> bool {
        if !self.is_full() {
            return true;
        }
        let (mut best, mut least) = (0usize, u32::MAX);
        for (pair, index) in self.list.windows(2).zip(1usize..) {
            let [first, second] = pair else { continue };
            if index == kept {
                continue;
            }
            let mut cost = u32::from(first.len).wrapping_add(u32::from(second.len));
            if first.fate != second.fate {
                if first.fate == Fate::Arrived || second.fate == Fate::Arrived {
                    continue;
                }
                cost |= 1 << 18;
            } else if first.fate != Fate::Arrived {
                cost |= 1 << 17;
            }
            if cost <= least {
                (best, least) = (index, cost);
            }
        }
        if least == u32::MAX {
            return false;
        }
        if let Some([first, second]) = self
            .list
            .get_mut(best.wrapping_sub(1)..best.wrapping_add(1))
        {
            first.join(second);
        }
        self.remove(best);
        true
    }

    #[inline(never)] // size
    fn remove(&mut self, index: usize) {
        let mut rest = self.list.iter_mut().skip(index);
        let Some(mut place) = rest.next() else { return };
        for next in rest {
            // Field by field, because a copy of six bytes would be a function call.
            place.len = next.len;
            place.at = next.at;
            place.fate = next.fate;
            place.again = next.again;
            if next.is_nothing() {
                return;
            }
            place = next;
        }
        *place = Stretch::NOTHING;
    }
}
