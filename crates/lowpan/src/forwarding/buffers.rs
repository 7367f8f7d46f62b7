//! The caller's memory: records of datagrams in transit, and fragments that wait for the radio.

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;

use crate::Note;
use crate::duplicates::Key;

/// Largest payload of a forwarded frame in bytes.
pub(super) const FRAME: usize = 116;

/// The memory of fragment forwarding.
pub struct ForwardingMemory<M: Memory> {
    /// One entry for each datagram that is still arriving, filled with [`VirtualBuffer::EMPTY`].
    pub datagrams: M::Table<VirtualBuffer>,
    /// One entry for each fragment that waits for the radio, filled with [`FragmentBuffer::EMPTY`];
    /// at most 254 are used.
    pub fragments: M::Table<FragmentBuffer>,
}

/// A relay's record of a datagram in transit (RFC 8930 §6); opaque.
#[derive(Clone, Debug, Default)]
pub struct VirtualBuffer(pub(super) Option<PassingDatagram>);

impl VirtualBuffer {
    /// A free entry.
    pub const EMPTY: VirtualBuffer = VirtualBuffer(None);
}

/// A datagram in transit.
#[derive(Clone, Debug)]
pub(super) struct PassingDatagram {
    pub(super) key: Key,
    pub(super) next_hop: Address,
    pub(super) capacity: u8,
    pub(super) tag: u16,
    pub(super) covered: u16,
    pub(super) progress: Instant,
}

/// A fragment that waits for the radio; opaque.
#[derive(Clone, Debug)]
pub struct FragmentBuffer {
    pub(super) next_hop: Address,
    pub(super) tag: u16,
    pub(super) place: Place,
    /// Whether the fragment is recoverable (RFC 8931): if the fragment is lost, the other fragments
    /// of its datagram are still sent.
    pub(super) recoverable: bool,
    pub(super) dead: bool,
    pub(super) repeats: Option<Note>,
    pub(super) len: u8,
    pub(super) bytes: [u8; FRAME],
}

impl FragmentBuffer {
    /// A free entry.
    pub const EMPTY: FragmentBuffer = FragmentBuffer {
        next_hop: Address::Absent,
        tag: 0,
        place: Place::First,
        recoverable: false,
        dead: false,
        repeats: None,
        len: 0,
        bytes: [0; FRAME],
    };

    /// Returns the identity of the fragment's datagram: its tag, and whether it is recoverable.
    pub(super) fn name(&self) -> (u16, bool) {
        (self.tag, self.recoverable)
    }
}

impl Default for FragmentBuffer {
    fn default() -> Self {
        FragmentBuffer::EMPTY
    }
}

/// The place of a fragment in its datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    First,
    Middle,
    Last,
}
