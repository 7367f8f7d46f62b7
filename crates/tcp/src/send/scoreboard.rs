//! The scoreboard: what became of everything that was sent and is not yet
//! cumulatively acknowledged (RFC 6675 §3, RFC 8985 §5.2).
//!
//! The sequence numbers from SND.UNA to SND.NXT are divided into stretches,
//! each of which was sent at one moment and has one fate. A stretch is a
//! segment or a part of one, or several when the table is full: then
//! neighbours are joined of which both have arrived or neither has. Where no
//! such neighbours are left, news of an arrival is not taken: it is heard of again
//! when SND.UNA comes there, at the latest, and until then may be sent again. What
//! is known to have arrived stays known, and nothing is believed to have arrived
//! that may not have.

use crate::ahead::Span;

/// Whether stretches know when they were sent, as loss detection by time needs it: the
/// feature `rack-tlp`.
pub(crate) const TIMED: bool = cfg!(feature = "rack-tlp");

/// How many stretches are told apart: an odd number, see
/// [`Scoreboard::on_made`]. Windows here are four to eight segments, and limited
/// transmit adds one or two. With the feature `large-windows`, as many as four
/// times the blocks of a SACK option.
const STRETCHES: usize = if cfg!(feature = "large-windows") {
    17
} else {
    9
};

/// A moment in milliseconds, wrapping: good for comparing moments less than
/// half a minute apart. What is in flight for longer is the retransmission
/// timer's business.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tick(u16);

impl Tick {
    #[cfg(test)]
    pub(crate) const EPOCH: Tick = Tick(0);

    /// Half a minute, and less.
    pub(crate) const REACH_MS: u32 = 1 << 15;

    /// Milliseconds since `earlier`; 0 if that is later.
    pub(crate) fn since(self, earlier: Tick) -> u16 {
        let ms = self.0.wrapping_sub(earlier.0);
        if ms > u16::MAX / 2 { 0 } else { ms }
    }

    pub(crate) fn is_after(self, other: Tick) -> bool {
        self.since(other) > 0
    }

    /// Of a moment in milliseconds, or of a timestamp.
    pub(crate) fn of_ms(ms: u32) -> Tick {
        Tick(ms as u16)
    }

    fn next(self) -> Tick {
        Tick(self.0.wrapping_add(1))
    }

    fn earlier_by(self, ms: u16) -> Tick {
        Tick(self.0.wrapping_sub(ms))
    }
}

/// What became of a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// In the network, for all that is known.
    InFlight,
    /// The peer has it (SACK).
    Arrived,
    /// Believed lost and not sent again since.
    Lost,
}

/// A stretch of sequence numbers that was sent at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    len: u16,
    /// When it was last sent.
    at: Tick,
    fate: Fate,
    /// If it was sent more than once: how long before `at` it was made, in
    /// steps of [`WAIT_STEP_MS`], rounded up. Otherwise 0.
    again: u8,
}

/// How far moments may run ahead of the clock to keep their order.
const SKEW_MS: u16 = 50;

/// A segment may wait for the radio for a second or two; 255 stands for more.
const WAIT_STEP_MS: u16 = 8;

impl Stretch {
    /// Nothing: what is behind the last stretch.
    const NOTHING: Stretch = Stretch {
        len: 0,
        at: Tick(0),
        fate: Fate::InFlight,
        again: 0,
    };

    fn is_nothing(&self) -> bool {
        self.len == 0
    }

    /// When it was last sent.
    pub(crate) fn at(&self) -> Tick {
        self.at
    }

    /// Whether it was sent more than once.
    pub(crate) fn was_sent_again(&self) -> bool {
        self.again > 0
    }

    /// The latest moment before which its last transmission was surely not
    /// made: an echo of an earlier timestamp is of another transmission.
    pub(crate) fn made_at(&self) -> Tick {
        self.at
            .earlier_by(u16::from(self.again).wrapping_mul(WAIT_STEP_MS))
    }

    /// The peer has it. Returns whether that is news.
    pub(crate) fn arrive(&mut self) -> bool {
        let is_news = self.fate != Fate::Arrived;
        self.fate = Fate::Arrived;
        is_news
    }

