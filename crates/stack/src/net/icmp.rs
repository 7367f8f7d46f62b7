//! ICMPv6 replies and errors (RFC 4443). They are written in place, in the slot of the packet that
//! has caused them.

use redpoll_base::checksum::Checksum;
use redpoll_base::{Duration, Instant, copy, move_within};
use redpoll_wire::icmpv6::unreachable;
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};

use crate::counters::DropReason;

/// The minimum link MTU (RFC 8200 §5). An error quotes no more of a packet than fits into it
/// (RFC 4443 §2.4(c)).
const MIN_MTU: usize = 1280;
/// Bytes of ICMPv6 type, code, checksum and the next four bytes of each error.
const ERROR_HEADER: usize = 8;
/// The type of a redirect (RFC 4861 §4.5).
const REDIRECT: u8 = 137;
/// Bytes of ICMPv6 type, code, checksum, identifier and sequence number of an echo.
pub(crate) const ECHO_HEADER: usize = 8;
const BEFORE_QUOTE: usize = Ipv6Header::LEN + ERROR_HEADER;

/// An ICMPv6 error. MTU and pointer have 16 bits, so that a [`Refusal`] fits the two registers in
/// which a result is returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IcmpError {
    /// RFC 4443 §3.1, with this code.
    Unreachable { code: u8 },
    /// RFC 4443 §3.2.
    PacketTooBig { mtu: u16 },
    /// RFC 4443 §3.3, code 0.
    HopLimitExceeded,
    /// RFC 4443 §3.3, code 1.
    ReassemblyTimeExceeded,
    /// RFC 4443 §3.4; the pointer counts bytes from the packet's beginning.
    ParameterProblem { code: u8, pointer: u16 },
}

impl IcmpError {
    pub(crate) const NO_ROUTE: Self = Self::unreachable(unreachable::NO_ROUTE);
    /// The packet would leave the scope of its source.
    pub(crate) const BEYOND_SCOPE: Self = Self::unreachable(unreachable::BEYOND_SCOPE);
    /// No node is known to have the address.
    pub(crate) const ADDRESS_UNREACHABLE: Self = Self::unreachable(unreachable::ADDRESS);
    pub(crate) const PORT_UNREACHABLE: Self = Self::unreachable(unreachable::PORT);

    pub(crate) const fn unreachable(code: u8) -> Self {
        IcmpError::Unreachable { code }
    }

    /// Returns the type, the code, and the last two of the four bytes after the checksum.
    fn fields(self) -> (u8, u8, u16) {
        match self {
            IcmpError::Unreachable { code } => (1, code, 0),
            IcmpError::PacketTooBig { mtu } => (2, 0, mtu),
            IcmpError::HopLimitExceeded => (3, 0, 0),
            IcmpError::ReassemblyTimeExceeded => (3, 1, 0),
            IcmpError::ParameterProblem { code, pointer } => (4, code, pointer),
        }
    }
}

/// The reason why a packet is dropped, and the error that its sender may get.
pub(crate) struct Refusal(pub(crate) DropReason, pub(crate) Option<IcmpError>);

impl From<(DropReason, Option<IcmpError>)> for Refusal {
    fn from((reason, error): (DropReason, Option<IcmpError>)) -> Self {
        Refusal(reason, error)
    }
}

impl From<DropReason> for Refusal {
    fn from(reason: DropReason) -> Self {
        Refusal(reason, None)
    }
}

/// Returns whether `error` may be sent about this packet (RFC 4443 §2.4(e)). `payload` may be only
/// the beginning of its payload.
pub(crate) fn may_answer(header: &Ipv6Header, payload: &[u8], error: IcmpError) -> bool {
    // RFC 4443 §2.4 (e.3) has two exceptions: packet too big, and unknown options.
    let group = header.dst.is_multicast()
        && !matches!(
            error,
            IcmpError::PacketTooBig { .. } | IcmpError::ParameterProblem { code: 2, .. }
        );
    let source = !header.src.is_unspecified() && !header.src.is_multicast();
    source && !group && !is_error(header.next_header, payload)
}

