//! The scoreboard: what became of everything that was sent and is not yet
//! cumulatively acknowledged (RFC 6675 §3, RFC 8985 §5.2).
//!
//! The sequence numbers from SND.UNA to SND.NXT are divided into stretches,
//! each of which was sent at one moment and has one fate. A stretch is a
//! segment or a part of one, or several when the table is full: then
//! neighbours are joined in the way that claims the least, so that nothing is
//! believed lost or arrived that may not be. Retransmission may come later
//! for that, never wrongly.

use core::num::NonZero;

use crate::{SeqNum, SeqRange};

/// How many stretches are told apart. Windows here are four to eight segments.
const STRETCHES: usize = 10;

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
    /// steps of [`WAIT_STEP_MS`], rounded up.
    again: Option<NonZero<u8>>,
}

/// How far moments may run ahead of the clock to keep their order.
const SKEW_MS: u16 = 50;

/// A segment may wait for the radio for a second or two; 255 stands for more.
const WAIT_STEP_MS: u16 = 8;

impl Stretch {
    const NOTHING: Stretch = Stretch {
        len: 0,
        at: Tick(0),
        fate: Fate::InFlight,
        again: None,
    };

    /// When it was last sent.
    pub(crate) fn at(&self) -> Tick {
        self.at
    }

    /// Whether it was sent more than once.
    pub(crate) fn was_sent_again(&self) -> bool {
        self.again.is_some()
    }

    /// The latest moment before which its last transmission was surely not
    /// made: an echo of an earlier timestamp is of another transmission.
    pub(crate) fn made_at(&self) -> Tick {
        let steps = self.again.map_or(1, |steps| u16::from(steps.get()));
        self.at.earlier_by(steps.saturating_mul(WAIT_STEP_MS))
    }

    fn is_like(&self, other: &Stretch) -> bool {
        self.fate == other.fate
    }

    /// Both as one stretch, which claims no more than is true of both.
    fn joined(&self, next: &Stretch) -> Stretch {
        let later = if next.at.is_after(self.at) {
            next
        } else {
            self
        };
        Stretch {
            len: self.len.saturating_add(next.len),
            fate: if self.is_like(next) {
                self.fate
            } else {
                Fate::InFlight
            },
            again: self.again.max(next.again),
            ..*later
        }
    }
}

/// The scoreboard.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// SND.UNA, where the first stretch begins.
    start: SeqNum,
    list: [Stretch; STRETCHES],
    count: u8,
    /// The latest moment in the list.
    latest: Tick,
}

impl Scoreboard {
    /// Nothing is out; the next byte to be sent is `start`.
    pub(crate) fn new(start: SeqNum) -> Self {
        Scoreboard {
            start,
            list: [Stretch::NOTHING; STRETCHES],
            count: 0,
            latest: Tick::default(),
        }
    }

    fn stretches(&self) -> &[Stretch] {
        self.list.get(..usize::from(self.count)).unwrap_or(&[])
    }

    fn stretches_mut(&mut self) -> &mut [Stretch] {
        self.list
            .get_mut(..usize::from(self.count))
            .unwrap_or(&mut [])
    }

