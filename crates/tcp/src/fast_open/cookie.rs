//! The cookie (RFC 7413 §4.1).

use core::fmt;

use redpoll_base::{Addr, Instant};

use crate::isn::Purpose;
use crate::{Endpoint, IsnGenerator};
use redpoll_base::copy;

/// Contents of a Fast Open option (RFC 7413 §4.1.1): a cookie, or nothing to request one. Our
/// cookies have eight bytes. They are opaque to clients.
// The alignment lets the processor copy options by words.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(align(4))]
pub struct FastOpenCookie {
    len: u8,
    bytes: [u8; MOST],
}

/// RFC 7413 §4.1.1: a cookie has 4 to 16 bytes.
const LEAST: usize = 4;
const MOST: usize = 16;

const OURS: u8 = 8;

/// A cookie's period is 2^36 us (19 hours). The cookie of the previous period is also valid.
const PERIOD_BITS: u32 = 36;

impl FastOpenCookie {
    /// Requests a cookie.
    pub const REQUEST: FastOpenCookie = FastOpenCookie {
        len: 0,
        bytes: [0; MOST],
    };

    /// Makes a cookie of these bytes. Returns `None` unless the length is 0 or an even number from
    /// 4 to 16 (RFC 7413 §4.1.1).
    pub fn new(bytes: &[u8]) -> Option<FastOpenCookie> {
        let len = bytes.len();
        let is_cookie = (LEAST..=MOST).contains(&len) && len.is_multiple_of(2);
        if !is_cookie && len > 0 {
            return None;
        }
        let mut cookie = FastOpenCookie {
            len: len as u8,
            ..Self::REQUEST
        };
        copy(bytes, &mut cookie.bytes);
        Some(cookie)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Returns the bytes in groups of four, padded with zeros.
    pub(crate) fn words(&self) -> &[[u8; 4]] {
        let (words, _) = self.bytes.as_chunks();
        let count = usize::from(self.len).div_ceil(4);
        words.get(..count).unwrap_or(words)
    }

    /// Returns whether the option requests a cookie.
    pub fn is_request(&self) -> bool {
        self.len == 0
    }

    /// Returns the length in bytes; 0 for a request.
    pub(crate) fn len(&self) -> u8 {
        self.len
    }
}

impl fmt::Debug for FastOpenCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FastOpenCookie({:02x?})", self.as_bytes())
    }
}

impl IsnGenerator {
    /// Returns the current cookie of a client at this address (GetCookie, RFC 7413 §4.1.2).
    pub(crate) fn fast_open_cookie(&self, now: Instant, client: &Addr) -> FastOpenCookie {
        let mut cookie = FastOpenCookie {
            len: OURS,
            ..FastOpenCookie::REQUEST
        };
        let (words, _) = cookie.bytes.as_chunks_mut();
        for (word, half) in words.iter_mut().zip(0..2) {
            *word = self.cookie_half(half, period(now), client).to_le_bytes();
        }
        cookie
    }

    /// Returns whether a client at this address got this cookie in the current or the previous
    /// period (IsCookieValid, RFC 7413 §4.1.2).
    pub(crate) fn is_fast_open_cookie(
        &self,
        now: Instant,
        client: &Addr,
        cookie: &FastOpenCookie,
    ) -> bool {
        let (words, _) = cookie.bytes.as_chunks();
        let given = |age| {
            let period = period(now).wrapping_sub(age);
            let mut halves = words.iter().zip(0..2);
            halves.all(|(word, half)| {
                u32::from_le_bytes(*word) == self.cookie_half(half, period, client)
            })
        };
        cookie.len == OURS && (0..2).any(given)
    }

    #[inline(never)] // size
    fn cookie_half(&self, half: u32, period: u32, client: &Addr) -> u32 {
        let client = Endpoint::new(*client, 0);
        self.hash(Purpose::FastOpen, &client, &client, [period, half])
    }
}

fn period(now: Instant) -> u32 {
    (now.as_micros() >> PERIOD_BITS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Duration;

    #[test]
    fn a_cookie_is_empty_or_has_an_even_length_of_4_to_16_bytes() {
        for (len, good) in [(0, true), (2, false), (4, true), (5, false), (16, true)] {
            assert_eq!(
                FastOpenCookie::new(&[7; 18][..len]).is_some(),
                good,
                "{len}"
            );
        }
        assert_eq!(FastOpenCookie::new(&[7; 18]), None);
    }

    #[test]
    fn a_cookie_is_for_one_address_one_server_and_a_day() {
        let server = IsnGenerator::new([3; 16]);
        let (a, b) = (Addr([1; 16]), Addr([2; 16]));
        let start = Instant::from_micros(5 << PERIOD_BITS);
        let cookie = server.fast_open_cookie(start, &a);
        assert_eq!(cookie.as_bytes().len(), 8);
        assert_ne!(cookie.as_bytes()[..4], cookie.as_bytes()[4..]);
        let period = Duration::from_micros(1 << PERIOD_BITS);
        let last = start + period + Duration::from_micros((1 << PERIOD_BITS) - 1);
        for (now, client, good) in [
            (start, a, true),
            (last, a, true),
            (last + Duration::from_micros(1), a, false),
            (start, b, false),
        ] {
            assert_eq!(server.is_fast_open_cookie(now, &client, &cookie), good);
        }
        let other = IsnGenerator::new([4; 16]);
        assert!(!other.is_fast_open_cookie(start, &a, &cookie));
        assert!(!server.is_fast_open_cookie(start, &a, &FastOpenCookie::REQUEST));
    }
}
