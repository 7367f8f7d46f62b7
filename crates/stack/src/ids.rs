//! Handles of sockets, and the events that name them.

use redpoll_tcp as tcp;

/// The table indices that a handle can name. Index 255 is unused, so a node uses at most 255
/// entries of a table.
pub(crate) const INDICES: core::ops::Range<u8> = 0..u8::MAX;

/// A TCP connection of one node. After [`Node::tcp_release`](crate::Node::tcp_release), the handle
/// only serves to inspect the connection while TCP finishes. When another connection uses the table
/// entry, its generation number differs, so the old handle stays invalid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ConnId {
    pub(crate) index: u8,
    pub(crate) generation: u8,
}

impl ConnId {
    /// Returns the handle of connection `index` of [another transport](crate::StreamTransport).
    /// `generation` counts the uses of this index.
    pub const fn new(index: u8, generation: u8) -> Self {
        ConnId { index, generation }
    }

    /// Returns the index in the table, and the generation.
    pub const fn parts(self) -> (u8, u8) {
        (self.index, self.generation)
    }
}

/// A TCP listener of one node. The handle is invalid after the listener was closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ListenerId {
    pub(crate) index: u8,
    pub(crate) generation: u8,
}

impl ListenerId {
    /// Returns the handle of listener `index` of [another transport](crate::StreamTransport).
    /// `generation` counts the uses of this index.
    pub const fn new(index: u8, generation: u8) -> Self {
        ListenerId { index, generation }
    }

    /// Returns the index in the table, and the generation.
    pub const fn parts(self) -> (u8, u8) {
        (self.index, self.generation)
    }
}

/// A UDP socket of one node. The handle is invalid after the socket was closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct UdpId {
    pub(crate) index: u8,
    pub(crate) generation: u8,
}

/// An event for the application. Events are edges: an event reports a change once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NodeEvent {
    /// An event of a connection.
    Tcp(ConnId, tcp::Event),
    /// A connection of this listener is established and waits for
    /// [`Node::tcp_accept`](crate::Node::tcp_accept).
    Accepted(ListenerId),
    /// A UDP socket holds a datagram.
    UdpReadable(UdpId),
    /// A router refuses this node's address, because another node has registered it (RFC 6775 §4.1,
    /// status 1). The node has no other address and tries again later. The operator must change the
    /// address of one of the two nodes.
    AddressInUse,
    /// An echo reply arrived (RFC 4443 §4.2).
    EchoReply {
        /// Identifier of the request.
        ident: u16,
        /// Sequence number of the request.
        seq: u16,
    },
}
