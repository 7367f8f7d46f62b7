//! Neighbour discovery (RFC 4861) as 6LoWPAN uses it (RFC 6775, RFC 8505).

mod option;
mod tid;

use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};
pub use option::{
    AddressRegistration, BorderRouter, ContextInformation, NdOption, Options, PrefixInformation,
};
use redpoll_base::Addr;
pub use tid::Tid;

/// The hop limit of every neighbour-discovery packet: a packet with this hop limit cannot have
/// passed a router (RFC 4861 §3.1).
pub const HOP_LIMIT: u8 = 255;

/// A router advertisement (RFC 4861 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RouterAdvertisement<'a> {
    /// Hop limit for hosts; 0: unspecified.
    pub cur_hop_limit: u8,
    /// Whether hosts get addresses by DHCPv6.
    pub managed: bool,
    /// Whether hosts get other settings by DHCPv6.
    pub other: bool,
    /// Lifetime as a default router, in seconds; 0: not a default router.
    pub router_lifetime_s: u16,
    /// Time for which a confirmed neighbour counts as reachable, in milliseconds; 0: unspecified.
    pub reachable_time_ms: u32,
    /// Time between solicitations, in milliseconds; 0: unspecified.
    pub retrans_timer_ms: u32,
    /// Options: prefixes, contexts, the MTU, the border router.
    pub options: Options<'a>,
}

const MANAGED: u8 = 0x80;
const OTHER: u8 = 0x40;

impl<'a> RouterAdvertisement<'a> {
    /// Parses the message; `word` is the four bytes after the checksum, before `input`.
    pub(super) fn read(word: u32, input: &mut Reader<'a>) -> Result<Self, Error> {
        let [cur_hop_limit, flags, high, low] = word.to_be_bytes();
        Ok(RouterAdvertisement {
            cur_hop_limit,
            managed: flags & MANAGED != 0,
            other: flags & OTHER != 0,
            router_lifetime_s: u16::from_be_bytes([high, low]),
            reachable_time_ms: input.u32()?,
            retrans_timer_ms: input.u32()?,
            options: Options::parse(input.rest())?,
        })
    }

    pub(super) fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let managed = if self.managed { MANAGED } else { 0 };
        let other = if self.other { OTHER } else { 0 };
        out.put(&[self.cur_hop_limit, managed | other])?;
        out.put_u16(self.router_lifetime_s)?;
        out.put_u32(self.reachable_time_ms)?;
        out.put_u32(self.retrans_timer_ms)?;
        out.put(self.options.as_bytes())
    }
}

/// A neighbour solicitation, which requests the link-layer address of `target`, or checks that it
/// is still reachable (RFC 4861 §4.3). With an address-registration option, it requests a
/// registration (RFC 6775 §5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeighborSolicitation<'a> {
    /// The requested address, not multicast.
    pub target: Addr,
    /// Options: the sender's link-layer address, or a registration.
    pub options: Options<'a>,
}

impl<'a> NeighborSolicitation<'a> {
    /// Parses the message; `input` begins after the four reserved bytes.
    pub(super) fn read(input: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(NeighborSolicitation {
            target: read_target(input)?,
            options: Options::parse(input.rest())?,
        })
    }

    pub(super) fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        out.put_u32(0)?;
        out.put(&self.target.0)?;
        out.put(self.options.as_bytes())
    }
}

/// A neighbour advertisement, in which a node announces `target` (RFC 4861 §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeighborAdvertisement<'a> {
    /// Whether the sender is a router.
    pub router: bool,
    /// Whether the advertisement answers a solicitation.
    pub solicited: bool,
    /// Whether the link-layer address replaces a cached one.
    pub override_cached: bool,
    /// The announced address, not multicast.
    pub target: Addr,
    /// Options: the sender's link-layer address, or the result of a registration.
    pub options: Options<'a>,
}

const ROUTER: u32 = 1 << 31;
const SOLICITED: u32 = 1 << 30;
const OVERRIDE: u32 = 1 << 29;

impl<'a> NeighborAdvertisement<'a> {
    /// Parses the message; `word` is the four bytes after the checksum, before `input`.
    pub(super) fn read(word: u32, input: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(NeighborAdvertisement {
            router: word & ROUTER != 0,
            solicited: word & SOLICITED != 0,
            override_cached: word & OVERRIDE != 0,
            target: read_target(input)?,
            options: Options::parse(input.rest())?,
        })
    }

    pub(super) fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let router = if self.router { ROUTER } else { 0 };
        let solicited = if self.solicited { SOLICITED } else { 0 };
        let override_cached = if self.override_cached { OVERRIDE } else { 0 };
        out.put_u32(router | solicited | override_cached)?;
        out.put(&self.target.0)?;
        out.put(self.options.as_bytes())
    }
}

/// Reads a target address, which must not be multicast (RFC 4861 §7.1.1, §7.1.2).
fn read_target(input: &mut Reader<'_>) -> Result<Addr, Error> {
    let target = Addr(input.array()?);
    if target.is_multicast() {
        return Err(Error::Reserved);
    }
    Ok(target)
}

/// A registration that routers forward towards the border router, or its answer (RFC 6775 §4.4, and
/// RFC 8505 §4.2 with a ROVR of 64 bits).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DuplicateAddress {
    /// Status as in [`AddressRegistration`]; 0 in a request.
    pub status: u8,
    /// Transaction ID of the registration; `None` from a router that implements only RFC 6775.
    pub tid: Option<Tid>,
    /// Lifetime of the registration, in minutes.
    pub lifetime_min: u16,
    /// The registering node.
    pub eui64: [u8; 8],
    /// The registered address.
    pub address: Addr,
}

const CODE_SUFFIX: u8 = 0x0f;
const CODE_WITH_TID: u8 = 1;

impl DuplicateAddress {
    /// Returns the message's code (RFC 8505 §4.2).
    pub(super) const fn code(&self) -> u8 {
        match self.tid {
            Some(_) => CODE_WITH_TID,
            None => 0,
        }
    }

    /// Length in bytes of the part of the message after its first eight bytes.
    pub(super) const LEN: usize = 24;

    /// Parses the message with this code; `word` is the four bytes after the checksum, before
    /// `input`.
    pub(super) fn read(code: u8, word: u32, input: &mut Reader<'_>) -> Result<Self, Error> {
        let [status, tid, high, low] = word.to_be_bytes();
        // RFC 8505 §4.2: the first half of the code (prefix) is ignored; the second half (suffix)
        // is the length of the owner's identifier (ROVR) in units of eight bytes.
        let tid = match code & CODE_SUFFIX {
            0 => None,
            CODE_WITH_TID => Some(Tid(tid)),
            _ => return Err(Error::Reserved),
        };
        Ok(DuplicateAddress {
            status,
            tid,
            lifetime_min: u16::from_be_bytes([high, low]),
            eui64: input.array()?,
            // RFC 6775 §8.2.1: the address must not be multicast.
            address: read_target(input)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        out.put(&[self.status, self.tid.map_or(0, |tid| tid.0)])?;
        out.put_u16(self.lifetime_min)?;
        out.put(&self.eui64)?;
        out.put(&self.address.0)
    }
}
