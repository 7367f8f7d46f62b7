//! The source routing header (RFC 6554): a root writes it, and each hop processes it.
//!
//! The writer elides the leading bytes that an address shares with the destination; the parser
//! accepts all valid forms.

use redpoll_base::{Addr, divide};

use crate::ipv6::{Ipv6Header, next_header};
use crate::{Cursor, Error, NoRoom};

/// RFC 6554 §6.
const ROUTING_TYPE: u8 = 3;
/// Bytes before the addresses.
const FIXED: usize = 8;
/// Offset of the destination in an IPv6 header.
const DST_AT: usize = 24;

/// A received source routing header, which has been validated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRoute<'a> {
    /// Number of hops that remain.
    pub segments_left: u8,
    pub(crate) count: usize,
    /// Number of leading bytes elided in all addresses but the last.
    elided: usize,
    /// Number of leading bytes elided in the last address.
    elided_last: usize,
    addresses: &'a [u8],
}

impl<'a> SourceRoute<'a> {
    /// Parses the routing header at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Unsupported`] for another routing type; [`Error::Length`] if
    /// the addresses do not fill the header; [`Error::Reserved`] if more segments are left than
    /// there are addresses (RFC 6554 §4.2).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let &[_, units, kind, segments_left, elided, pad, _, _, ..] = bytes else {
            return Err(Error::Truncated);
        };
        if kind != ROUTING_TYPE {
            return Err(Error::Unsupported);
        }
        let len = usize::from(units).saturating_mul(8);
        let area = bytes.get(FIXED..).and_then(|rest| rest.get(..len));
        let area = area.ok_or(Error::Truncated)?;
        let pad = usize::from(pad >> 4);
        let (elided, elided_last) = (usize::from(elided >> 4), usize::from(elided & 0x0f));
        let used = len.checked_sub(pad).ok_or(Error::Length)?;
        let last = 16_usize.saturating_sub(elided_last);
        let each = 16_usize.saturating_sub(elided);
        let count = match used.checked_sub(last) {
            // An empty header has no last address.
            None if used == 0 => 0,
            None => return Err(Error::Length),
            Some(others) => {
                let count = divide(others as u32, each as u32) as usize;
                if count.saturating_mul(each) != others {
                    return Err(Error::Length);
                }
                count.saturating_add(1)
            }
        };
        if usize::from(segments_left) > count {
            return Err(Error::Reserved);
        }
        Ok(SourceRoute {
            segments_left,
            count,
            elided,
            elided_last,
            addresses: area.get(..used).unwrap_or_default(),
        })
    }

    /// Returns address `index`, from 0, for a packet with the destination `dst`.
    pub fn address(&self, index: usize, dst: &Addr) -> Option<Addr> {
        let (at, elided) = self.place(index)?;
        let bytes = self.addresses.get(at..)?;
        let mut address = *dst;
        let tail = address.0.get_mut(elided..)?;
        tail.copy_from_slice(bytes.get(..tail.len())?);
        Some(address)
    }

    /// Returns the offset of address `index` in `self.addresses`, and its number of elided bytes.
    fn place(&self, index: usize) -> Option<(usize, usize)> {
        let last = self.count.checked_sub(1)?;
        if index > last {
            return None;
        }
        let each = 16_usize.saturating_sub(self.elided);
        let at = index.checked_mul(each)?;
        Some((
            at,
            if index == last {
                self.elided_last
            } else {
                self.elided
            },
        ))
    }

    /// Returns all addresses for a packet with the destination `dst`.
    pub fn addresses(&self, dst: Addr) -> impl Iterator<Item = Addr> + use<'a> {
        let route = *self;
        (0..route.count).filter_map(move |index| route.address(index, &dst))
    }
}

/// The result of processing a packet at a hop (RFC 6554 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// The packet has arrived at the last hop of its route.
    Arrived,
    /// The packet's destination is now this next hop.
    Onward(Addr),
    /// The header is invalid at this offset in the packet.
    Problem(usize),
    /// A multicast address is on the route: the packet is dropped.
    Multicast,
    /// The route visits this node again; the offset of Segments Left in the packet.
    Loop(usize),
}

