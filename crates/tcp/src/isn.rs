//! Initial sequence numbers (RFC 6528): `ISN = M + F(4-tuple, secret)`.
//!
//! M is the 4-microsecond clock of RFC 9293 §3.4.1; F is HalfSipHash-2-4.

use redpoll_base::Instant;

use crate::hash::HalfSipHash;
use crate::{Endpoint, SeqNum};

/// Makes initial sequence numbers, and other numbers that a stranger must not
/// guess. One per host.
#[derive(Clone)]
pub struct IsnGenerator {
    keys: [[u32; 2]; 2],
}

/// What a key is for: what one hash tells must not help against another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    SequenceNumber,
    Cookie,
}

impl IsnGenerator {
    /// A generator for the given secret, which must be hard to guess and
    /// should change at each boot (RFC 6528 §3).
    pub const fn new(secret: [u8; 16]) -> Self {
        let all = u128::from_le_bytes(secret);
        let (low, high) = (all as u64, (all >> 64) as u64);
        IsnGenerator {
            keys: [
                [low as u32, (low >> 32) as u32],
                [high as u32, (high >> 32) as u32],
            ],
        }
    }

    /// The initial sequence number for a connection opened at `now`.
    ///
    /// RFC 6528 §3: `ISN = M + F(localip, localport, remoteip, remoteport, secretkey)`.
    pub fn isn(&self, now: Instant, local: &Endpoint, remote: &Endpoint) -> SeqNum {
        let m = (now.as_micros() >> 2) as u32;
        let f = self.ends(Purpose::SequenceNumber, local, remote);
        SeqNum(f.finish()) + m
    }

    /// What to add to the timestamp clock of a connection between these ends
    /// ([`Connection::set_timestamp_offset`](crate::Connection::set_timestamp_offset)).
    ///
    /// RFC 7323 §7.1: it hides how long the node has been up, and differs from
    /// connection to connection. It stays the same for the same ends, so that
    /// timestamps go on growing from one of their connections to the next,
    /// which RFC 9293 §3.6.1 (SHLD-4) relies on.
    pub fn timestamp_offset(&self, local: &Endpoint, remote: &Endpoint) -> u32 {
        // One word more than for the sequence number: that is another hash.
        self.ends(Purpose::SequenceNumber, local, remote)
            .word(0)
            .finish()
    }

    /// A hash that has taken in both ends of a connection.
    pub(crate) fn ends(&self, what: Purpose, local: &Endpoint, remote: &Endpoint) -> HalfSipHash {
        self.hash(what)
            .addr(&local.addr)
            .addr(&remote.addr)
            .word(u32::from(local.port) | u32::from(remote.port) << 16)
    }

    pub(crate) fn hash(&self, what: Purpose) -> HalfSipHash {
        let [numbers, cookies] = self.keys;
        HalfSipHash::new(match what {
            Purpose::SequenceNumber => numbers,
            Purpose::Cookie => cookies,
        })
    }
}

impl core::fmt::Debug for IsnGenerator {
    /// Does not show the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("IsnGenerator { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::{Addr, Duration};

    #[test]
    fn the_number_moves_with_the_clock_and_depends_on_everything() {
        let generator = IsnGenerator::new([7; 16]);
        let (a, b) = (
            Endpoint::new(Addr([1; 16]), 1),
            Endpoint::new(Addr([2; 16]), 2),
        );
        let t = Instant::from_millis(5);
        let isn = generator.isn(t, &a, &b);
        assert_eq!(
            generator.isn(t + Duration::from_micros(400), &a, &b),
            isn + 100
        );
        let other_port = Endpoint { port: 3, ..b };
        for other in [
            generator.isn(t, &b, &a),
            generator.isn(t, &a, &other_port),
            IsnGenerator::new([8; 16]).isn(t, &a, &b),
        ] {
            assert_ne!(other, isn);
        }
    }
}
