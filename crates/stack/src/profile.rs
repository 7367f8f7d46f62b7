//! The profile of a node: its parts, as one type.

use redpoll_base::Memory;
use redpoll_mac::{Access, CsmaCa};
use redpoll_tcp::{Algorithms, Connection, SendRing, Standard};

use crate::assist::{Assist, NoAssist};
use crate::rules::{RplRules, StandardRules};
use crate::segments::{Handover, Pull};
use crate::transports::{NoStreams, StreamTransport};

/// The parts that a [`Node`](crate::Node) is made of.
///
/// A kind of memory alone is a profile too, for devices: a node with CSMA-CA, the standard
/// algorithms of TCP, no assistant, and no other transport in place of TCP. A host program that
/// gives a node more parts names them in a type of its own:
///
/// ```
/// use redpoll_base::{Instant, StaticMemory, Wake};
/// use redpoll_stack::assist::{Assist, Disposition, Passing};
/// use redpoll_stack::mac::CsmaCa;
/// use redpoll_stack::transport::Standard;
/// use redpoll_stack::{NoStreams, Profile, Pull, StandardRules};
///
/// /// The number of packets that a router has forwarded.
/// struct Forwarded(u32);
///
/// impl Assist for Forwarded {
///     fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
///         self.0 = self.0.wrapping_add(1);
///         Disposition::Forward
///     }
///     fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
///         None
///     }
///     fn poll_at(&self) -> Option<Wake> {
///         None
///     }
/// }
///
/// /// A router that counts what it forwards.
/// enum Counting {}
///
/// impl Profile for Counting {
///     type Memory = StaticMemory;
///     type Access = CsmaCa;
///     type Algorithms = Standard;
///     type Assist = Forwarded;
///     type Streams = NoStreams;
///     type Rules = StandardRules;
///     type Handover = Pull;
/// }
/// ```
pub trait Profile {
    /// The kind of memory, which chooses buffers and tables.
    type Memory: Memory + 'static;
    /// The method of access to the medium.
    type Access: Access;
    /// The algorithms of TCP connections.
    type Algorithms: Algorithms;
    /// The assistant of a router.
    type Assist: Assist;
    /// The transport in place of TCP.
    type Streams: StreamTransport;
    /// The objective functions and parameters of RPL.
    type Rules: RplRules;
    /// The handover of segments from TCP to the link.
    type Handover: Handover;
}

/// The parts of a node that are created before the node and moved into it.
#[derive(Clone, Debug)]
pub struct Parts<P: Profile> {
    /// The method of access to the medium.
    pub access: P::Access,
    /// The assistant of a router.
    pub assist: P::Assist,
    /// The transport in place of TCP.
    pub streams: P::Streams,
    /// The handover of segments from TCP to the link.
    pub handover: P::Handover,
}

/// A connection of a node with the profile `P`.
pub type NodeConnection<P> = Connection<
    <<P as Profile>::Memory as Memory>::Buffer,
    SendRing<<<P as Profile>::Memory as Memory>::Buffer>,
    <P as Profile>::Algorithms,
>;

impl<M: Memory + 'static> Profile for M {
    type Memory = M;
    type Access = CsmaCa;
    type Algorithms = Standard;
    type Assist = NoAssist;
    type Streams = NoStreams;
    type Rules = StandardRules;
    type Handover = Pull;
}
