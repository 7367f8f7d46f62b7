//! Extension headers of received packets (RFC 8200 §4): finding the upper layer behind them, and
//! the errors that a destination must report.

use redpoll_wire::icmpv6::parameter_problem;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use crate::counters::DropReason;
use crate::net::icmp::IcmpError;
use crate::net::routing::is_option;

const FIXED_NEXT_HEADER: usize = 6;
/// The padding options (§4.2).
const PAD1: u8 = 0;
const PADN: u8 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Upper {
    pub(crate) protocol: u8,
    /// The beginning of the upper layer, in bytes behind the fixed header.
    pub(crate) offset: usize,
    /// The offset of the protocol number in the packet, for errors about an unknown protocol.
    pub(crate) pointer: u16,
}

/// The reason why a packet is dropped, and the error for its sender.
pub(crate) type Objection = (DropReason, Option<IcmpError>);

const MALFORMED: Objection = (DropReason::Malformed, None);

fn parameter_problem_at(code: u8, at: usize) -> Objection {
    let pointer = at as u16;
    let error = IcmpError::ParameterProblem { code, pointer };
    (DropReason::UnknownProtocol, Some(error))
}

/// Skips the extension headers in `payload`; `first` is the type of the first one. A fragment
/// header counts as an upper layer, because `joiner.rs` processes it.
pub(crate) fn walk(first: u8, payload: &[u8], to_group: bool) -> Result<Upper, Objection> {
    let mut upper = Upper {
        protocol: first,
        offset: 0,
        pointer: FIXED_NEXT_HEADER as u16,
    };
    loop {
        let header = payload.get(upper.offset..).ok_or(MALFORMED)?;
        let at = Ipv6Header::LEN.saturating_add(upper.offset);
        let len = match (upper.protocol, header) {
            // RFC 8200 §4.1: "restricted to appear immediately after an IPv6 header only".
            (next_header::HOP_BY_HOP, _) if upper.offset > 0 => {
                let code = parameter_problem::NEXT_HEADER;
                return Err(parameter_problem_at(code, upper.pointer.into()));
            }
            (next_header::HOP_BY_HOP | next_header::DST_OPTIONS, &[_, units, ..]) => {
                let len = length(units);
                let options = header.get(2..len).ok_or(MALFORMED)?;
                check_options(options, at.saturating_add(2), to_group)?;
                len
            }
            // RFC 8200 §4.4: a routing header of an unknown type is skipped if no segments are
            // left.
            (next_header::ROUTING, &[_, units, _, left, ..]) => {
                if left > 0 {
                    let code = parameter_problem::HEADER_FIELD;
                    return Err(parameter_problem_at(code, at.saturating_add(2)));
                }
                length(units)
            }
            // RFC 6946 §2.1: an atomic fragment, which is the whole packet.
            (next_header::FRAGMENT, &[_, _, 0, flags, ..]) if flags & 0xf9 == 0 => 8,
            (next_header::HOP_BY_HOP | next_header::DST_OPTIONS | next_header::ROUTING, _) => {
                return Err(MALFORMED);
            }
            _ => return Ok(upper),
        };
        if header.len() < len {
            return Err(MALFORMED);
        }
        upper = Upper {
            protocol: header.first().copied().unwrap_or(next_header::NONE),
            offset: upper.offset.saturating_add(len),
            pointer: at as u16,
        };
    }
}

/// Returns the length, in octets, of a header whose length field is `units`: the number of units of
/// 8 octets after the first 8 octets.
fn length(units: u8) -> usize {
    usize::from(units).saturating_add(1).saturating_mul(8)
}

/// Checks the options of a header. The two highest bits of an unknown option define how it is
/// processed (RFC 8200 §4.2).
fn check_options(mut options: &[u8], mut at: usize, to_group: bool) -> Result<(), Objection> {
    loop {
        let len = match *options {
            [] => return Ok(()),
            [PAD1, ..] => 1,
            [_, len, ..] => usize::from(len).saturating_add(2),
            [_] => return Err(MALFORMED),
        };
        let kind = options.first().copied().unwrap_or(PAD1);
        if !matches!(kind, PAD1 | PADN) && !is_option(kind) {
            let error = parameter_problem_at(parameter_problem::OPTION, at);
            match kind >> 6 {
                0b00 => {}
                0b10 => return Err(error),
                0b11 if !to_group => return Err(error),
                _ => return Err((DropReason::UnknownProtocol, None)),
            }
        }
        options = options.get(len..).ok_or(MALFORMED)?;
        at = at.saturating_add(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(code: u8, pointer: u16) -> Result<Upper, Objection> {
        Err(parameter_problem_at(code, pointer.into()))
    }

    #[test]
    fn the_upper_layer_follows_the_known_extension_headers() {
        let plain = walk(17, &[1, 2, 3], false).unwrap();
        assert_eq!((plain.protocol, plain.offset, plain.pointer), (17, 0, 6));
        // Hop-by-hop with padding, routing without segments left, atomic fragment.
        let chain = [
            [43, 0, 1, 4, 0, 0, 0, 0],
            [44, 0, 9, 0, 0, 0, 0, 0],
            [6, 0, 0, 0, 0, 0, 0, 7],
        ];
        let upper = walk(0, chain.as_flattened(), false).unwrap();
        assert_eq!((upper.protocol, upper.offset, upper.pointer), (6, 24, 56));
    }

    #[test]
    fn the_walk_stops_at_a_fragment_header() {
        let upper = walk(44, &[6, 0, 0, 1, 0, 0, 0, 7], false).unwrap();
        assert_eq!((upper.protocol, upper.pointer), (44, 6));
    }

    /// RFC 8200 §4.2: the two highest bits of an unknown option's type select one of four actions.
    #[test]
    fn unknown_options_are_treated_as_they_say() {
        let with = |kind, group| walk(60, &[59, 0, kind, 1, 0, 1, 1, 0], group);
        assert_eq!(with(0x1e, false).unwrap().protocol, 59);
        assert_eq!(with(0x5e, false), Err((DropReason::UnknownProtocol, None)));
        assert_eq!(with(0x9e, false), problem(2, 42));
        assert_eq!(with(0x9e, true), problem(2, 42));
        assert_eq!(with(0xde, false), problem(2, 42));
        assert_eq!(with(0xde, true), Err((DropReason::UnknownProtocol, None)));
    }

    #[test]
    fn segments_left_and_late_hop_by_hop_headers_are_problems() {
        let routing = [59, 0, 3, 1, 0, 0, 0, 0];
        assert_eq!(walk(43, &routing, false), problem(0, 42));
        let late = [[0, 0, 1, 4, 0, 0, 0, 0]; 2];
        assert_eq!(walk(60, late.as_flattened(), false), problem(1, 40));
    }

    #[test]
    fn headers_that_run_out_are_malformed() {
        for bytes in [&[][..], &[59], &[59, 1, 1, 0, 0, 0, 0, 0]] {
            for first in [0, 43, 60] {
                assert_eq!(walk(first, bytes, false), Err(MALFORMED), "{first}");
            }
        }
        assert_eq!(walk(60, &[59, 0, 5, 9, 0, 0, 0, 0], false), Err(MALFORMED));
    }
}