/// Returns whether a packet is, or could be, an ICMPv6 error or a redirect (RFC 4443 §2.4 (e.1),
/// (e.2)).
fn is_error(first: u8, payload: &[u8]) -> bool {
    let Ok((protocol, offset)) = ipv6::skip_extension_headers(first, payload) else {
        return true;
    };
    let upper = payload.get(offset..).unwrap_or_default();
    let is_error_type = |kind: &u8| *kind < 128 || *kind == REDIRECT;
    match (protocol, upper) {
        (next_header::ICMPV6, _) => upper.first().is_none_or(is_error_type),
        // Only the first fragment has the type, so each fragment of ICMPv6 may be an error.
        (next_header::FRAGMENT, _) => upper.first() == Some(&next_header::ICMPV6),
        _ => false,
    }
}

/// Turns the packet in the first `len` bytes of `buffer` into an ICMPv6 error about it, with the
/// addresses and the hop limit of `ip`. Returns the IPv6 header of the error, or `None` if the
/// buffer is too small.
pub(crate) fn write_error(
    buffer: &mut [u8],
    len: usize,
    ip: Ipv6Header,
    error: IcmpError,
) -> Option<Ipv6Header> {
    let room = buffer.len().min(MIN_MTU).checked_sub(BEFORE_QUOTE)?;
    let quoted = len.min(room);
    let total = BEFORE_QUOTE.checked_add(quoted)?;
    let buffer = buffer.get_mut(..total)?;
    move_within(buffer, 0..quoted, BEFORE_QUOTE);
    let (kind, code, word) = error.fields();
    let [high, low] = word.to_be_bytes();
    buffer
        .get_mut(Ipv6Header::LEN..BEFORE_QUOTE)?
        .copy_from_slice(&[kind, code, 0, 0, 0, 0, high, low]);
    finish(buffer, ip)
}

/// Fills `message` with an echo request (RFC 4443 §4.1), whose addresses are those of `ip`.
pub(crate) fn write_echo_request(
    message: &mut [u8],
    ip: &Ipv6Header,
    ident: u16,
    seq: u16,
) -> Option<()> {
    // With `fill`, the program would contain another library routine, which fills memory with a
    // byte other than zero.
    for piece in message.chunks_mut(8) {
        copy(&[0x70; 8], piece);
    }
    let ([a, b], [c, d]) = (ident.to_be_bytes(), seq.to_be_bytes());
    *message.first_chunk_mut()? = [128, 0, 0, 0, a, b, c, d];
    put_checksum(message, ip)
}

/// Turns an echo request into its reply (RFC 4443 §4.2), with the addresses and the
/// hop limit of `ip`. Returns the reply's IPv6 header.
pub(crate) fn write_echo_reply(packet: &mut [u8], ip: Ipv6Header) -> Option<Ipv6Header> {
    let message = packet.get_mut(Ipv6Header::LEN..)?;
    *message.first_mut()? = 129;
    message.get_mut(2..4)?.copy_from_slice(&[0, 0]);
    finish(packet, ip)
}

/// Writes the IPv6 header before the ICMPv6 message in `packet`, and the message's checksum. The
/// checksum field must be zero before the call.
fn finish(packet: &mut [u8], ip: Ipv6Header) -> Option<Ipv6Header> {
    let (head, message) = packet.split_at_mut_checked(Ipv6Header::LEN)?;
    let len = u16::try_from(message.len()).ok()?;
    let header = Ipv6Header {
        payload_len: len,
        next_header: next_header::ICMPV6,
        ..ip
    };
    head.copy_from_slice(&header.to_bytes());
    put_checksum(message, &header)?;
    Some(header)
}

/// Writes the checksum of a message with the addresses of `ip`. Its checksum field must be zero.
pub(crate) fn put_checksum(message: &mut [u8], ip: &Ipv6Header) -> Option<()> {
    let sum = Checksum::of_payload(&ip.src, &ip.dst, next_header::ICMPV6, message);
    message
        .get_mut(2..4)?
        .copy_from_slice(&sum.finish().to_be_bytes());
    Some(())
}

/// Limits the rate of ICMPv6 errors (RFC 4443 §2.4(f)), or of resets for segments
/// of no connection, by a token bucket.
#[derive(Debug)]
pub(crate) struct ErrorLimiter {
    tokens: u8,
    refilled: Instant,
}

