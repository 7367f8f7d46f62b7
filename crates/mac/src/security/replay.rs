//! Replay protection by the frame counters of neighbours (IEEE 802.15.4-2015 §9.2.3,
//! secDeviceDescriptors).
//!
//! A neighbour's counter only grows, so one number for each pair of neighbour and key is enough.
//! The table is bounded, and only a frame that a key of this network authenticates makes an entry.
//! When the table is full, frames of all other neighbours are rejected: replacing an entry would
//! allow replays of its neighbour's frames.

use redpoll_base::Memory;

/// The last frame of a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayEntry {
    eui64: [u8; 8],
    last: u32,
    key: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// The counter is higher than in all recorded frames of the sender.
    New,
    /// The frame has the counter of its sender's last one.
    Repeated,
    /// The frame has a lower counter than its sender's last one.
    Old,
    /// The sender has no entry, and the table is full.
    NoRoom,
}

pub(super) struct Replay<M: Memory + 'static> {
    entries: M::Table<Option<ReplayEntry>>,
}

impl<M: Memory + 'static> Replay<M> {
    pub(super) fn new(entries: M::Table<Option<ReplayEntry>>) -> Self {
        Replay { entries }
    }

    pub(super) fn age(&self, eui64: [u8; 8], key: u8, counter: u32) -> Age {
        let entries = self.entries.as_ref();
        let mut known = entries.iter().flatten();
        match known.find(|entry| entry.eui64 == eui64 && entry.key == key) {
            Some(entry) if counter > entry.last => Age::New,
            Some(entry) if counter == entry.last => Age::Repeated,
            Some(_) => Age::Old,
            None if entries.iter().any(Option::is_none) => Age::New,
            None => Age::NoRoom,
        }
    }

    /// Records a frame that is [`Age::New`] and authentic.
    pub(super) fn note(&mut self, eui64: [u8; 8], key: u8, counter: u32) {
        let entries = self.entries.as_mut();
        let own = |entry: &ReplayEntry| entry.eui64 == eui64 && entry.key == key;
        let at = entries
            .iter()
            .position(|place| place.as_ref().is_some_and(own))
            .or_else(|| entries.iter().position(Option::is_none));
        if let Some(place) = at.and_then(|at| entries.get_mut(at)) {
            *place = Some(ReplayEntry {
                eui64,
                last: counter,
                key,
            });
        }
    }

    pub(super) fn forget_key(&mut self, key: u8) {
        for place in self.entries.as_mut() {
            if place.is_some_and(|entry| entry.key == key) {
                *place = None;
            }
        }
    }

    pub(super) fn forget(&mut self, eui64: [u8; 8]) -> bool {
        let mut was_known = false;
        for place in self.entries.as_mut() {
            if place.is_some_and(|entry| entry.eui64 == eui64) {
                *place = None;
                was_known = true;
            }
        }
        was_known
    }

    pub(super) fn len(&self) -> usize {
        self.entries.as_ref().iter().flatten().count()
    }
}
