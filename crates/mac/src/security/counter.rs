//! The frame counter (IEEE 802.15.4-2015 §9.2.1, macFrameCounter), and its persistence.
//!
//! Reusing a counter with the same key exposes the data of both frames. Therefore a range of
//! counters is reserved in persistent memory before use: only the end of the range is written, once
//! for many frames. After a reboot the counter continues at that end, and the unused rest of the
//! range is skipped.

/// The largest counter, which no sender may use.
const EXHAUSTED: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoCounter {
    /// All 2^32 - 1 counters are used.
    Exhausted,
    /// The next range has not been stored yet.
    NotStored,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FrameCounter {
    next: u32,
    /// The stored end of the reserved range: counters from here on must not be used yet.
    stored: u32,
    /// Number of counters that one write to persistent memory reserves.
    stretch: u32,
    /// The end of a range that the caller was last requested to store.
    asked: u32,
}

impl FrameCounter {
    /// Returns a counter that continues at the last stored value.
    pub(super) const fn new(stored: u32, stretch: u32) -> Self {
        FrameCounter {
            next: stored,
            stored,
            stretch: if stretch == 0 { 1 } else { stretch },
            asked: stored,
        }
    }

    /// Returns the counter of the next frame, and uses it up.
    pub(super) fn take(&mut self) -> Result<u32, NoCounter> {
        if self.is_exhausted() {
            return Err(NoCounter::Exhausted);
        }
        if self.next >= self.stored {
            return Err(NoCounter::NotStored);
        }
        let counter = self.next;
        self.next = counter.saturating_add(1);
        Ok(counter)
    }

    pub(super) const fn is_exhausted(&self) -> bool {
        self.next == EXHAUSTED
    }

    pub(super) const fn waits(&self) -> bool {
        self.next >= self.stored && !self.is_exhausted()
    }

    /// Returns the value to store, once, as soon as at most half of a range is unused. The caller
    /// reports the result with [`Self::on_stored`] or [`Self::on_failed`].
    pub(super) fn poll(&mut self) -> Option<u32> {
        let left = self.stored.saturating_sub(self.next);
        if left > self.stretch / 2 || self.asked != self.stored || self.stored == EXHAUSTED {
            return None;
        }
        self.asked = self.stored.saturating_add(self.stretch);
        Some(self.asked)
    }

    /// Records that persistent memory contains `stored`. A value above the requested one counts as
    /// the requested one, and a value below the previous one has no effect.
    pub(super) fn on_stored(&mut self, stored: u32) {
        self.stored = self.stored.max(stored.min(self.asked));
        // If less was stored than requested, the rest is requested again.
        self.asked = self.stored;
    }

    pub(super) const fn on_failed(&mut self) {
        self.asked = self.stored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_counter_is_used_before_it_is_stored() {
        let mut counter = FrameCounter::new(0, 100);
        assert_eq!(counter.take(), Err(NoCounter::NotStored));
        assert!(counter.waits());
        assert_eq!((counter.poll(), counter.poll()), (Some(100), None));
        assert_eq!(counter.take(), Err(NoCounter::NotStored));
        counter.on_stored(100);
        for expected in 0..50 {
            assert_eq!(counter.poll(), None);
            assert_eq!(counter.take(), Ok(expected));
        }
        assert_eq!((counter.poll(), counter.poll()), (Some(200), None));
        for expected in 50..100 {
            assert_eq!(counter.take(), Ok(expected));
        }
        assert_eq!(counter.take(), Err(NoCounter::NotStored));
        counter.on_stored(200);
        assert_eq!(counter.take(), Ok(100));
    }

    #[test]
    fn a_counter_that_could_not_be_stored_is_requested_again() {
        let mut counter = FrameCounter::new(0, 100);
        for _ in 0..3 {
            assert_eq!((counter.poll(), counter.poll()), (Some(100), None));
            counter.on_failed();
            assert_eq!(counter.take(), Err(NoCounter::NotStored));
        }
        assert_eq!(counter.poll(), Some(100));
        counter.on_stored(100);
        assert_eq!(counter.take(), Ok(0));
        counter.on_failed();
        assert_eq!((counter.take(), counter.poll()), (Ok(1), None));
    }

    #[test]
    fn a_reboot_uses_no_counter_again() {
        let (mut stored, mut next) = (0, 0);
        for boot in 0..50 {
            let mut counter = FrameCounter::new(stored, 16);
            for _ in 0..boot * 3 {
                if let Some(end) = counter.poll() {
                    stored = end;
                    counter.on_stored(end);
                }
                let taken = counter.take().unwrap();
                assert!(taken >= next);
                next = taken + 1;
            }
            // The power fails before a last request is stored.
            let _ = counter.poll();
        }
    }

    #[test]
    fn the_last_counter_is_the_end() {
        let mut counter = FrameCounter::new(u32::MAX - 2, 100);
        assert_eq!(counter.poll(), Some(u32::MAX));
        counter.on_stored(u32::MAX);
        assert_eq!(counter.take(), Ok(u32::MAX - 2));
        assert_eq!(counter.take(), Ok(u32::MAX - 1));
        for _ in 0..3 {
            assert_eq!(counter.take(), Err(NoCounter::Exhausted));
            assert_eq!(counter.poll(), None);
        }
        assert!(counter.is_exhausted() && !counter.waits());
    }

    #[test]
    fn an_unrequested_answer_has_no_effect() {
        let mut counter = FrameCounter::new(10, 100);
        counter.on_stored(1_000);
        counter.on_stored(5);
        assert_eq!(counter.take(), Err(NoCounter::NotStored));
        assert_eq!(counter.poll(), Some(110));
        // If less is stored than requested, this part is usable, and the rest is requested again.
        counter.on_stored(12);
        assert_eq!((counter.take(), counter.take()), (Ok(10), Ok(11)));
        assert_eq!(counter.take(), Err(NoCounter::NotStored));
        assert_eq!(counter.poll(), Some(112));
    }
}
