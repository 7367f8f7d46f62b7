//! Changes of headers that change the length of a packet. [`Net`](super::Net) decides on them, and
//! the node, which holds the packet's slot, makes them. The routing protocol itself makes the
//! changes that keep the length.
#![allow(dead_code, reason = "in some builds no protocol changes headers")]

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

use super::extension::Upper;
use super::icmp::IcmpError;
use super::routing::EXTENSION_MAX;

/// The change of headers of a packet that leaves.
#[derive(Debug)]
pub(crate) enum Plan {
    Keep,
    /// The first extension header, of this length, is removed.
    Strip(usize),
    Insert(Insertion),
}

#[derive(Debug)]
pub(crate) struct Insertion {
    /// An IPv6 header before the packet's own, with the extension header in between.
    pub(crate) outer: Option<Ipv6Header>,
    pub(crate) dst: Option<Addr>,
    pub(crate) kind: u8,
    extension: [u8; EXTENSION_MAX],
    extension_len: u8,
    /// Whether the packet is dropped if it has no room for the headers.
    pub(crate) is_vital: bool,
}

impl Insertion {
    /// Inserts an extension header with the protocol number `kind`. `None` if it is too long.
    pub(crate) fn new(kind: u8, header: &[u8]) -> Option<Self> {
        let mut extension = [0; EXTENSION_MAX];
        extension.get_mut(..header.len())?.copy_from_slice(header);
        Some(Insertion {
            outer: None,
            dst: None,
            kind,
            extension,
            extension_len: header.len() as u8,
            is_vital: false,
        })
    }

    pub(crate) fn extension(&self) -> &[u8] {
        let len = usize::from(self.extension_len);
        self.extension.get(..len).unwrap_or_default()
    }

    /// Returns whether the change fits a segment that is written frame by frame: it adds at most
    /// `headroom` bytes of extension header, and no outer header.
    pub(crate) fn suits_segment(&self, headroom: usize) -> bool {
        self.outer.is_none() && self.dst.is_none() && self.extension().len() <= headroom
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Decapsulation<'p> {
    /// The packet is for this upper layer; the second value has the bytes after the IPv6 header.
    Upper(Upper, &'p [u8]),
    /// The packet is forwarded to the next stop of its route.
    Onward(Onward),
    /// The packet contains another packet, which begins at this byte.
    Inner(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Onward {
    pub(crate) next: Address,
    /// The error that the packet's sender gets if `next` does not answer.
    pub(crate) absent: IcmpError,
}
