//! A stretch of sequence numbers that were sent at the same time and have the same fate.

use super::{TIMED, Tick};
use crate::ahead::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The range is in the network, as far as is known.
    InFlight,
    /// Reported by SACK.
    Arrived,
    /// Marked as lost and not retransmitted since.
    Lost,
}

/// A range of sequence numbers that was sent at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(super) len: u16,
    pub(super) at: Tick,
    pub(super) fate: Fate,
    /// For a retransmission, the time that it waited for the link: from its construction to `at`,
    /// in steps of [`WAIT_STEP_MS`], rounded up. Otherwise 0.
    pub(super) again: u8,
}

/// Unit of the waiting time. A segment may wait for the radio for one or two seconds; 255 stands
/// for longer times.
pub(super) const WAIT_STEP_MS: u16 = 8;

impl Stretch {
    /// The value of unused entries.
    pub(super) const NOTHING: Stretch = Stretch {
        len: 0,
        at: Tick(0),
        fate: Fate::InFlight,
        again: 0,
    };

    pub(super) fn is_nothing(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn at(&self) -> Tick {
        self.at
    }

    pub(crate) fn was_sent_again(&self) -> bool {
        self.again > 0
    }

    /// Returns the earliest time at which the segment of the stretch's last transmission can have
    /// been made. The echo of an earlier timestamp belongs to another transmission.
    pub(crate) fn made_at(&self) -> Tick {
        self.at
            .earlier_by(u16::from(self.again).wrapping_mul(WAIT_STEP_MS))
    }

    /// Marks the stretch as arrived. Returns whether that is new.
    pub(crate) fn arrive(&mut self) -> bool {
        let is_news = self.fate != Fate::Arrived;
        self.fate = Fate::Arrived;
        is_news
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.fate == Fate::InFlight
    }

    /// Marks the stretch as lost if it is in flight. Returns the number of bytes newly lost.
    pub(crate) fn lose(&mut self) -> u32 {
        if !self.is_in_flight() {
            return 0;
        }
        self.fate = Fate::Lost;
        u32::from(self.len)
    }

    /// Joins two stretches, both or neither of which have arrived. If only one is lost, RACK
    /// finds out whether all of the result is lost. Without RACK the result is lost, because each
    /// segment of it would otherwise wait for a timeout.
    pub(super) fn join(&mut self, next: &Stretch) {
        self.len = self.len.wrapping_add(next.len);
        if next.at.is_after(self.at) {
            self.at = next.at;
        }
        if next.fate != self.fate {
            self.fate = if TIMED { Fate::InFlight } else { Fate::Lost };
        }
        self.again = self.again.max(next.again);
    }
}

/// Iterator over stretches in order, with their positions.
pub(crate) struct Walk<'a> {
    pub(super) rest: core::slice::IterMut<'a, Stretch>,
    pub(super) span: Span,
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
