//! The rate of echo requests into the mesh.
//!
//! RFC 4443 §4.2 requires a reply as long as the request, so each request occupies the air of its
//! whole path twice. Any host can send requests, and a node can only refuse to reply to them. The
//! border router therefore limits the bytes of echo requests to each destination.

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};

/// Number of meters. Destinations whose addresses have the same last five bits share one.
const METERS: usize = 32;
/// Time for which a byte of a request occupies its meter: 256 bytes per second pass, more than
/// twice as many as `ping` sends by default.
const BYTE: Duration = Duration::from_micros(1_000_000 / 256);
/// Maximum time for which a meter is occupied: a burst of 4,096 bytes, which is three full packets.
const BURST: Duration = Duration::from_secs(16);

/// Limits the echo requests to each destination.
#[derive(Clone, Debug)]
pub(crate) struct EchoLimit {
    /// For each meter (a rate limiter of some destinations), the time until which the bytes of
    /// passed requests occupy it.
    occupied: [Instant; METERS],
}

impl EchoLimit {
    pub(crate) const fn new() -> Self {
        EchoLimit {
            occupied: [Instant::ZERO; METERS],
        }
    }

    /// Returns whether the echo request of `len` bytes to `dst` may pass, and counts it if so.
    pub(crate) fn admit(&mut self, now: Instant, dst: &Addr, len: usize) -> bool {
        let [.., last] = dst.0;
        let Some(occupied) = self.occupied.get_mut(usize::from(last) % METERS) else {
            return false;
        };
        let until = (*occupied).max(now) + BYTE.times(len as u64);
        let may_pass = until.since(now) <= BURST;
        if may_pass {
            *occupied = until;
        }
        may_pass
    }
}

/// Returns whether `payload` after the IPv6 header is an echo request (RFC 4443 §4.1). A fragment
/// of an ICMPv6 message counts as a request, because only the first fragment has the type.
pub(crate) fn is_echo_request(header: &Ipv6Header, payload: &[u8]) -> bool {
    const ECHO_REQUEST: u8 = 128;
    let Ok((protocol, offset)) = ipv6::skip_extension_headers(header.next_header, payload) else {
        return false;
    };
    let first = payload.get(offset..).and_then(<[u8]>::first);
    match protocol {
        next_header::ICMPV6 => first == Some(&ECHO_REQUEST),
        next_header::FRAGMENT => first == Some(&next_header::ICMPV6),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DST: Addr = Addr([7; 16]);

    /// Returns how many bytes of requests pass in `seconds`, if a request of `len` bytes arrives in
    /// each interval of `every_ms`.
    fn passed(len: usize, every_ms: u64, seconds: u64) -> u64 {
        let mut limit = EchoLimit::new();
        let times = (0..seconds * 1_000).step_by(every_ms as usize);
        let admitted = times.filter(|ms| limit.admit(Instant::from_millis(*ms), &DST, len));
        admitted.count() as u64 * len as u64
    }

    #[test]
    fn a_flood_of_any_size_and_rate_passes_at_the_limit() {
        for len in [48, 112, 500, 1_280] {
            for every_ms in [1, 10, 100, 180] {
                let bytes = passed(len, every_ms, 120);
                let most = 4_096 + 256 * 120;
                let offered = 120_000 / every_ms * len as u64;
                assert!(bytes <= most, "{len} B every {every_ms} ms: {bytes}");
                let least = offered.min(most - 1_300);
                assert!(bytes >= least, "{len} B every {every_ms} ms: {bytes}");
            }
        }
    }

    #[test]
    fn ordinary_pings_pass() {
        assert_eq!(passed(104, 1_000, 600), 600 * 104, "ping");
        assert!(passed(1_048, 200, 1) >= 3 * 1_048, "ping -s 1000 -c 3");
    }

    #[test]
    fn another_destination_has_its_own_limit() {
        let mut limit = EchoLimit::new();
        let now = Instant::from_millis(5);
        while limit.admit(now, &DST, 1_000) {}
        assert!(limit.admit(now, &Addr([8; 16]), 1_000));
    }
}
