//! ICMPv6 (RFC 4443): errors, echo, and the messages of neighbour discovery ([`nd`]).
//!
//! Redirects (RFC 4861 §4.5) and multicast listener discovery are not implemented: they are parsed
//! as [`Message::Unknown`]. The stack decides when and how often to send an error.

pub mod nd;
#[cfg(test)]
mod tests;

use crate::cursor::Reader;
use crate::ipv6::{self, Ipv6Header, next_header};
use crate::{Cursor, Error, NoRoom};
use nd::{
    DuplicateAddress, NeighborAdvertisement, NeighborSolicitation, Options, RouterAdvertisement,
};
use redpoll_base::{Addr, checksum::Checksum};

/// Message types (RFC 4443 §2.1, RFC 4861 §4).
pub mod message_type {
    /// RFC 4443 §3.1
    pub const DESTINATION_UNREACHABLE: u8 = 1;
    /// RFC 4443 §3.2
    pub const PACKET_TOO_BIG: u8 = 2;
    /// RFC 4443 §3.3
    pub const TIME_EXCEEDED: u8 = 3;
    /// RFC 4443 §3.4
    pub const PARAMETER_PROBLEM: u8 = 4;
    /// RFC 4443 §4.1
    pub const ECHO_REQUEST: u8 = 128;
    /// RFC 4443 §4.2
    pub const ECHO_REPLY: u8 = 129;
    /// RFC 4861 §4.1
    pub const ROUTER_SOLICITATION: u8 = 133;
    /// RFC 4861 §4.2
    pub const ROUTER_ADVERTISEMENT: u8 = 134;
    /// RFC 4861 §4.3
    pub const NEIGHBOR_SOLICITATION: u8 = 135;
    /// RFC 4861 §4.4
    pub const NEIGHBOR_ADVERTISEMENT: u8 = 136;
    /// RFC 6550 §6.
    pub const RPL: u8 = 155;
    /// RFC 6775 §4.4
    pub const DUPLICATE_ADDRESS_REQUEST: u8 = 157;
    /// RFC 6775 §4.4
    pub const DUPLICATE_ADDRESS_CONFIRMATION: u8 = 158;
}

/// Codes of [`Message::DestinationUnreachable`] (RFC 4443 §3.1, RFC 6550 §20.18).
pub mod unreachable {
    /// No route to the destination.
    pub const NO_ROUTE: u8 = 0;
    /// Forbidden by an administrator.
    pub const PROHIBITED: u8 = 1;
    /// The destination is beyond the scope of the source address.
    pub const BEYOND_SCOPE: u8 = 2;
    /// Address unreachable; for example, the link-layer address is not known.
    pub const ADDRESS: u8 = 3;
    /// The port is closed.
    pub const PORT: u8 = 4;
    /// The next hop of a source route is not on the link (RFC 6554 §4.2).
    pub const SOURCE_ROUTE: u8 = 7;
}

/// Codes of [`Message::TimeExceeded`] (RFC 4443 §3.3).
pub mod time_exceeded {
    /// The hop limit became 0 before the destination.
    pub const HOP_LIMIT: u8 = 0;
    /// Not all fragments arrived in time.
    pub const REASSEMBLY: u8 = 1;
}

/// Codes of [`Message::ParameterProblem`] (RFC 4443 §3.4).
pub mod parameter_problem {
    /// A wrong header field.
    pub const HEADER_FIELD: u8 = 0;
    /// An unknown next-header number.
    pub const NEXT_HEADER: u8 = 1;
    /// An unknown IPv6 option.
    pub const OPTION: u8 = 2;
    /// The first fragment lacks headers (RFC 7112 §5).
    pub const INCOMPLETE_HEADERS: u8 = 3;
}

/// Maximum number of bytes of the invoking packet that an error quotes: the minimum MTU without the
/// IPv6 header and the ICMPv6 header (RFC 4443 §2.4 c).
pub const MAX_QUOTED: usize = ipv6::MIN_MTU - Ipv6Header::LEN - HEADER_LEN;

/// Length of type, code, checksum, and the four bytes that follow in every message here.
const HEADER_LEN: usize = 8;
const CHECKSUM_AT: usize = 2;

