//! Initial sequence numbers (RFC 6528): `ISN = M + F(4-tuple, secret)`.
//!
//! M is the 4-microsecond clock of RFC 9293 §3.4.1; F is SipHash-2-4
//! (Aumasson and Bernstein, 2012), a keyed function made for short input.

use redpoll_base::Instant;

use crate::{Endpoint, SeqNum};

/// Makes initial sequence numbers. One per host.
#[derive(Clone)]
pub struct IsnGenerator {
    key: [u64; 2],
}

impl IsnGenerator {
    /// A generator for the given secret, which must be hard to guess and
    /// should change at each boot (RFC 6528 §3).
    pub const fn new(secret: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(secret);
        IsnGenerator {
            key: [both as u64, (both >> 64) as u64],
        }
    }

    /// The initial sequence number for a connection opened at `now`.
    ///
    /// RFC 6528 §3: `ISN = M + F(localip, localport, remoteip, remoteport, secretkey)`.
    pub fn isn(&self, now: Instant, local: &Endpoint, remote: &Endpoint) -> SeqNum {
        let m = (now.as_micros() / 4) as u32;
        SeqNum(self.hash(local, remote) as u32) + m
    }

    /// What to add to the timestamp clock of a connection between these ends
    /// ([`Connection::set_timestamp_offset`](crate::Connection::set_timestamp_offset)).
    ///
    /// RFC 7323 §7.1: it hides how long the node has been up, and differs from
    /// connection to connection. It stays the same for the same ends, so that
    /// timestamps go on growing from one of their connections to the next,
    /// which RFC 9293 §3.6.1 (SHLD-4) relies on.
    pub fn timestamp_offset(&self, local: &Endpoint, remote: &Endpoint) -> u32 {
        (self.hash(local, remote) >> 32) as u32
    }

    fn hash(&self, local: &Endpoint, remote: &Endpoint) -> u64 {
        let mut hash = SipHash::new(self.key);
        for endpoint in [local, remote] {
            let addr = u128::from_le_bytes(*endpoint.addr.octets());
            hash.word(addr as u64);
            hash.word((addr >> 64) as u64);
        }
        let ports = u64::from(local.port) | u64::from(remote.port) << 16;
        // The last word carries the input's length, 36 bytes, in its top byte.
        hash.word(ports | 36 << 56);
        hash.finish()
    }
}

impl core::fmt::Debug for IsnGenerator {
    /// Does not show the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("IsnGenerator { .. }")
    }
}

struct SipHash {
    v: [u64; 4],
}

impl SipHash {
    fn new([k0, k1]: [u64; 2]) -> Self {
        SipHash {
            v: [
                k0 ^ 0x736f_6d65_7073_6575,
                k1 ^ 0x646f_7261_6e64_6f6d,
                k0 ^ 0x6c79_6765_6e65_7261,
                k1 ^ 0x7465_6462_7974_6573,
            ],
        }
    }

    fn word(&mut self, m: u64) {
        self.v[3] ^= m;
        self.round();
        self.round();
        self.v[0] ^= m;
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.v;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.v = [a, b, c, d];
    }

    fn finish(mut self) -> u64 {
        self.v[2] ^= 0xff;
        for _ in 0..4 {
            self.round();
        }
        let [a, b, c, d] = self.v;
        a ^ b ^ c ^ d
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::{Addr, Duration};

    /// The example of the SipHash paper, appendix A: key 00..0f, input 00..0e.
    #[test]
    fn siphash_example_of_the_paper() {
        let key = u128::from_le_bytes(core::array::from_fn(|i| i as u8));
        let mut hash = SipHash::new([key as u64, (key >> 64) as u64]);
        hash.word(0x0706_0504_0302_0100);
        hash.word(0x0f0e_0d0c_0b0a_0908);
        assert_eq!(hash.finish(), 0xa129_ca61_49be_45e5);
    }

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
