//! RPL Packet Information (RFC 6550 §11.2) as the hop-by-hop option of RFC 6553,
//! with the option type of RFC 9008 §4.2 and the older one.

use crate::ipv6::{Ipv6Header, next_header};

/// RFC 6553 §6: nodes that do not know the option drop the packet.
const OPTION_OLD: u8 = 0x63;
/// RFC 9008 §4.2: they pass over it.
const OPTION: u8 = 0x23;
const PAD1: u8 = 0;

const DOWN: u8 = 0x80;
const RANK_ERROR: u8 = 0x40;
const FORWARDING_ERROR: u8 = 0x20;

/// A data packet's information about its way through the DODAG.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketInformation {
    /// O: the packet goes down.
    pub down: bool,
    /// R: its direction and the ranks contradicted each other once.
    pub rank_error: bool,
    /// F: the next hop could not forward it and returned it.
    pub forwarding_error: bool,
    /// RPLInstanceID.
    pub instance: u8,
    /// DAGRank of the router that sent it last; 0 at the source.
    pub sender_rank: u16,
    /// The option has type 0x23, not 0x63.
    pub ignorable: bool,
}

impl PacketInformation {
    /// Bytes of a hop-by-hop header with nothing else in it.
    pub const LEN: usize = 8;

    /// The header, behind which follows what `next` says.
    pub const fn header(&self, next: u8) -> [u8; Self::LEN] {
        let [_, _, flags, instance, high, low] = self.option();
        let kind = if self.ignorable { OPTION } else { OPTION_OLD };
        [next, 0, kind, 4, flags, instance, high, low]
    }

    /// The option, type and length first.
    const fn option(&self) -> [u8; 6] {
        let kind = if self.ignorable { OPTION } else { OPTION_OLD };
        let down = if self.down { DOWN } else { 0 };
        let rank_error = if self.rank_error { RANK_ERROR } else { 0 };
        let forwarding_error = match self.forwarding_error {
            true => FORWARDING_ERROR,
            false => 0,
        };
        let flags = down | rank_error | forwarding_error;
        let [high, low] = self.sender_rank.to_be_bytes();
        [kind, 4, flags, self.instance, high, low]
    }

    /// The information in a packet's hop-by-hop header, if it has any: `packet`
    /// begins with the IPv6 header.
    pub fn find(packet: &[u8]) -> Option<PacketInformation> {
        let (_, option) = packet.split_at_checked(place(packet)?)?;
        let [kind, _, flags, instance, high, low, ..] = *option else {
            return None;
        };
        Some(PacketInformation {
            down: flags & DOWN != 0,
            rank_error: flags & RANK_ERROR != 0,
            forwarding_error: flags & FORWARDING_ERROR != 0,
            instance,
            sender_rank: u16::from_be_bytes([high, low]),
            ignorable: kind == OPTION,
        })
    }

    /// Writes this over the information that the packet has; `false` if it has none.
    pub fn replace(&self, packet: &mut [u8]) -> bool {
        let area = place(packet).and_then(|at| packet.get_mut(at..)?.get_mut(..6));
        area.map(|area| area.copy_from_slice(&self.option()))
            .is_some()
    }
}

/// Whether an option of this type is RPL's.
pub const fn is_option(kind: u8) -> bool {
    matches!(kind, OPTION | OPTION_OLD)
}

/// Bytes of the hop-by-hop header that a packet begins with; 0 if it has none, or
/// not all of it.
pub fn hop_by_hop_len(packet: &[u8]) -> usize {
    let Some((header, rest)) = packet.split_at_checked(Ipv6Header::LEN) else {
        return 0;
    };
    match (header.get(6), rest) {
        (Some(&next_header::HOP_BY_HOP), &[_, units, ..]) => {
            let len = usize::from(units).saturating_add(1).saturating_mul(8);
            if rest.len() < len { 0 } else { len }
        }
        _ => 0,
    }
}

/// Where in a packet RPL's option stands, from its beginning.
fn place(packet: &[u8]) -> Option<usize> {
    let end = hop_by_hop_len(packet).checked_add(Ipv6Header::LEN)?;
    let mut at = Ipv6Header::LEN.checked_add(2)?;
    while at < end {
        let options = packet.get(at..end)?;
        let len = match *options {
            [PAD1, ..] => 1,
            // RFC 6553 §3: four bytes, and unknown sub-TLVs.
            [kind, len, ..] if is_option(kind) && len >= 4 => {
                return (options.len() >= usize::from(len).saturating_add(2)).then_some(at);
            }
            [_, len, ..] => usize::from(len).saturating_add(2),
            _ => return None,
        };
        at = at.checked_add(len)?;
    }
    None
}
