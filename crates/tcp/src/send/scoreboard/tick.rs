//! Times of transmission, in 16 bits each.

/// A time in milliseconds, wrapping. Comparisons are valid within half a minute. The retransmission
/// timer handles data that are in flight for longer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tick(pub(super) u16);

impl Tick {
    #[cfg(test)]
    pub(crate) const EPOCH: Tick = Tick(0);

    /// Limit of comparisons: half a minute.
    pub(crate) const REACH_MS: u32 = 1 << 15;

    /// Returns the milliseconds since `earlier`; 0 if that is later.
    pub(crate) fn since(self, earlier: Tick) -> u16 {
        let ms = self.0.wrapping_sub(earlier.0);
        if ms > u16::MAX / 2 { 0 } else { ms }
    }

    pub(crate) fn is_after(self, other: Tick) -> bool {
        self.since(other) > 0
    }

    /// Converts a time in milliseconds, or a timestamp.
    pub(crate) fn of_ms(ms: u32) -> Tick {
        Tick(ms as u16)
    }

    pub(super) fn next(self) -> Tick {
        Tick(self.0.wrapping_add(1))
    }

    pub(super) fn earlier_by(self, ms: u16) -> Tick {
        Tick(self.0.wrapping_sub(ms))
    }
}
