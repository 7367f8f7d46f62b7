//! The source-match table of neighbours with waiting frames. It determines the frame-pending bit of
//! acknowledgments to data requests (IEEE 802.15.4-2015 §6.7.3). A radio with
//! [`source_match`](crate::RadioCaps::source_match) has a copy of the MAC's table.

/// Maximum number of neighbours with waiting frames at the same time.
pub const PENDING_MAX: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PendingBit {
    neighbour: u16,
    pending: bool,
    /// Whether the radio's copy of the table lacks the present value of this entry.
    untold: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Pending {
    entries: [Option<PendingBit>; PENDING_MAX],
    /// Number of entries whose present value the radio's copy of the table lacks.
    untold: u8,
}

impl Pending {
    pub(crate) const fn new() -> Self {
        Pending {
            entries: [None; PENDING_MAX],
            untold: 0,
        }
    }

    pub(crate) fn contains(&self, neighbour: u16) -> bool {
        let mut entries = self.entries.iter().flatten();
        entries.any(|entry| entry.neighbour == neighbour && entry.pending)
    }

    /// Records whether frames wait for `neighbour`; returns `false` if the table is full.
    pub(crate) fn set(&mut self, neighbour: u16, pending: bool) -> bool {
        let mut entries = self.entries.iter_mut().flatten();
        if let Some(entry) = entries.find(|entry| entry.neighbour == neighbour) {
            if entry.pending != pending {
                entry.pending = pending;
                self.untold = self.untold.saturating_add(u8::from(!entry.untold));
                entry.untold = true;
            }
            return true;
        }
        if !pending {
            return true;
        }
        let Some(free) = self.entries.iter_mut().find(|entry| entry.is_none()) else {
            return false;
        };
        *free = Some(PendingBit {
            neighbour,
            pending,
            untold: true,
        });
        self.untold = self.untold.saturating_add(1);
        true
    }

    pub(crate) fn poll(&mut self) -> Option<(u16, bool)> {
        if self.untold == 0 {
            return None;
        }
        let mut entries = self.entries.iter_mut();
        let place = entries.find(|entry| entry.is_some_and(|entry| entry.untold))?;
        let told = (*place)?;
        self.untold = self.untold.saturating_sub(1);
        *place = told.pending.then_some(PendingBit {
            untold: false,
            ..told
        });
        Some((told.neighbour, told.pending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_radio_receives_only_changes() {
        let mut table = Pending::new();
        assert!(table.set(3, false) && table.set(3, true) && table.set(3, true));
        assert!(table.contains(3) && !table.contains(4));
        assert_eq!(table.poll(), Some((3, true)));
        assert_eq!(table.poll(), None);
        assert!(table.set(3, false) && table.set(3, true) && table.set(3, false));
        assert_eq!(table.poll(), Some((3, false)));
        assert_eq!(table.poll(), None);
        assert!(!table.contains(3));
    }

    #[test]
    fn a_full_table_refuses_and_gets_room_again() {
        let mut table = Pending::new();
        for neighbour in 0..PENDING_MAX as u16 {
            assert!(table.set(neighbour, true));
        }
        assert!(!table.set(99, true));
        while table.poll().is_some() {}
        assert!(table.set(5, false));
        assert_eq!(table.poll(), Some((5, false)));
        assert!(table.set(99, true));
        assert_eq!(table.poll(), Some((99, true)));
    }
}