/// An ICMPv6 message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// The packet could not be delivered.
    DestinationUnreachable {
        /// The reason; see [`mod@unreachable`].
        code: u8,
        /// The beginning of the packet.
        quoted: &'a [u8],
    },
    /// The packet does not fit the next link.
    PacketTooBig {
        /// MTU of the link to the next hop, in bytes.
        mtu: u32,
        /// The beginning of the packet.
        quoted: &'a [u8],
    },
    /// The packet's hop limit or reassembly time was exceeded.
    TimeExceeded {
        /// The reason; see [`time_exceeded`].
        code: u8,
        /// The beginning of the packet.
        quoted: &'a [u8],
    },
    /// A node could not process the packet.
    ParameterProblem {
        /// The reason; see [`parameter_problem`].
        code: u8,
        /// Offset of the faulty field in the packet, in bytes.
        pointer: u32,
        /// The beginning of the packet.
        quoted: &'a [u8],
    },
    /// An echo request.
    EchoRequest {
        /// Identifier of the requesting process.
        ident: u16,
        /// Sequence number of the request.
        seq: u16,
        /// Arbitrary data.
        data: &'a [u8],
    },
    /// The reply to an echo request.
    EchoReply {
        /// The identifier of the request.
        ident: u16,
        /// The sequence number of the request.
        seq: u16,
        /// The data of the request.
        data: &'a [u8],
    },
    /// A host requests router advertisements (RFC 4861 §4.1).
    RouterSolicitation {
        /// Options, for example the host's link-layer address.
        options: Options<'a>,
    },
    /// A router announces itself (RFC 4861 §4.2).
    RouterAdvertisement(RouterAdvertisement<'a>),
    /// A node requests a neighbour's link-layer address, or registers an address (RFC 4861 §4.3).
    NeighborSolicitation(NeighborSolicitation<'a>),
    /// The answer to a solicitation (RFC 4861 §4.4).
    NeighborAdvertisement(NeighborAdvertisement<'a>),
    /// A router reports a registration towards the border router (RFC 6775 §4.4).
    DuplicateAddressRequest(DuplicateAddress),
    /// The answer to a duplicate address request.
    DuplicateAddressConfirmation(DuplicateAddress),
    /// Any other message. A receiver passes unknown errors to the upper layer and drops other
    /// unknown messages (RFC 4443 §2.4 a, b).
    Unknown {
        /// The type; below 128 it is an error.
        message_type: u8,
        /// The code, whose meaning depends on the type.
        code: u8,
        /// All bytes after the checksum: at least four, except for [RPL](crate::rpl).
        body: &'a [u8],
    },
}

impl<'a> Message<'a> {
    /// Parses `payload`, the payload of a packet with header `ip`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the message ends early, [`Error::Checksum`] for a false checksum.
    /// For neighbour discovery (RFC 4861 §6.1, §7.1), also [`Error::Reserved`] for a hop limit that
    /// shows a router on the path, an invalid code or a multicast target, and [`Error::Length`] or
    /// [`Error::Truncated`] for broken options.
    pub fn parse(ip: &Ipv6Header, payload: &'a [u8]) -> Result<Message<'a>, Error> {
        Self::verified::<true, true>(ip, payload)
    }

    /// Like [`Message::parse`], for a host: messages for routers only (router solicitations,
    /// duplicate address detection) become [`Message::Unknown`].
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse_for_host(ip: &Ipv6Header, payload: &'a [u8]) -> Result<Message<'a>, Error> {
        Self::verified::<true, false>(ip, payload)
    }

    /// Like [`Message::parse`], for a host without neighbour discovery: its messages become
    /// [`Message::Unknown`].
    ///
    /// # Errors
    /// [`Error::Truncated`] and [`Error::Checksum`].
    pub fn parse_without_discovery(
        ip: &Ipv6Header,
        payload: &'a [u8],
    ) -> Result<Message<'a>, Error> {
        Self::verified::<false, false>(ip, payload)
    }

    fn verified<const DISCOVERY: bool, const ROUTER: bool>(
        ip: &Ipv6Header,
        payload: &'a [u8],
    ) -> Result<Message<'a>, Error> {
        if !checksum(&ip.src, &ip.dst, payload).is_valid() {
            return Err(Error::Checksum);
        }
        let message = Self::read::<DISCOVERY, ROUTER>(payload)?;
        // RFC 4861 §6.1.1, §6.1.2, §7.1.1, §7.1.2. The check includes duplicate address messages,
        // which Redpoll's routers send only to neighbours; RFC 6775 §4.4 ignores their hop limit.
        if message.is_neighbor_discovery() && ip.hop_limit != nd::HOP_LIMIT {
            return Err(Error::Reserved);
        }
        Ok(message)
    }

    /// Parses `payload` like [`Message::parse`], without checking checksum and hop limit, for
    /// dissectors.
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse_unverified(payload: &'a [u8]) -> Result<Message<'a>, Error> {
        Self::read::<true, true>(payload)
    }

    fn read<const DISCOVERY: bool, const ROUTER: bool>(
        payload: &'a [u8],
    ) -> Result<Message<'a>, Error> {
        let mut input = Reader::new(payload);
        let message_type = input.u8()?;
        let code = input.u8()?;
        input.u16()?;
        let body = input.rest();
        // A DIS may end two bytes after the checksum (RFC 6550 §6.2.1), before the end of the
        // `word` that all other messages have.
        if message_type == message_type::RPL {
            return Ok(Message::Unknown {
                message_type,
                code,
                body,
            });
        }
        let word = input.u32()?;
        let ([ident, seq], rest) = (halves(word), input.rest());
        Ok(match message_type {
            message_type::DESTINATION_UNREACHABLE => {
                Message::DestinationUnreachable { code, quoted: rest }
            }
            message_type::PACKET_TOO_BIG => Message::PacketTooBig {
                mtu: word,
                quoted: rest,
            },
            message_type::TIME_EXCEEDED => Message::TimeExceeded { code, quoted: rest },
            message_type::PARAMETER_PROBLEM => Message::ParameterProblem {
                code,
                pointer: word,
                quoted: rest,
            },
            message_type::ECHO_REQUEST => Message::EchoRequest {
                ident,
                seq,
                data: rest,
            },
            message_type::ECHO_REPLY => Message::EchoReply {
                ident,
                seq,
                data: rest,
            },
            message_type::ROUTER_SOLICITATION..=message_type::NEIGHBOR_ADVERTISEMENT
                if DISCOVERY && code != 0 =>
            {
                return Err(Error::Reserved);
            }
            message_type::ROUTER_SOLICITATION if ROUTER => Message::RouterSolicitation {
                options: Options::parse(rest)?,
            },
            message_type::ROUTER_ADVERTISEMENT if DISCOVERY => {
                Message::RouterAdvertisement(RouterAdvertisement::read(word, &mut input)?)
            }
            message_type::NEIGHBOR_SOLICITATION if DISCOVERY => {
                Message::NeighborSolicitation(NeighborSolicitation::read(&mut input)?)
            }
            message_type::NEIGHBOR_ADVERTISEMENT if DISCOVERY => {
                Message::NeighborAdvertisement(NeighborAdvertisement::read(word, &mut input)?)
            }
            message_type::DUPLICATE_ADDRESS_REQUEST if ROUTER => {
                Message::DuplicateAddressRequest(DuplicateAddress::read(code, word, &mut input)?)
            }
            message_type::DUPLICATE_ADDRESS_CONFIRMATION if ROUTER => {
                let answer = DuplicateAddress::read(code, word, &mut input)?;
                Message::DuplicateAddressConfirmation(answer)
            }
            _ => Message::Unknown {
                message_type,
                code,
                body,
            },
        })
    }

    /// Writes the message from `src` to `dst`, with its checksum. A quoted packet is truncated to
    /// [`MAX_QUOTED`] bytes.
    pub fn emit(&self, src: &Addr, dst: &Addr, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let start = out.position();
        self.begin(out)?;
        let message = out.written().get(start..).unwrap_or_default();
        let sum = checksum(src, dst, message).finish();
        out.patch_u16(start.saturating_add(CHECKSUM_AT), sum)
    }

    /// Writes the message with a checksum of zero; the caller appends the options. If the compiler
    /// knows the kind of the message, the code for other kinds is not linked.
    ///
    /// # Errors
    /// [`NoRoom`] when `out` is too short.
    #[inline(always)]
    pub fn begin(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        out.put(&[self.message_type(), self.code(), 0, 0])?;
        match self {
            Message::DestinationUnreachable { quoted, .. }
            | Message::TimeExceeded { quoted, .. } => {
                out.put_u32(0)?;
                out.put(quotable(quoted))?;
            }
            Message::PacketTooBig { mtu: word, quoted }
            | Message::ParameterProblem {
                pointer: word,
                quoted,
                ..
            } => {
                out.put_u32(*word)?;
                out.put(quotable(quoted))?;
            }
            Message::EchoRequest { ident, seq, data } | Message::EchoReply { ident, seq, data } => {
                out.put_u16(*ident)?;
                out.put_u16(*seq)?;
                out.put(data)?;
            }
            Message::RouterSolicitation { options } => {
                out.put_u32(0)?;
                out.put(options.as_bytes())?;
            }
            Message::RouterAdvertisement(advertisement) => advertisement.emit(out)?,
            Message::NeighborSolicitation(solicitation) => solicitation.emit(out)?,
            Message::NeighborAdvertisement(advertisement) => advertisement.emit(out)?,
            Message::DuplicateAddressRequest(message)
            | Message::DuplicateAddressConfirmation(message) => message.emit(out)?,
            Message::Unknown { body, .. } => out.put(body)?,
        }
        Ok(())
    }

    /// Returns the number of bytes that [`Message::emit`] writes.
    pub fn len(&self) -> usize {
        let rest = match self {
            Message::DestinationUnreachable { quoted, .. }
            | Message::PacketTooBig { quoted, .. }
            | Message::TimeExceeded { quoted, .. }
            | Message::ParameterProblem { quoted, .. } => quotable(quoted).len(),
            Message::EchoRequest { data, .. } | Message::EchoReply { data, .. } => data.len(),
            Message::RouterSolicitation { options } => options.as_bytes().len(),
            Message::RouterAdvertisement(message) => {
                message.options.as_bytes().len().saturating_add(8)
            }
            Message::NeighborSolicitation(message) => {
                message.options.as_bytes().len().saturating_add(16)
            }
            Message::NeighborAdvertisement(message) => {
                message.options.as_bytes().len().saturating_add(16)
            }
            Message::DuplicateAddressRequest(_) | Message::DuplicateAddressConfirmation(_) => {
                DuplicateAddress::LEN
            }
            Message::Unknown { body, .. } => return body.len().saturating_add(4),
        };
        rest.saturating_add(HEADER_LEN)
    }

    /// Returns `false`: a message is never empty.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns whether the message is an error message, type 0 to 127 (RFC 4443 §2.1), which must
    /// not be answered with an error.
    pub const fn is_error(&self) -> bool {
        self.message_type() < 128
    }

    /// Returns whether the message belongs to neighbour discovery, including duplicate address
    /// messages.
    pub const fn is_neighbor_discovery(&self) -> bool {
        matches!(
            self,
            Message::RouterSolicitation { .. }
                | Message::RouterAdvertisement(_)
                | Message::NeighborSolicitation(_)
                | Message::NeighborAdvertisement(_)
                | Message::DuplicateAddressRequest(_)
                | Message::DuplicateAddressConfirmation(_)
        )
    }

    /// Returns the type; see [`message_type`].
    pub const fn message_type(&self) -> u8 {
        match self {
            Message::DestinationUnreachable { .. } => message_type::DESTINATION_UNREACHABLE,
            Message::PacketTooBig { .. } => message_type::PACKET_TOO_BIG,
            Message::TimeExceeded { .. } => message_type::TIME_EXCEEDED,
            Message::ParameterProblem { .. } => message_type::PARAMETER_PROBLEM,
            Message::EchoRequest { .. } => message_type::ECHO_REQUEST,
            Message::EchoReply { .. } => message_type::ECHO_REPLY,
            Message::RouterSolicitation { .. } => message_type::ROUTER_SOLICITATION,
            Message::RouterAdvertisement(_) => message_type::ROUTER_ADVERTISEMENT,
            Message::NeighborSolicitation(_) => message_type::NEIGHBOR_SOLICITATION,
            Message::NeighborAdvertisement(_) => message_type::NEIGHBOR_ADVERTISEMENT,
            Message::DuplicateAddressRequest(_) => message_type::DUPLICATE_ADDRESS_REQUEST,
            Message::DuplicateAddressConfirmation(_) => {
                message_type::DUPLICATE_ADDRESS_CONFIRMATION
            }
            Message::Unknown { message_type, .. } => *message_type,
        }
    }

    /// Returns the code; zero in messages without one. For duplicate address detection it says
    /// whether the message has a transaction ID (RFC 8505 §4.2).
    pub const fn code(&self) -> u8 {
        match self {
            Message::DestinationUnreachable { code, .. }
            | Message::TimeExceeded { code, .. }
            | Message::ParameterProblem { code, .. }
            | Message::Unknown { code, .. } => *code,
            Message::DuplicateAddressRequest(message)
            | Message::DuplicateAddressConfirmation(message) => message.code(),
            _ => 0,
        }
    }
}

/// Computes the checksum (RFC 4443 §2.3).
fn checksum(src: &Addr, dst: &Addr, message: &[u8]) -> Checksum {
    Checksum::of_payload(src, dst, next_header::ICMPV6, message)
}

fn quotable(packet: &[u8]) -> &[u8] {
    packet.get(..MAX_QUOTED).unwrap_or(packet)
}

fn halves(word: u32) -> [u16; 2] {
    [(word >> 16) as u16, word as u16]
}
