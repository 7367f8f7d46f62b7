//! Detection of clients that are too slow, and a limit for the data that a server sends to each
//! client.

use crate::{Duration, divide_long};

/// The progress of an answer to one client, as the server knows it.
///
/// If clients occupy all connections of a server, it resets the connection with the lowest
/// [`slow_pace`](Self::slow_pace). For the time [`CAREFUL`](Self::CAREFUL) after this, it limits
/// the unacknowledged bytes of each answer ([`allowance`](Self::allowance)). Otherwise, slow
/// clients would use much air time for answers that the server does not complete.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes of the answer that the client has acknowledged.
    pub taken: u64,
    /// Written bytes that the client has not acknowledged.
    pub unacked: u64,
    /// Time since the answer began, or, if the server waited for the acknowledgment of the
    /// [first bytes](Self::is_beginning), time since that acknowledgment arrived.
    pub age: Duration,
}

/// Bytes of an answer that a server, while it limits unacknowledged bytes, writes before the client
/// acknowledges any of them. With its headers, a segment of this size takes two frames, even if the
/// client is outside the mesh.
const FIRST_BYTES: u64 = 176;
/// Bytes at the end of an answer that are written without waiting for an acknowledgment. Waiting
/// would save little air time and cost another round trip.
const END_BYTES: u64 = 80;
/// Age from which the client of an answer can count as too slow.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes that a client must receive in a second to keep its connection.
const LEAST_PACE: u32 = 300;
/// Bytes that a client must receive in a second until it has received [`BEGINNING`]. The value is
/// lower because round trips limit the pace, and because a server that limits unacknowledged bytes
/// makes the client wait.
const LEAST_FIRST_PACE: u32 = 120;
/// Bytes of an answer to which [`LEAST_FIRST_PACE`] applies.
const BEGINNING: u64 = 1_500;

impl Delivery {
    /// Time for which a server limits the unacknowledged bytes of answers after it has reset a slow
    /// client's connection to make room.
    pub const CAREFUL: Duration = Duration::from_secs(60);

    /// Returns how many bytes per second the client receives, if the server may reset its
    /// connection to make room for another client.
    pub fn slow_pace(&self) -> Option<u32> {
        if self.age < GRACE {
            return None;
        }
        let least = match self.taken {
            ..BEGINNING => LEAST_FIRST_PACE,
            _ => LEAST_PACE,
        };
        // Limits the bytes, so that the pace fits in 32 bits.
        let taken = self.taken.min(u32::MAX.into());
        let millis = self.age.millis_saturating().min(u32::MAX >> 1);
        let pace = divide_long(taken.wrapping_mul(1_000), millis);
        (pace < least).then_some(pace)
    }

    /// Returns how many bytes a careful server may write now if the last `rest` bytes of the answer
    /// are still unwritten. The unacknowledged bytes must not exceed the acknowledged ones, or 176
    /// if that is more. The last 80 bytes are always allowed.
    pub fn allowance(&self, rest: u64) -> u64 {
        let most = self.taken.max(FIRST_BYTES).saturating_sub(self.unacked);
        match rest <= most.saturating_add(END_BYTES) {
            true => u64::MAX,
            false => most,
        }
    }

    /// Returns whether at most 176 bytes have been written, and the client has acknowledged all of
    /// them.
    pub fn is_beginning(&self) -> bool {
        self.unacked == 0 && self.taken <= FIRST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(taken: u64, unacked: u64, ms: u64) -> Delivery {
        let age = Duration::from_millis(ms);
        Delivery {
            taken,
            unacked,
            age,
        }
    }

    #[test]
    fn a_client_is_slow_after_two_seconds_below_a_pace_that_depends_on_its_bytes() {
        assert_eq!(delivery(0, 176, 1_999).slow_pace(), None);
        assert_eq!(delivery(0, 176, 2_000).slow_pace(), Some(0));
        // The first 1,500 bytes: 120 bytes per second.
        assert_eq!(delivery(239, 0, 2_000).slow_pace(), Some(119));
        assert_eq!(delivery(240, 0, 2_000).slow_pace(), None);
        // Then 300 bytes per second.
        assert_eq!(delivery(1_499, 0, 12_000).slow_pace(), None);
        assert_eq!(delivery(1_500, 0, 12_000).slow_pace(), Some(125));
        assert_eq!(delivery(3_000, 0, 10_000).slow_pace(), None);
        assert_eq!(delivery(1 << 40, 0, 2_000).slow_pace(), None);
        assert_eq!(delivery(0, 0, u64::MAX / 1_000).slow_pace(), Some(0));
    }

    #[test]
    fn a_careful_server_sends_as_much_as_the_client_has_acknowledged() {
        assert_eq!(delivery(0, 0, 0).allowance(10_000), 176);
        assert_eq!(delivery(0, 100, 0).allowance(10_000), 76);
        assert_eq!(delivery(0, 176, 0).allowance(10_000), 0);
        assert_eq!(delivery(176, 0, 0).allowance(10_000), 176);
        assert_eq!(delivery(1_000, 600, 0).allowance(10_000), 400);
        assert_eq!(delivery(0, 2_000, 0).allowance(10_000), 0);
        // The last 80 bytes.
        assert_eq!(delivery(0, 176, 0).allowance(80), u64::MAX);
        assert_eq!(delivery(0, 176, 0).allowance(81), 0);
        assert_eq!(delivery(0, 0, 0).allowance(256), u64::MAX);
    }

    #[test]
    fn the_beginning_ends_when_more_than_the_first_bytes_are_acknowledged() {
        assert!(delivery(176, 0, 0).is_beginning());
        assert!(!delivery(0, 176, 0).is_beginning());
        assert!(!delivery(352, 0, 0).is_beginning());
    }
}