    /// Every stretch and where it lies, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SeqRange, &Stretch)> {
        self.stretches().iter().scan(self.start, |at, stretch| {
            let range = SeqRange::new(*at, *at + u32::from(stretch.len));
            *at = range.end;
            Some((range, stretch))
        })
    }

    fn end(&self) -> SeqNum {
        let all = self.stretches().iter();
        all.fold(self.start, |end, stretch| end + u32::from(stretch.len))
    }

    fn bytes(&self, fate: Fate) -> u32 {
        let mut sum = 0u32;
        for stretch in self.stretches() {
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

    /// Whether an even number of segments is out, as far as they are told
    /// apart.
    pub(crate) fn is_even(&self) -> bool {
        self.count & 1 == 0
    }

    /// Whether nothing is out.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the byte at SND.UNA is said to have arrived, which SND.UNA
    /// denies.
    pub(crate) fn front_has_arrived(&self) -> bool {
        self.front_is(Fate::Arrived)
    }

    /// Whether the byte at SND.UNA is lost.
    pub(crate) fn front_is_lost(&self) -> bool {
        self.front_is(Fate::Lost)
    }

    fn front_is(&self, fate: Fate) -> bool {
        let front = self.stretches().first();
        front.is_some_and(|stretch| stretch.fate == fate)
    }

    /// Whether something is to be sent again.
    pub(crate) fn has_lost(&self) -> bool {
        self.stretches()
            .iter()
            .any(|stretch| stretch.fate == Fate::Lost)
    }

    /// The first run of lost bytes that `free` leaves something of, which cuts
    /// off what must not be sent now.
    pub(crate) fn first_lost(&self, free: impl Fn(SeqRange) -> SeqRange) -> SeqRange {
        let mut run = SeqRange::new(self.start, self.start);
        for (range, stretch) in self.iter() {
            if stretch.fate == Fate::Lost && run.end == range.start && !run.is_empty() {
                run.end = range.end;
            } else if !run.is_empty() && !free(run).is_empty() {
                break;
            } else if stretch.fate == Fate::Lost {
                run = range;
            } else {
                run = SeqRange::new(range.end, range.end);
            }
        }
        free(run)
    }

    /// `range` was handed to the link: new data, or old data again, or both.
    pub(crate) fn on_made(&mut self, range: SeqRange, now: Tick) {
        let old = SeqRange::new(range.start, range.end.min(self.end()));
        let again = Stretch {
            at: now,
            again: Some(NonZero::<u8>::MIN),
            ..Stretch::NOTHING
        };
        self.update(old, |stretch| {
            *stretch = Stretch {
                len: stretch.len,
                ..again
            };
        });
        let new = range.end - range.start.max(self.end());
        if new > 0 {
            let len = u16::try_from(new).unwrap_or(u16::MAX);
            self.make_room();
            let again = Stretch {
                len,
                again: None,
                ..again
            };
            self.insert(usize::from(self.count), again);
        }
    }

    /// The link has sent `range`: its clock starts now. If it was believed
    /// lost meanwhile, it is not.
    pub(crate) fn on_sent(&mut self, range: SeqRange, now: Tick) {
        let at = self.stamp(range, now);
        self.update(range, |stretch| {
            if stretch.fate != Fate::Arrived {
                stretch.fate = Fate::InFlight;
            }
            let waited = at.since(stretch.at) / WAIT_STEP_MS;
            let steps = u8::try_from(waited).unwrap_or(u8::MAX).saturating_add(1);
            stretch.again = stretch.again.and(NonZero::new(steps));
            stretch.at = at;
        });
        self.latest = at;
    }

    /// The moment to put down for `range`. In one millisecond, sequence numbers
    /// tell what left later among new data; old data gets a moment of its own.
    fn stamp(&self, range: SeqRange, now: Tick) -> Tick {
        if self.is_empty() || now.is_after(self.latest) {
            return now;
        }
        let is_old = |(at, stretch): (SeqRange, &Stretch)| {
            stretch.again.is_some() && at.start < range.end && range.start < at.end
        };
        if self.latest.since(now) > SKEW_MS {
            now
        } else if self.iter().any(is_old) {
            self.latest.next()
        } else {
            self.latest
        }
    }

    /// Everything before `una` has arrived. `on_news` sees each stretch of
    /// which that was not known, and where it lies.
    pub(crate) fn on_ack(&mut self, una: SeqNum, mut on_news: impl FnMut(SeqRange, &Stretch)) {
        let mut gone = 0usize;
        self.each(|range, stretch| {
            if range.start < una && stretch.fate != Fate::Arrived {
                on_news(SeqRange::new(range.start, range.end.min(una)), stretch);
            }
            if range.end <= una {
                gone = gone.saturating_add(1);
            } else if range.start < una {
                stretch.len = (range.end - una) as u16;
            }
        });
        if gone == usize::from(self.count) {
            self.count = 0;
        } else {
            self.remove(0, gone);
        }
        self.start = self.start.max(una);
    }

    /// The peer has `block`, says a SACK option. `on_news` sees each stretch
    /// of which that was not known, and where it lies.
    pub(crate) fn on_sack(&mut self, block: SeqRange, mut on_news: impl FnMut(SeqRange, &Stretch)) {
        let block = SeqRange::new(block.start.max(self.start), block.end);
        // Blocks of data that was never sent, or turned inside out, are lies.
        if block.is_empty() || block.end > self.end() {
            return;
        }
        self.split(block.start);
        self.split(block.end);
        for (range, stretch) in self.iter() {
            if covers(block, range) && stretch.fate != Fate::Arrived {
                on_news(range, stretch);
            }
        }
        self.each(|range, stretch| {
            if covers(block, range) {
                stretch.fate = Fate::Arrived;
            }
        });
        self.tidy();
    }

    /// Everything in flight that `which` picks is lost. Returns how many bytes
    /// that are.
    pub(crate) fn mark_lost(&mut self, mut which: impl FnMut(SeqRange, &Stretch) -> bool) -> u32 {
        let mut bytes = 0u32;
        self.each(|range, stretch| {
            if stretch.fate == Fate::InFlight && which(range, stretch) {
                stretch.fate = Fate::Lost;
                bytes = bytes.saturating_add(u32::from(stretch.len));
            }
        });
        bytes
    }

    /// `range`, or what it overlaps where the table is full, is lost unless it
    /// has arrived. Returns how many bytes became lost by that.
    pub(crate) fn lose(&mut self, range: SeqRange) -> u32 {
        self.split(range.start);
        self.split(range.end);
        self.mark_lost(|at, _| at.start < range.end && range.start < at.end)
    }

    /// What is believed lost and was not sent again is in flight after all.
    pub(crate) fn take_back(&mut self) {
        self.each(|_, stretch| {
            if stretch.fate == Fate::Lost {
                stretch.fate = Fate::InFlight;
            }
        });
    }

    /// RFC 2018 §8: the peer may have dropped what it had beyond the gap.
    pub(crate) fn forget_arrived(&mut self) {
        self.each(|_, stretch| {
            if stretch.fate == Fate::Arrived {
                stretch.fate = Fate::InFlight;
            }
        });
    }

    /// Removes `gone` stretches from `index` on.
    fn remove(&mut self, index: usize, gone: usize) {
        for _ in 0..gone {
            // Each takes the place of the one before it. Seldom more than two
            // stretches are left to move: that is cheaper than a call.
            let mut carried = Stretch::NOTHING;
            for slot in self.stretches_mut().iter_mut().skip(index).rev() {
                core::mem::swap(slot, &mut carried);
            }
            self.count = self.count.saturating_sub(1);
        }
    }

    fn each(&mut self, mut change: impl FnMut(SeqRange, &mut Stretch)) {
        let mut at = self.start;
        for stretch in self.stretches_mut() {
            let range = SeqRange::new(at, at + u32::from(stretch.len));
            change(range, stretch);
            at = range.end;
        }
    }

    /// Changes `range`, or what it overlaps where the table is full.
    fn update(&mut self, range: SeqRange, mut change: impl FnMut(&mut Stretch)) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        self.each(|at, stretch| {
            if at.start < range.end && range.start < at.end {
                change(stretch);
            }
        });
    }

    /// Makes a stretch begin at `seq`, if `seq` is inside one and there is a
    /// way to get room for it.
    fn split(&mut self, seq: SeqNum) {
        let inside = |(at, _): &(SeqRange, &Stretch)| at.start < seq && seq < at.end;
        if !self.iter().any(|item| inside(&item)) {
            return;
        }
        self.tidy();
        self.make_room();
        let found = self
            .iter()
            .zip(0usize..)
            .find(|(item, _)| inside(item))
            .map(|((at, stretch), index)| (seq - at.start, *stretch, index));
        let Some((head, stretch, index)) = found else {
            return;
        };
        let head = head as u16;
        let tail = Stretch {
            len: stretch.len.saturating_sub(head),
            ..stretch
        };
        if self.insert(index.saturating_add(1), tail)
            && let Some(first) = self.list.get_mut(index)
        {
            first.len = head;
        }
    }

    /// Puts a stretch at `index`, if there is room.
    fn insert(&mut self, index: usize, stretch: Stretch) -> bool {
        if usize::from(self.count) >= STRETCHES {
            return false;
        }
        self.count = self.count.saturating_add(1);
        // Each takes the next one's place; the last leaves its unused one.
        let mut carried = stretch;
        for slot in self.stretches_mut().iter_mut().skip(index) {
            core::mem::swap(slot, &mut carried);
        }
        true
    }

    /// Joins what has arrived with its like: no difference matters there.
    fn tidy(&mut self) {
        let mut index = 0usize;
        while let Some([first, second, ..]) = self.stretches().get(index..) {
            if first.fate == Fate::Arrived && second.fate == Fate::Arrived {
                self.join(index);
            } else {
                index = index.saturating_add(1);
            }
        }
    }

    /// Makes sure that there is room for one more stretch. Of the neighbours
    /// with one fate the shortest pair is joined; without any, the shortest
    /// pair of all.
    fn make_room(&mut self) {
        if usize::from(self.count) < STRETCHES {
            return;
        }
        let pairs = self.stretches().windows(2).zip(0usize..);
        let best = pairs
            .filter_map(|(pair, index)| match pair {
                [first, second] => {
                    let len = first.len.saturating_add(second.len);
                    Some((!first.is_like(second), len, index))
                }
                _ => None,
            })
            .min();
        if let Some((_, _, index)) = best {
            self.join(index);
        }
    }

    /// Joins the stretches at `index` and behind it.
    fn join(&mut self, index: usize) {
        let Some(tail) = self.stretches_mut().get_mut(index..) else {
            return;
        };
        let [first, second, ..] = tail else { return };
        *first = first.joined(second);
        self.remove(index.saturating_add(1), 1);
    }
}

/// Whether `outer` holds all of `inner`.
fn covers(outer: SeqRange, inner: SeqRange) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests;
