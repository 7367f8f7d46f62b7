//! Initial sequence numbers (RFC 6528): `ISN = M + F(4-tuple, secret)`.
//!
//! M is the 4-microsecond clock of RFC 9293 §3.4.1; F is HalfSipHash-2-4.

use redpoll_base::Instant;

use crate::{Endpoint, SeqNum};
use redpoll_base::half_sip_hash;

/// Generator of initial sequence numbers and other numbers that an attacker must not guess. Each
/// host needs one.
#[derive(Clone)]
pub struct IsnGenerator {
    keys: [[u32; 2]; 2],
}

/// Purpose of a number. The numbers of one purpose reveal nothing about the numbers of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    SequenceNumber,
    Timestamp,
    SynCookie,
    FastOpen,
    Recycled,
}

impl IsnGenerator {
    /// Creates a generator from a secret, which must be hard to guess and should change at each
    /// boot (RFC 6528 §3).
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

    /// Returns the initial sequence number of a connection opened at `now`. RFC 6528 §3: `ISN = M +
    /// F(localip, localport, remoteip, remoteport, secretkey)`.
    #[inline(never)] // size
    pub fn isn(&self, now: Instant, local: &Endpoint, remote: &Endpoint) -> SeqNum {
        let m = (now.as_micros() >> 2) as u32;
        SeqNum(self.hash(Purpose::SequenceNumber, local, remote, [0, 0])) + m
    }

    /// Returns the offset of the timestamp clock for a connection between these ends
    /// ([`Connection::set_timestamp_offset`](crate::Connection::set_timestamp_offset)). RFC 7323
    /// §7.1: the offset hides how long the node has been up, and differs between connections. It is
    /// constant for the same ends, so timestamps increase from one of their connections to the
    /// next, as RFC 9293 §3.6.1 (SHLD-4) requires.
    #[inline(never)] // size
    pub fn timestamp_offset(&self, local: &Endpoint, remote: &Endpoint) -> u32 {
        self.hash(Purpose::Timestamp, local, remote, [0, 0])
    }

    /// Hashes the purpose, both ends of a connection and two more words.
    // One function serves all purposes to save flash; speed does not matter here.
    #[inline(never)]
    pub(crate) fn hash(
        &self,
        what: Purpose,
        local: &Endpoint,
        remote: &Endpoint,
        [first, second]: [u32; 2],
    ) -> u32 {
        let [numbers, cookies] = &self.keys;
        let key = match what {
            Purpose::SequenceNumber | Purpose::Timestamp => numbers,
            Purpose::SynCookie | Purpose::FastOpen | Purpose::Recycled => cookies,
        };
        let ports = u32::from(local.port) | u32::from(remote.port) << 16;
        let mut words = [0; 12];
        let (of_local, rest) = words.split_at_mut(4);
        let (of_remote, others) = rest.split_at_mut(4);
        others.copy_from_slice(&[ports, what as u32, first, second]);
        for (to, addr) in [(of_local, &local.addr), (of_remote, &remote.addr)] {
            let (words, _) = addr.octets().as_chunks();
            for (to, word) in to.iter_mut().zip(words) {
                *to = u32::from_le_bytes(*word);
            }
        }
        half_sip_hash(*key, &words)
    }
}

impl core::fmt::Debug for IsnGenerator {
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
