//! RPL Packet Information (RFC 6550 §11.2) as the hop-by-hop option of RFC 6553, with the option
//! type of RFC 9008 §4.2 or the older type of RFC 6553.

use crate::ipv6::{Ipv6Header, hop_by_hop_len};

/// RFC 6553 §6: nodes that do not implement the option drop the packet.
const OPTION_OLD: u8 = 0x63;
/// Option type 0x23. RFC 9008 §4.2: nodes that do not implement this option skip it.
const OPTION: u8 = 0x23;
const PAD1: u8 = 0;

const DOWN: u8 = 0x80;
const RANK_ERROR: u8 = 0x40;
const FORWARDING_ERROR: u8 = 0x20;

/// The RPL information of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketInformation {
    /// O: the packet moves away from the root.
    pub down: bool,
    /// R: a router has found a contradiction between direction and ranks.
    pub rank_error: bool,
    /// F: the next hop could not forward the packet and returned it.
    pub forwarding_error: bool,
    /// RPLInstanceID.
    pub instance: u8,
    /// Rank of the router that sent the packet last (DAGRank); 0 at the source.
    pub sender_rank: u16,
    /// Whether the option has type 0x23 instead of 0x63.
    pub ignorable: bool,
}

impl PacketInformation {
    /// Length of a hop-by-hop header with only this option.
    pub const LEN: usize = 8;

    /// Returns a hop-by-hop header with only this option; the header after it has type `next`.
    pub const fn header(&self, next: u8) -> [u8; Self::LEN] {
        let [_, _, flags, instance, high, low] = self.option();
        let kind = if self.ignorable { OPTION } else { OPTION_OLD };
        [next, 0, kind, 4, flags, instance, high, low]
    }

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

    /// Returns the information in the hop-by-hop header of `packet`, which begins with the IPv6
    /// header; `None` without one.
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

    /// Overwrites the information in the packet; returns `false` if the packet has none.
    pub fn replace(&self, packet: &mut [u8]) -> bool {
        let area = place(packet).and_then(|at| packet.get_mut(at..)?.get_mut(..6));
        area.map(|area| area.copy_from_slice(&self.option()))
            .is_some()
    }
}

/// Returns whether an option type is that of RPL.
pub const fn is_option(kind: u8) -> bool {
    matches!(kind, OPTION | OPTION_OLD)
}

fn place(packet: &[u8]) -> Option<usize> {
    let end = hop_by_hop_len(packet).checked_add(Ipv6Header::LEN)?;
    let mut at = Ipv6Header::LEN.checked_add(2)?;
    while at < end {
        let options = packet.get(at..end)?;
        let len = match *options {
            [PAD1, ..] => 1,
            // RFC 6553 §3: the option has four bytes; sub-TLVs may follow, which are ignored.
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