/// Processes the source routing header at offset `at`: exchanges the destination and the next
/// address. `is_own` returns whether an address is this node's.
pub fn advance(packet: &mut [u8], at: usize, is_own: impl Fn(&Addr) -> bool) -> Advance {
    let Some(dst) = destination(packet) else {
        return Advance::Problem(0);
    };
    let left_at = at.saturating_add(3);
    let route = match SourceRoute::parse(packet.get(at..).unwrap_or_default()) {
        Ok(route) => route,
        Err(Error::Unsupported) => return Advance::Problem(at.saturating_add(2)),
        Err(_) => return Advance::Problem(left_at),
    };
    let Some(left) = route.segments_left.checked_sub(1) else {
        return Advance::Arrived;
    };
    let index = route.count.saturating_sub(route.segments_left.into());
    let Some(next) = route.address(index, &dst) else {
        return Advance::Problem(left_at);
    };
    if next.is_multicast() || dst.is_multicast() {
        return Advance::Multicast;
    }
    if loops(route.addresses(dst), is_own) {
        return Advance::Loop(left_at);
    }
    let Some((place, elided)) = route.place(index) else {
        return Advance::Problem(left_at);
    };
    let written = exchange(
        packet,
        at.saturating_add(FIXED).saturating_add(place),
        elided,
    );
    if let (Some(()), Some(segments_left)) = (written, packet.get_mut(left_at)) {
        *segments_left = left;
        return Advance::Onward(next);
    }
    Advance::Problem(left_at)
}

fn destination(packet: &[u8]) -> Option<Addr> {
    let bytes = packet.get(DST_AT..)?.first_chunk()?;
    Some(Addr(*bytes))
}

/// Returns whether an address of another node lies between two addresses of this node (RFC 6554
/// §4.2).
fn loops(addresses: impl Iterator<Item = Addr>, is_own: impl Fn(&Addr) -> bool) -> bool {
    let (mut been_here, mut left) = (false, false);
    for address in addresses {
        match is_own(&address) {
            true if left => return true,
            true => been_here = true,
            false => left = been_here,
        }
    }
    false
}

/// Exchanges the destination and the address at `at`, whose first `elided` bytes the header omits.
fn exchange(packet: &mut [u8], at: usize, elided: usize) -> Option<()> {
    let (head, rest) = packet.split_at_mut_checked(at)?;
    let dst = head.get_mut(DST_AT..Ipv6Header::LEN)?.get_mut(elided..)?;
    let address = rest.get_mut(..dst.len())?;
    dst.swap_with_slice(address);
    Some(())
}

/// Returns the length of a source routing header with `stops` addresses, each without its first
/// `elided` bytes. The first hop is not counted, because the IPv6 destination contains it.
pub const fn srh_len(stops: usize, elided: usize) -> usize {
    let each = 16_usize.saturating_sub(elided);
    let units = stops.saturating_mul(each).div_ceil(8);
    units.saturating_mul(8).saturating_add(FIXED)
}

impl SourceRoute<'_> {
    /// The next-header number of a routing header.
    pub const NEXT_HEADER: u8 = next_header::ROUTING;

    /// Writes a header with these addresses, followed by a header of type `next`. The first
    /// `elided` bytes of each address, at most 15, are those of the destination and are elided.
    pub fn emit(
        next: u8,
        elided: usize,
        addresses: impl Iterator<Item = Addr>,
        out: &mut Cursor<'_>,
    ) -> Result<(), NoRoom> {
        let start = out.position();
        out.put_zeros(FIXED)?;
        let mut count = 0_u8;
        for address in addresses {
            count = count.checked_add(1).ok_or(NoRoom)?;
            out.put(address.0.get(elided..).unwrap_or_default())?;
        }
        let used = out.position().saturating_sub(start);
        let pad = used.next_multiple_of(8).saturating_sub(used);
        out.put_zeros(pad)?;
        let units = used.saturating_add(pad).saturating_sub(FIXED) / 8;
        let units = u8::try_from(units).map_err(|_| NoRoom)?;
        let elided = (elided & 0x0f) as u8;
        let head = [
            next,
            units,
            ROUTING_TYPE,
            count,
            elided << 4 | elided,
            (pad as u8) << 4,
        ];
        let area = out.written_mut().get_mut(start..).unwrap_or_default();
        for (to, from) in area.iter_mut().zip(head) {
            *to = from;
        }
        Ok(())
    }
}
/// Returns whether a whole IPv6 packet has a source routing header anywhere among its extension
/// headers (RFC 6554 §3).
pub fn has_source_route(packet: &[u8]) -> bool {
    let Ok((header, mut rest)) = Ipv6Header::parse_partial(packet) else {
        return false;
    };
    let mut next = header.next_header;
    loop {
        let units = match next {
            next_header::ROUTING if rest.get(2) == Some(&ROUTING_TYPE) => return true,
            next_header::HOP_BY_HOP | next_header::ROUTING | next_header::DST_OPTIONS => {
                usize::from(rest.get(1).copied().unwrap_or_default()).saturating_add(1)
            }
            next_header::FRAGMENT => 1,
            _ => return false,
        };
        let len = units.saturating_mul(8);
        let (Some(&behind), Some(more)) = (rest.first(), rest.get(len..)) else {
            return false;
        };
        (next, rest) = (behind, more);
    }
}