impl ErrorLimiter {
    const BURST: u8 = 10;
    /// The interval of one token. The ten errors per second of the example in RFC 4443 §2.4(f)
    /// would take a fifth of the capacity of a radio route of two hops.
    const INTERVAL: Duration = Duration::from_millis(500);

    pub(crate) const fn new() -> Self {
        ErrorLimiter {
            tokens: Self::BURST,
            refilled: Instant::ZERO,
        }
    }

    /// Takes a token. Returns whether there was one, so that one more error may leave now.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        while self.tokens < Self::BURST && now >= self.refilled + Self::INTERVAL {
            self.tokens = self.tokens.saturating_add(1);
            self.refilled += Self::INTERVAL;
        }
        if self.tokens == Self::BURST {
            self.refilled = now;
        }
        match self.tokens.checked_sub(1) {
            Some(rest) => {
                self.tokens = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Addr;

    fn packet(next_header: u8, payload: &[u8]) -> [u8; 1280] {
        let header = Ipv6Header {
            payload_len: payload.len() as u16,
            next_header,
            hop_limit: 1,
            src: Addr([0xfd; 16]),
            dst: Addr([0xfe; 16]),
            ..Ipv6Header::default()
        };
        let mut bytes = [0; 1280];
        bytes[..40].copy_from_slice(&header.to_bytes());
        bytes[40..40 + payload.len()].copy_from_slice(payload);
        bytes
    }

    #[test]
    fn an_error_quotes_the_packet_and_has_a_valid_checksum() {
        let original = packet(17, &[7; 30]);
        let mut buffer = original;
        let me = Addr([0xaa; 16]);
        let ip = Ipv6Header {
            src: me,
            dst: Addr([0xfd; 16]),
            hop_limit: 64,
            ..Ipv6Header::default()
        };
        let written = write_error(&mut buffer, 70, ip, IcmpError::HopLimitExceeded).unwrap();
        assert_eq!(written.payload_len, 8 + 70);
        let len = 48 + 70;
        let (header, message) = Ipv6Header::parse(&buffer[..len]).unwrap();
        assert_eq!((header.src, header.dst), (me, Addr([0xfd; 16])));
        assert_eq!(message[..2], [3, 0]);
        assert_eq!(message[8..], original[..70]);
        let mut sum = Checksum::pseudo_header(&me, &header.dst, 58, message.len() as u32);
        sum.add(message);
        assert!(sum.is_valid());
    }

    #[test]
    fn a_long_packet_is_quoted_up_to_the_minimum_mtu() {
        let mut buffer = packet(17, &[7; 1240]);
        let error = IcmpError::PacketTooBig { mtu: 1280 };
        let ip = Ipv6Header::default();
        let written = write_error(&mut buffer, 1280, ip, error).unwrap();
        assert_eq!(written.payload_len, 1240);
        assert_eq!(buffer[40..48][4..], 1280u32.to_be_bytes());
    }

    #[test]
    fn errors_are_never_answered_by_errors() {
        let quiet = |nh, payload: &[u8]| {
            let bytes = packet(nh, payload);
            let (header, _) = Ipv6Header::parse(&bytes).unwrap();
            !may_answer(&header, payload, IcmpError::NO_ROUTE)
        };
        assert!(quiet(58, &[1, 0, 0, 0]));
        assert!(quiet(58, &[]));
        // An error behind extension headers.
        assert!(quiet(60, &[58, 0, 1, 4, 0, 0, 0, 0, 1, 0, 0, 0]));
        assert!(quiet(44, &[58, 0, 0, 8, 0, 0, 0, 0, 128]));
        assert!(!quiet(60, &[58, 0, 1, 4, 0, 0, 0, 0, 128, 0, 0, 0]));
        assert!(!quiet(58, &[128, 0, 0, 0]));
        assert!(!quiet(17, &[]));
    }

    #[test]
    fn the_limiter_allows_a_burst_then_two_a_second() {
        let mut limiter = ErrorLimiter::new();
        let mut sent = 0;
        for ms in 0..10_000 {
            sent += u32::from(limiter.admit(Instant::from_millis(ms)));
        }
        assert!((28..=31).contains(&sent), "{sent}");
    }
}