    /// Whether it is in the network, for all that is known.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.fate == Fate::InFlight
    }

    /// It is lost, unless it was known to be or has arrived. Returns how many
    /// bytes became lost by that.
    pub(crate) fn lose(&mut self) -> u32 {
        if !self.is_in_flight() {
            return 0;
        }
        self.fate = Fate::Lost;
        u32::from(self.len)
    }

    /// Makes one of both, of which both have arrived or neither has. What is lost
    /// of one only counts as in flight.
    fn join(&mut self, next: &Stretch) {
        self.len = self.len.wrapping_add(next.len);
        if next.at.is_after(self.at) {
            self.at = next.at;
        }
        if next.fate != self.fate {
            self.fate = Fate::InFlight;
        }
        self.again = self.again.max(next.again);
    }
}

/// Stretches in order, and where they lie.
pub(crate) struct Walk<'a> {
    rest: core::slice::IterMut<'a, Stretch>,
    /// Where the rest lies, as far as it is asked for.
    span: Span,
}

impl<'a> Iterator for Walk<'a> {
    type Item = (Span, &'a mut Stretch);

    #[inline(never)] // size
    fn next(&mut self) -> Option<Self::Item> {
        if self.span.is_empty() {
            return None;
        }
        let stretch = self.rest.next().filter(|stretch| !stretch.is_nothing())?;
        let start = self.span.start;
        self.span.start = start.wrapping_add(u32::from(stretch.len));
        Some((Span::new(start, self.span.start), stretch))
    }
}

/// The scoreboard. What it says of sequence numbers is counted from SND.UNA.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// In order, from SND.UNA on; the rest is nothing.
    list: [Stretch; STRETCHES],
    /// The latest moment in the list.
    latest: Tick,
}

impl Scoreboard {
    /// Nothing is out.
    pub(crate) const fn new() -> Self {
        Scoreboard {
            list: [Stretch::NOTHING; STRETCHES],
            latest: Tick(0),
        }
    }

    /// Every stretch and where it lies, in order, and then nothing.
    fn spans(&self) -> impl Iterator<Item = (Span, &Stretch)> {
        self.list.iter().scan(0u32, |end, stretch| {
            let start = *end;
            *end = start.wrapping_add(u32::from(stretch.len));
            Some((Span::new(start, *end), stretch))
        })
    }

    /// How many bytes are out.
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

