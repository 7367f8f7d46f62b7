//! Datagrams that need no more fragments: complete ones and those given up.
//!
//! If a link ACK is lost, the sender repeats a frame that has arrived. If that was the last
//! fragment, the datagram is complete and its slot is released. The copy must neither start a
//! second reassembly, which could never finish, nor deliver the packet twice. The fragments after a
//! rejected first fragment must not start a reassembly either.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::Address;

/// The identity of a datagram among the fragments on a link (RFC 4944 §5.3: source, destination,
/// size and tag).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) size: u16,
    pub(crate) tag: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DatagramEnd {
    /// The datagram was passed to the upper layer.
    Complete,
    /// The datagram was dropped or rejected, or has timed out.
    GivenUp,
}

#[derive(Clone, Copy, Debug)]
struct FinishedDatagram {
    key: Key,
    fate: DatagramEnd,
    expires: Instant,
}

/// Number of entries. A sender repeats a frame for far less than a second, and fewer than 16 other
/// fragmented datagrams arrive in that time.
const ENTRIES: usize = 16;

/// The most recently finished datagrams, in a ring: a new entry replaces the oldest one.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    entries: [Option<FinishedDatagram>; ENTRIES],
    next: usize,
}

impl Finished {
    pub(crate) const fn new() -> Self {
        Finished {
            entries: [None; ENTRIES],
            next: 0,
        }
    }

    pub(crate) fn remember(&mut self, key: Key, fate: DatagramEnd, expires: Instant) {
        let entry = FinishedDatagram { key, fate, expires };
        let known = self
            .entries
            .iter_mut()
            .flatten()
            .find(|entry| entry.key == key);
        if let Some(known) = known {
            *known = entry;
            return;
        }
        if let Some(place) = self.entries.get_mut(self.next) {
            *place = Some(entry);
        }
        self.next = self.next.wrapping_add(1) % ENTRIES;
    }

    pub(crate) fn fate(&self, key: &Key, now: Instant) -> Option<DatagramEnd> {
        self.entries
            .iter()
            .flatten()
            .find(|entry| entry.key == *key && now < entry.expires)
            .map(|entry| entry.fate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tag: u16) -> Key {
        Key {
            src: Address::Short(1),
            dst: Address::Short(2),
            size: 500,
            tag,
        }
    }

    #[test]
    fn an_entry_lasts_until_it_expires() {
        let mut ring = Finished::new();
        ring.remember(key(7), DatagramEnd::Complete, Instant::from_millis(100));
        assert_eq!(
            ring.fate(&key(7), Instant::from_millis(99)),
            Some(DatagramEnd::Complete)
        );
        assert_eq!(ring.fate(&key(7), Instant::from_millis(100)), None);
        assert_eq!(ring.fate(&key(8), Instant::ZERO), None);
    }

    #[test]
    fn the_oldest_entry_is_evicted() {
        let mut ring = Finished::new();
        let later = Instant::from_millis(100);
        for tag in 0..=ENTRIES as u16 {
            ring.remember(key(tag), DatagramEnd::GivenUp, later);
        }
        assert_eq!(ring.fate(&key(0), Instant::ZERO), None);
        assert_eq!(
            ring.fate(&key(1), Instant::ZERO),
            Some(DatagramEnd::GivenUp)
        );
    }

    #[test]
    fn an_entry_remembered_again_takes_no_second_slot() {
        let mut ring = Finished::new();
        let later = Instant::from_millis(100);
        ring.remember(key(0), DatagramEnd::GivenUp, later);
        for _ in 0..100 {
            ring.remember(key(1), DatagramEnd::Complete, later);
        }
        assert_eq!(
            ring.fate(&key(0), Instant::ZERO),
            Some(DatagramEnd::GivenUp)
        );
    }
}
