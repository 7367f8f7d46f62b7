//! Duplicate suppression: a frame whose Imm-ACK was lost arrives again.
//!
//! A sender repeats a frame before it sends the next one, so the last frame of each source is
//! sufficient. The sequence number alone is not sufficient: a neighbour that sends to other
//! nodes wraps its eight bits in under a second, and a restarted neighbour may start at any number.
//! A copy must therefore also have the same payload checksum, and arrive soon.

use redpoll_base::{Duration, Instant, checksum::Checksum, least};
use redpoll_wire::ieee802154::{Address, FrameHeader};

/// Number of remembered sources. A further one replaces the source that was heard least recently; a
/// copy of the replaced source's frame is then not recognised.
const SOURCES: usize = 16;

#[derive(Clone, Copy, Debug)]
struct ReceivedFrame {
    heard_at: Instant,
    src: Address,
    dsn: u8,
    checksum: u16,
}

impl ReceivedFrame {
    fn new(heard_at: Instant, src: Address, dsn: u8, payload: &[u8]) -> Self {
        let mut sum = Checksum::new();
        sum.add(payload);
        ReceivedFrame {
            heard_at,
            src,
            dsn,
            checksum: sum.finish(),
        }
    }

    fn repeats(&self, old: &ReceivedFrame, timeout: Duration) -> bool {
        old.src == self.src
            && old.dsn == self.dsn
            && old.checksum == self.checksum
            && self.heard_at.since(old.heard_at) < timeout
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    entries: [Option<ReceivedFrame>; SOURCES],
}

impl Duplicates {
    pub(crate) const fn new() -> Self {
        Duplicates {
            entries: [None; SOURCES],
        }
    }

    /// Records a frame with an acknowledgment request; returns whether it is a copy of the previous
    /// one, received less than `timeout` ago. A copy does not extend the time: a neighbour that
    /// always sends the same frame, with the same sequence number, is accepted once per `timeout`.
    pub(crate) fn on_frame(
        &mut self,
        now: Instant,
        timeout: Duration,
        src: Address,
        dsn: u8,
        payload: &[u8],
    ) -> bool {
        let new = ReceivedFrame::new(now, src, dsn, payload);
        let Some(slot) = self.slot_of(src) else {
            return false;
        };
        let repeats = slot.as_ref().is_some_and(|old| new.repeats(old, timeout));
        if !repeats {
            let ReceivedFrame {
                heard_at, checksum, ..
            } = new;
            *slot = Some(ReceivedFrame {
                heard_at,
                src,
                dsn,
                checksum,
            });
        }
        repeats
    }

    /// Returns whether a frame is a copy of a recorded one, without recording it.
    #[allow(dead_code, reason = "unused in a MAC without security")]
    pub(crate) fn has(
        &self,
        now: Instant,
        timeout: Duration,
        header: &FrameHeader,
        payload: &[u8],
    ) -> bool {
        let new = ReceivedFrame::new(now, header.src, header.dsn, payload);
        let mut entries = self.entries.iter().flatten();
        entries.any(|old| new.repeats(old, timeout))
    }

    /// Returns the entry of `src`, or otherwise the one to replace: a free one, or the oldest.
    fn slot_of(&mut self, src: Address) -> Option<&mut Option<ReceivedFrame>> {
        let is_its =
            |slot: &Option<ReceivedFrame>| slot.as_ref().is_some_and(|entry| entry.src == src);
        if let Some(at) = self.entries.iter().position(is_its) {
            return self.entries.get_mut(at);
        }
        // A free entry is chosen first: `None` is less than any time.
        let ages = self.entries.iter_mut();
        least(ages.map(|slot| (slot.as_ref().map(|entry| entry.heard_at), slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);
    const A: Address = Address::Short(1);
    const B: Address = Address::Short(2);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_retransmitted_frame_is_distinguished_from_the_next_one() {
        let mut d = Duplicates::new();
        assert!(!d.on_frame(at(0), TIMEOUT, A, 7, b"one"));
        assert!(d.on_frame(at(10), TIMEOUT, A, 7, b"one"));
        assert!(d.on_frame(at(500), TIMEOUT, A, 7, b"one"));
        assert!(!d.on_frame(at(510), TIMEOUT, A, 8, b"one"));
        assert!(d.on_frame(at(520), TIMEOUT, A, 8, b"one"));
    }

    #[test]
    fn sources_do_not_disturb_each_other() {
        let mut d = Duplicates::new();
        assert!(!d.on_frame(at(0), TIMEOUT, A, 7, b"one"));
        assert!(!d.on_frame(at(1), TIMEOUT, B, 7, b"one"));
        assert!(!d.on_frame(at(2), TIMEOUT, Address::Extended([1; 8]), 7, b"one"));
        assert!(d.on_frame(at(3), TIMEOUT, A, 7, b"one"));
        assert!(d.on_frame(at(4), TIMEOUT, B, 7, b"one"));
    }

    #[test]
    fn the_same_number_after_a_wrap_or_a_restart_is_a_new_frame() {
        let mut d = Duplicates::new();
        // Between these two, the neighbour sends 255 frames to other nodes, within the timeout.
        assert!(!d.on_frame(at(0), TIMEOUT, A, 7, b"one"));
        assert!(!d.on_frame(at(800), TIMEOUT, A, 7, b"two"));
        // After the timeout, the same DSN and payload are a new frame of a restarted neighbour.
        assert!(!d.on_frame(at(4_000), TIMEOUT, A, 7, b"two"));
    }

    #[test]
    fn repetitions_do_not_renew_the_time() {
        let mut d = Duplicates::new();
        let passed = (0..100)
            .filter(|i| !d.on_frame(at(i * 100), TIMEOUT, A, 7, b"hello"))
            .count();
        assert_eq!(passed, 4, "at 0, 3, 6 and 9 s");
    }

    #[test]
    fn a_full_table_forgets_the_oldest() {
        let mut d = Duplicates::new();
        let sources = SOURCES as u16;
        for i in 0..=sources {
            assert!(!d.on_frame(at(i.into()), TIMEOUT, Address::Short(i), 1, b"x"));
        }
        for i in 1..=sources {
            assert!(d.on_frame(at(50), TIMEOUT, Address::Short(i), 1, b"x"));
        }
        assert!(!d.on_frame(at(51), TIMEOUT, Address::Short(0), 1, b"x"));
    }
}