    /// Bytes in the network: RFC 6675's pipe, RFC 9937's inflight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.bytes(Fate::InFlight)
    }

    /// Bytes selectively acknowledged.
    pub(crate) fn arrived(&self) -> u32 {
        self.bytes(Fate::Arrived)
    }

    /// Bytes believed lost and not sent again.
    pub(crate) fn lost(&self) -> u32 {
        self.bytes(Fate::Lost)
    }

    /// Whether something is to be sent again.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost() > 0
    }

    /// Whether an even number of segments is out, as far as they are told
    /// apart.
    pub(crate) fn is_even(&self) -> bool {
        let odd = |odd, stretch: &Stretch| odd ^ !stretch.is_nothing();
        !self.list.iter().fold(false, odd)
    }

    /// What begins at SND.UNA.
    fn front(&self) -> &Stretch {
        let [front, ..] = &self.list;
        front
    }

    /// Whether nothing is out.
    pub(crate) fn is_empty(&self) -> bool {
        self.front().is_nothing()
    }

    /// Whether the byte at SND.UNA is said to have arrived, which SND.UNA
    /// denies.
    pub(crate) fn front_has_arrived(&self) -> bool {
        self.front().fate == Fate::Arrived
    }

    /// Whether the byte at SND.UNA is lost.
    pub(crate) fn front_is_lost(&self) -> bool {
        self.front().fate == Fate::Lost
    }

    /// Whether the byte at SND.UNA was sent more than once.
    pub(crate) fn front_was_sent_again(&self) -> bool {
        self.front().was_sent_again()
    }

    /// The first run of lost bytes that `free` leaves something of, which cuts
    /// off what must not be sent now.
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

    /// `span` was handed to the link: new data, or old data again, or both.
    pub(crate) fn on_made(&mut self, span: Span, now: Tick) {
        let end = self.end();
        for (_, stretch) in self.walk(Span::new(span.start, span.end.min(end))) {
            // What has arrived stays known, also if a probe repeats it.
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
        if !self.make_room() {
            // What has arrived alternates with what has not, in an odd number of
            // stretches. So the last one has not, unless the first one has; and
            // that SND.UNA denies: such a peer has dropped what it had.
            let [.., last] = &mut self.list;
            last.len = last.len.wrapping_add(new as u16);
            last.at = now;
            last.fate = Fate::InFlight;
        } else if let Some(slot) = self.list.iter_mut().find(|slot| slot.is_nothing()) {
            slot.len = new as u16;
            slot.at = now;
        }
    }

    /// The link has sent `span`, `again` if not all of it for the first time:
    /// its clock starts now. If it was believed lost meanwhile, it is not.
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

    /// The moment to put down. In one millisecond, sequence numbers tell what
    /// left later among new data; old data gets a moment of its own.
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

    /// SND.UNA advances by `bytes`.
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

    /// Whether all of `span` was sent and is not cumulatively acknowledged.
    pub(crate) fn holds(&self, span: Span) -> bool {
        span.end <= self.end()
    }

    /// What is in flight in `span` is lost, as far as it is told apart; at SND.UNA
    /// it is in any case. Returns how many bytes that are.
    pub(crate) fn lose(&mut self, span: Span) -> u32 {
        let mut lost = 0u32;
        for (at, stretch) in self.walk(span) {
            if at.start == 0 || span.covers(at) {
                lost = lost.wrapping_add(stretch.lose());
            }
        }
        lost
    }

    /// What was sent once and has more than `reached` bytes beyond it that have
    /// arrived is lost, but for what `is_held`. Returns how many bytes that are.
    /// What was sent again is left to the retransmission timer (RFC 6675 §5).
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

    /// What is believed lost and was not sent again is in flight after all.
    pub(crate) fn take_back(&mut self) {
        self.doubt(Fate::Lost);
    }

    /// RFC 2018 §8: the peer may have dropped what it had beyond the gap.
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

    /// What is in `span`, or what overlaps it where the table is full, and
    /// where that lies. Whoever must not go beyond `span` asks whether it covers
    /// what is there.
    #[inline(never)] // size
    pub(crate) fn walk(&mut self, mut span: Span) -> Walk<'_> {
        let mut first = 0;
        if !span.is_empty() {
            self.cut(span.end);
            (first, span.start) = self.cut(span.start);
        }
        Walk {
            rest: self.list.get_mut(first..).unwrap_or_default().iter_mut(),
            span,
        }
    }

    /// Makes a stretch begin at `at`, unless nothing is out there or there is no
    /// room for another. Returns the place in the list of the one that holds `at`,
    /// and where it begins.
    #[inline(never)] // size
    fn cut(&mut self, at: u32) -> (usize, u32) {
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
            return if self.make_room() {
                self.cut(at)
            } else {
                (index, at.wrapping_sub(head))
            };
        }
        let mut rest = self.list.iter_mut().skip(index);
        let Some(first) = rest.next() else {
            return (index, at);
        };
        // Each takes the next one's place; the last leaves its unused one.
        let mut carried = *first;
        first.len = head as u16;
        carried.len = carried.len.saturating_sub(first.len);
        for slot in rest {
            (*slot, carried) = (carried, *slot);
        }
        (index.wrapping_add(1), at)
    }

    /// Whether there is no room for another stretch, unless neighbours are joined.
    pub(crate) fn is_full(&self) -> bool {
        let [.., last] = &self.list;
        !last.is_nothing()
    }

    /// Makes room for one more stretch if there is none, and returns whether there
    /// is now. Of the neighbours that have arrived, or else of those with one fate,
    /// or else of those that have not arrived, the shortest pair is joined, the
    /// last of several: of what was sent last the least is known.
    #[inline(never)] // size
    fn make_room(&mut self) -> bool {
        if !self.is_full() {
            return true;
        }
        let (mut best, mut least) = (0usize, u32::MAX);
        for (pair, index) in self.list.windows(2).zip(0usize..) {
            let [first, second] = pair else { continue };
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
        if let Some([first, second]) = self.list.get_mut(best..best.wrapping_add(2)) {
            first.join(second);
        }
        self.remove(best.wrapping_add(1));
        true
    }

    /// Removes the stretch at `index`: each takes the place of the one before.
    #[inline(never)] // size
    fn remove(&mut self, index: usize) {
        let mut rest = self.list.iter_mut().skip(index);
        let Some(mut place) = rest.next() else { return };
        for next in rest {
            // Field by field: six bytes at once would be a call.
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

#[cfg(test)]
mod tests;
