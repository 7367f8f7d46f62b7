//! What a node counts: nothing is dropped without a name.

/// Why the IP layer of a node dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum DropReason {
    /// The packet is not a well-formed IPv6 packet, or its upper layer is not.
    Malformed,
    /// A checksum did not match.
    BadChecksum,
    /// The source address cannot be one: a group, loopback, our own, unspecified
    /// where it may not be (RFC 4291 §2.5.2, §2.5.3, §2.7).
    BadSource,
    /// The destination address cannot be one: unspecified, loopback.
    BadDestination,
    /// A packet for one node in a link-layer broadcast; who forwards it or
    /// answers it does so together with all its neighbours.
    LinkBroadcast,
    /// No route leads to the destination, or only back to where the packet
    /// came from.
    NoRoute,
    /// Nobody is known to have the destination address, or the neighbour that had it
    /// no longer answers (RFC 4443 §3.1, code 3).
    AddressUnreachable,
    /// The hop limit was used up (RFC 8200 §3).
    HopLimit,
    /// A link-local packet that would have to leave its link (RFC 4291 §2.5.6).
    Scope,
    /// Larger than the link's MTU (RFC 8200 §5).
    TooBig,
    /// No datagram slot was free.
    NoSlot,
    /// The queue towards the host side was full.
    HostQueueFull,
    /// An upper-layer protocol, extension header or option that this node does
    /// not have.
    UnknownProtocol,
    /// No UDP socket is bound to the port.
    NoUdpSocket,
    /// The UDP socket's buffer was full.
    UdpFull,
    /// A complete handshake found no free connection slot.
    NoConnectionSlot,
    /// A complete handshake found as many connections waiting to be accepted
    /// as the listener lets wait.
    BacklogFull,
    /// A TCP segment that belongs to no connection; answered by a reset where
    /// the RFC asks for one (RFC 9293 §3.10.7.1).
    NoConnection,
    /// An ICMPv6 message that asks for nothing.
    IcmpIgnored,
    /// Twice on its way a packet's direction and the ranks of routers contradicted each
    /// other (RFC 6550 §11.2.2.2).
    RankError,
    /// A source route that must not be followed: in a loop, to a group, or over the
    /// border (RFC 6554 §4.2).
    SourceRoute,
    /// A fragment that came twice, or one of a packet that was given up: its fragments
    /// overlap, or not all have come in time (RFC 8200 §4.5).
    Fragment,
}

/// How many reasons there are.
const REASONS: usize = 22;

impl DropReason {
    /// Every reason, in the order of [`NodeCounters::drops`].
    pub const ALL: [DropReason; REASONS] = [
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

    /// The reason's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
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
        }
    }
}

/// Counters of a node's IP layer. They wrap after 2^32 events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeCounters {
    /// Packets that another node sent to another node through this one.
    pub forwarded: u32,
    /// Packets for others that this node's [assistant](crate::assist) has kept.
    pub kept: u32,
    /// Packets delivered to an upper layer of this node.
    pub delivered: u32,
    /// Of those, the ones that a UDP socket took.
    pub datagrams: u32,
    /// Packets that this node made itself.
    pub originated: u32,
    /// ICMPv6 errors sent.
    pub icmp_errors_sent: u32,
    /// Connections in TIME-WAIT that had to make room for new ones.
    pub time_wait_recycled: u32,
    /// Released connections that did not come to their end in time: the peer
    /// was silent, or took nothing, or never ended.
    pub orphans_given_up: u32,
    /// Released connections that were stalled and had to make room for new ones.
    pub orphans_recycled: u32,
    /// Connection requests that were given up, because nobody completed them.
    pub half_open_expired: u32,
    /// Connection requests answered with a SYN cookie, for want of a free
    /// entry in the table of half-open connections.
    pub syn_cookies_sent: u32,
    /// Handshakes that were completed by a SYN cookie.
    pub syn_cookies_used: u32,
    /// Connections that were opened with data on the SYN (RFC 7413).
    pub fast_opens: u32,
    /// How often a sleepy node has turned to another parent.
    pub parent_changes: u32,
    /// How often a router has refused this node's address, because it is somebody
    /// else's.
    pub duplicate_addresses: u32,
    drops: [u32; DropReason::ALL.len()],
}

impl NodeCounters {
    /// Counts a packet that was dropped for `reason`.
    pub fn drop(&mut self, reason: DropReason) {
        if let Some(count) = self.drops.get_mut(reason as usize) {
            *count = count.wrapping_add(1);
        }
    }

    /// How many packets were dropped for `reason`.
    pub fn dropped(&self, reason: DropReason) -> u32 {
        self.drops.get(reason as usize).copied().unwrap_or(0)
    }

    /// Every reason with its count, zeros included.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u32)> + '_ {
        DropReason::ALL.into_iter().zip(self.drops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                .filter(|r| r.name() == reason.name());
            assert_eq!(same_name.count(), 1);
        }
    }
}
