//! The counters of a node: every drop has a reason.

use core::fmt;

use redpoll_base::event;

/// Why the IP layer of a node dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum DropReason {
    /// The packet or its upper layer is malformed.
    Malformed,
    /// A checksum is wrong.
    BadChecksum,
    /// The source address is a group, loopback, the node's own, or unspecified where that is not
    /// allowed (RFC 4291 §2.5.2, §2.5.3, §2.7).
    BadSource,
    /// The destination address is unspecified or loopback.
    BadDestination,
    /// A unicast packet in a link-layer broadcast, which every neighbour would forward or answer.
    LinkBroadcast,
    /// No route leads to the destination, or the only one leads back to the sender.
    NoRoute,
    /// No neighbour is known for the destination address, or the neighbour no longer answers (RFC
    /// 4443 §3.1, code 3).
    AddressUnreachable,
    /// The hop limit is used up (RFC 8200 §3).
    HopLimit,
    /// A link-local packet would have to leave its link (RFC 4291 §2.5.6).
    Scope,
    /// The packet is larger than the link's MTU (RFC 8200 §5).
    TooBig,
    /// No datagram slot was free.
    NoSlot,
    /// The queue to the host side was full.
    HostQueueFull,
    /// The node does not implement the upper-layer protocol, extension header or option.
    UnknownProtocol,
    /// No UDP socket is bound to the port.
    NoUdpSocket,
    /// The UDP socket's buffer was full.
    UdpFull,
    /// A complete handshake found no free connection slot.
    NoConnectionSlot,
    /// A complete handshake found the listener's backlog full.
    BacklogFull,
    /// A TCP segment of no connection, answered by a reset where RFC 9293 §3.10.7.1 requires one.
    NoConnection,
    /// An ICMPv6 message without effect.
    IcmpIgnored,
    /// The rank error bit was set already: packet direction and ranks contradicted each other twice
    /// (RFC 6550 §11.2.2.2).
    RankError,
    /// A source route that has a loop, names a group, or crosses the border of the DODAG (RFC 6554
    /// §4.2).
    SourceRoute,
    /// A duplicate fragment, or one of a packet that was given up because fragments overlap or are
    /// late (RFC 8200 §4.5).
    Fragment,
}

const REASONS: usize = 22;

impl DropReason {
    const ALL: [DropReason; REASONS] = [
        DropReason::Malformed,
        DropReason::BadChecksum,
        DropReason::BadSource,
        DropReason::BadDestination,
        DropReason::LinkBroadcast,
        DropReason::NoRoute,
        DropReason::AddressUnreachable,
        DropReason::HopLimit,
        DropReason::Scope,
        DropReason::TooBig,
        DropReason::NoSlot,
        DropReason::HostQueueFull,
        DropReason::UnknownProtocol,
        DropReason::NoUdpSocket,
        DropReason::UdpFull,
        DropReason::NoConnectionSlot,
        DropReason::BacklogFull,
        DropReason::NoConnection,
        DropReason::IcmpIgnored,
        DropReason::RankError,
        DropReason::SourceRoute,
        DropReason::Fragment,
    ];
}

/// Writes the reason's name in reports.
impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DropReason::Malformed => "ip_malformed",
            DropReason::BadChecksum => "bad_checksum",
            DropReason::BadSource => "bad_source",
            DropReason::BadDestination => "bad_destination",
            DropReason::LinkBroadcast => "link_broadcast",
            DropReason::NoRoute => "no_route",
            DropReason::AddressUnreachable => "address_unreachable",
            DropReason::HopLimit => "hop_limit",
            DropReason::Scope => "scope",
            DropReason::TooBig => "too_big",
            DropReason::NoSlot => "no_packet_slot",
            DropReason::HostQueueFull => "host_queue_full",
            DropReason::UnknownProtocol => "unknown_protocol",
            DropReason::NoUdpSocket => "no_udp_socket",
            DropReason::UdpFull => "udp_full",
            DropReason::NoConnectionSlot => "no_connection_slot",
            DropReason::BacklogFull => "backlog_full",
            DropReason::NoConnection => "no_connection",
            DropReason::IcmpIgnored => "icmp_ignored",
            DropReason::RankError => "rank_error",
            DropReason::SourceRoute => "source_route",
            DropReason::Fragment => "ipv6_fragment",
        })
    }
}

/// Counters of a node's IP layer. They wrap after 2^32 events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeCounters {
    /// Packets of other nodes that this node forwarded.
    pub forwarded: u32,
    /// Packets that ended at this node's [assistant](crate::assist): packets for other nodes that
    /// it kept, and received multicast packets that it did not deliver to this node.
    pub kept: u32,
    /// Packets delivered to an upper layer of this node.
    pub delivered: u32,
    /// Packets delivered to a UDP socket; also counted in `delivered`.
    pub datagrams: u32,
    /// Packets that this node created.
    pub originated: u32,
    /// ICMPv6 errors sent.
    pub icmp_errors_sent: u32,
    /// Connections that had to leave TIME-WAIT early for new ones.
    pub time_wait_recycled: u32,
    /// Released connections that did not end in time: the peer was silent, kept its window closed,
    /// or sent no FIN.
    pub orphans_given_up: u32,
    /// Stalled released connections that were dropped for new ones.
    pub orphans_recycled: u32,
    /// Connection requests that no peer completed in time.
    pub half_open_expired: u32,
    /// Connection requests answered with a SYN cookie because the half-open table was full.
    pub syn_cookies_sent: u32,
    /// Handshakes completed with a SYN cookie.
    pub syn_cookies_used: u32,
    /// Connections opened with data on the SYN (RFC 7413).
    pub fast_opens: u32,
    /// How often a sleepy node changed its parent.
    pub parent_changes: u32,
    /// How often a router refused this node's address because another node has it.
    pub duplicate_addresses: u32,
    drops: Drops,
}

/// Packets dropped for each reason, in the order of [`DropReason::ALL`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Drops([u32; REASONS]);

/// Writes each reason with its count.
impl fmt::Debug for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(DropReason::ALL.into_iter().zip(self.0))
            .finish()
    }
}

impl NodeCounters {
    /// Counts a packet dropped for `reason`.
    pub fn drop(&mut self, reason: DropReason) {
        event!(Debug, "packet dropped: {reason}");
        if let Some(count) = self.drops.0.get_mut(reason as usize) {
            *count = count.wrapping_add(1);
        }
    }

    /// Returns how many packets were dropped for `reason`.
    pub fn dropped(&self, reason: DropReason) -> u32 {
        self.drops.0.get(reason as usize).copied().unwrap_or(0)
    }

    /// Returns every reason with its count, zeros included.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u32)> + '_ {
        DropReason::ALL.into_iter().zip(self.drops.0)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_debug_output_names_every_counter() {
        let mut counters = NodeCounters::default();
        counters.drop(DropReason::NoRoute);
        let text = std::format!("{counters:?}");
        assert!(text.contains("forwarded: 0"), "{text}");
        assert!(text.contains("NoRoute: 1"), "{text}");
        assert!(text.contains("Fragment: 0"), "{text}");
    }

    #[test]
    fn every_reason_has_its_own_counter_and_name() {
        for (i, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i);
            let mut counters = NodeCounters::default();
            counters.drop(reason);
            assert_eq!(counters.dropped(reason), 1);
            assert_eq!(counters.drops().map(|(_, n)| n).sum::<u32>(), 1);
            let same_name = DropReason::ALL
                .into_iter()
                .filter(|r| r.to_string() == reason.to_string());
            assert_eq!(same_name.count(), 1);
        }
    }
}
