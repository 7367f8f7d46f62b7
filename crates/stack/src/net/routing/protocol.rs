//! The interface of a routing protocol: its events and its decisions.
//!
//! Each function has a default, which is right for a node without a protocol. A protocol
//! implements those that it needs. It never touches a packet's slot: it rewrites bytes in place,
//! and for everything that changes a packet's length it returns a [`Plan`].

use redpoll_base::{Addr, Instant, Memory, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

use super::{Control, Quality, Table, resolve};
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::net::identity::Identity;
use crate::net::outgoing::Outbox;
use crate::net::plan::{Onward, Plan};
use crate::packet::{NextHop, PacketView};

/// A control message of a routing protocol: ICMPv6 type and code, and the bytes after the checksum.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "in some builds no protocol reads the fields")]
pub(crate) struct Signal<'m> {
    pub(crate) message_type: u8,
    pub(crate) code: u8,
    pub(crate) body: &'m [u8],
    pub(crate) src: Addr,
    pub(crate) dst: Addr,
    /// The neighbour that has sent the frame; `None` for the host side.
    pub(crate) from: Option<Address>,
}

/// A Destination Unreachable that the node has received.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "in some builds no protocol reads the fields")]
pub(crate) struct RouterError<'m> {
    /// The node that could not deliver a packet.
    pub(crate) from: Addr,
    pub(crate) code: u8,
    pub(crate) packet: &'m [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EchoId {
    pub(crate) ident: u16,
    pub(crate) seq: u16,
}

#[expect(
    unused_variables,
    reason = "default methods use few of their arguments"
)]
pub(super) trait Protocol<M: Memory + 'static> {
    // --- routes ---

    fn next_hop(&self, now: Instant, table: &Table<M>, dst: &Addr) -> Option<NextHop> {
        resolve(dst, || match M::ROUTES {
            true => table.lookup(now, dst),
            false => table.longest(dst),
        })
    }

    /// Returns whether the protocol knows this neighbour other than by a route.
    fn names(&self, now: Instant, link: Address) -> bool {
        false
    }

    fn on_unreachable(&mut self, now: Instant, table: &mut Table<M>, dst: &Addr) {}

    // --- events ---

    /// Handles a message of neighbour discovery that changes routes.
    fn on_control(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<M>,
        outbox: &mut Outbox,
        control: Control,
    ) -> Result<(), DropReason> {
        Err(DropReason::IcmpIgnored)
    }

    fn on_link(&mut self, now: Instant, table: &mut Table<M>, quality: Quality) {}

    /// Handles an ICMPv6 message of a type that the node does not know.
    fn on_signal(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        table: &mut Table<M>,
        signal: &Signal<'_>,
    ) -> Result<(), DropReason> {
        Err(DropReason::IcmpIgnored)
    }

    /// Handles the report of a router that could not deliver a packet.
    fn on_error(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<M>,
        error: RouterError<'_>,
    ) {
    }

    /// Handles an echo reply of `src`. Returns whether the protocol had sent the request.
    fn on_echo_reply(
        &mut self,
        now: Instant,
        table: &mut Table<M>,
        src: &Addr,
        echo: EchoId,
    ) -> bool {
        false
    }

    /// Records that this node has dropped `turned_away` datagrams so far for lack of room.
    fn on_load(&mut self, now: Instant, turned_away: u32) {}

    // --- time and messages ---

    fn poll_at(&self) -> Option<Wake> {
        None
    }

    fn on_timeout(&mut self, now: Instant, identity: &Identity, table: &mut Table<M>) {}

    /// Writes the next due ICMPv6 message, with a checksum of zero, and returns its IPv6 header.
    fn poll_message(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<M>,
        out: &mut Cursor<'_>,
    ) -> Option<Ipv6Header> {
        None
    }

    /// Records whether the message that was polled last has left. If not, there was no room or no
    /// route for the message.
    fn on_message_sent(&mut self, has_left: bool) {}

    // --- packets ---

    /// Returns whether the node is a member of this group because of the protocol.
    fn is_group(&self, dst: &Addr) -> bool {
        false
    }

    /// Judges a packet from outside, after the check of its addresses.
    fn admit(
        &self,
        identity: &Identity,
        packet: &PacketView<'_>,
        admitted: Result<(), DropReason>,
    ) -> Result<(), DropReason> {
        admitted
    }

    /// Returns whether a router needs all of a packet to forward it, so that fragments are not
    /// forwarded as they arrive.
    fn needs_whole(&self) -> bool {
        false
    }

    /// Handles a packet that is about to be forwarded. Returns the neighbour to which it goes
    /// instead of the next hop of its route.
    fn pass(
        &mut self,
        now: Instant,
        table: &mut Table<M>,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Address>, Refusal> {
        Ok(None)
    }

    /// Returns the next stop of a packet to this node if its headers send it on to another node.
    fn onward(
        &mut self,
        now: Instant,
        identity: &Identity,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Onward>, Refusal> {
        Ok(None)
    }

    /// Returns whether the node decapsulates packets; an error if it does, but not those of `src`.
    fn opens(&self, src: &Addr) -> Result<bool, DropReason> {
        Ok(false)
    }

    /// Returns the number of bytes that the protocol may insert behind the IPv6 header of a segment
    /// that the node writes frame by frame, without a buffer for the whole packet. At most 8, the
    /// room in front of the longest TCP header in [`TRANSPORT_HEADER_MAX`].
    ///
    /// [`TRANSPORT_HEADER_MAX`]: redpoll_lowpan::TRANSPORT_HEADER_MAX
    fn headroom(&self) -> usize {
        0
    }

    /// Returns the change of headers of a packet that leaves for `next_hop`. `packet` is empty for
    /// a segment that the transport makes later.
    fn encapsulate(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &Table<M>,
        packet: &mut PacketView<'_>,
        next_hop: NextHop,
    ) -> Result<Plan, Refusal> {
        Ok(Plan::Keep)
    }
}

/// No routing protocol: every function has its default.
pub(super) struct NoProtocol;

impl<M: Memory + 'static> Protocol<M> for NoProtocol {}
