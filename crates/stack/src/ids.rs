//! Handles of sockets, and the events that name them.

use redpoll_tcp as tcp;

/// The places of a table that a handle can name. The last number that a byte has is
/// nobody's: a table of 256 has one place that is never used, and a longer one more.
pub(crate) const INDICES: core::ops::Range<u8> = 0..u8::MAX;

/// A TCP connection of one node.
///
/// After its connection was released a handle is good for looking at it while
/// TCP finishes, and for nothing else. It stays invalid when the memory serves
/// another connection: it carries a generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ConnId {
    pub(crate) index: u8,
    pub(crate) generation: u8,
}

impl ConnId {
    /// A handle that [another transport](crate::StreamTransport) gives: to the
    /// `index`-th of its connections, in its `generation`-th use.
    pub const fn new(index: u8, generation: u8) -> Self {
        ConnId { index, generation }
    }

    /// Its place in the table, and of which use of that it is.
    pub const fn parts(self) -> (u8, u8) {
        (self.index, self.generation)
    }
}

/// A TCP listener of one node; invalid after it was closed, as a [`ConnId`] is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ListenerId {
    pub(crate) index: u8,
    pub(crate) generation: u8,
}

impl ListenerId {
    /// A handle that [another transport](crate::StreamTransport) gives: to the
    /// `index`-th of its listeners, in its `generation`-th use.
    pub const fn new(index: u8, generation: u8) -> Self {
        ListenerId { index, generation }
    }

    /// Its place in the table, and of which use of that it is.
    pub const fn parts(self) -> (u8, u8) {
        (self.index, self.generation)
    }
}

/// A UDP socket of one node; invalid after it was closed, as a [`ConnId`] is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct UdpId {
    pub(crate) index: u8,
    pub(crate) generation: u8,
}

/// Something that an application may want to act on. Events are edges: an
/// event says that something has changed, not how often.
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
    /// A router refuses this node's address: somebody else has registered it (RFC 6775
    /// §4.1, status 1). The node has no other, and asks again later; whoever runs it must
    /// give it one, or find out who the other is.
    AddressInUse,
    /// An echo reply came back (RFC 4443 §4.2).
    EchoReply {
        /// The identifier of the request.
        ident: u16,
        /// The sequence number of the request.
        seq: u16,
    },
}
