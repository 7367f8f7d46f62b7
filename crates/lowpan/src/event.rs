//! The types of the interface except bytes: pulled datagrams, frames, events, reasons.

use core::fmt;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

/// Room for a transport header of 60 bytes, and for a preceding header of eight bytes of a routing
/// protocol (RFC 6553).
pub const TRANSPORT_HEADER_MAX: usize = 68;

/// A datagram of the node's own transport: its headers, and payload that is read on demand.
#[derive(Clone, Debug)]
pub struct PulledDatagram {
    /// The IPv6 header. Its `payload_len` is ignored; `header_len` and `payload_len` below are used
    /// instead.
    pub ip: Ipv6Header,
    /// The transport header with its checksum, after any extension headers; only the first
    /// `header_len` bytes are used.
    pub header: [u8; TRANSPORT_HEADER_MAX],
    /// Bytes of the headers, limited to the room for them.
    pub header_len: u8,
    /// Bytes of the payload after the transport header.
    pub payload_len: u16,
    /// The caller's handle of this datagram, returned to [`PayloadSource`] and in events.
    pub handle: u32,
    /// Link address of the next hop.
    pub next_hop: Address,
    /// Whether another datagram for the same next hop follows at once
    /// ([`segment_pending`](crate::LowpanConfig::segment_pending)).
    pub is_followed: bool,
}

/// The requested bytes no longer exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the requested bytes of the payload no longer exist")
    }
}

impl core::error::Error for Gone {}

/// The source of the payload of pulled datagrams, which is read frame by frame.
pub trait PayloadSource {
    /// Reads the payload of datagram `handle` from byte `offset` on into `out`, and returns the
    /// number of bytes. No requested byte is beyond [`PulledDatagram::payload_len`].
    ///
    /// # Errors
    /// [`Gone`] if the range has been acknowledged or its connection has ended. Fewer bytes than
    /// requested also count as `Gone`.
    fn read(&mut self, handle: u32, offset: usize, out: &mut [u8]) -> Result<usize, Gone>;
}

/// The buffer in which frames are built, and from which the radio reads them.
pub trait FrameRoom {
    /// Returns the buffer for the payload of a frame to `dst`, whose length is the limit of that
    /// payload. `None` if the frame has no room.
    fn room(&mut self, dst: Address) -> Option<&mut [u8]>;
}

impl FrameRoom for &mut [u8] {
    fn room(&mut self, _: Address) -> Option<&mut [u8]> {
        Some(self)
    }
}

/// A frame built by [`Lowpan::next_frame`](crate::Lowpan::next_frame).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameOut {
    /// Link destination.
    pub dst: Address,
    /// Length of the MAC payload in bytes.
    pub len: usize,
    /// The frame-pending bit: more frames for the same node follow at once.
    pub more: bool,
    /// Whether the addressee sleeps, and listens only briefly.
    pub indirect: bool,
    /// The note of [`Lowpan::on_frame_suspended`](crate::Lowpan) about this frame, if it was built
    /// before and not delivered.
    pub repeats: Option<Note>,
}

/// A value of the caller's, returned when a frame is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note(pub u16);

/// The reason why a received frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The frame is not 6LoWPAN, or a header cannot be decoded or is inconsistent.
    Malformed,
    /// A dispatch that this node does not handle: mesh or broadcast header, HC1, or no 6LoWPAN.
    Unsupported,
    /// The datagram does not fit into a slot.
    TooLarge,
    /// No slot is free.
    NoSlot,
    /// A fragment contradicts a previous one; the whole datagram is dropped.
    Overlap,
    /// A copy of a received fragment, or a fragment of a complete datagram.
    Duplicate,
    /// A fragment of a datagram that was given up.
    Orphan,
    /// A fragment to forward after a missing one; the rest of its datagram is dropped.
    FragmentGap,
    /// A fragment to forward while too many wait for the radio; the rest of its datagram is
    /// dropped, unless it can be recovered. Also a recoverable fragment after too many gaps.
    NoFragmentBuffer,
}

/// The reason why a datagram was not sent completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LossReason {
    /// The MAC dropped a frame of the datagram.
    LinkFailure,
    /// The upper layer discarded the payload of a pulled datagram before its last frame was built.
    Gone,
    /// The queued slot does not contain a well-formed IPv6 packet.
    Malformed,
    /// The headers do not fit into a frame, or the datagram is longer than 2,047 bytes.
    Unsendable,
    /// A sleepy node did not request the datagram in time (macTransactionPersistenceTime, IEEE
    /// 802.15.4-2015 table 8-94).
    Expired,
    /// The limit of datagrams that wait for a sleepy node is reached.
    IndirectFull,
    /// Random early detection would have marked the packet, but the packet is not ECN-capable.
    Red,
    /// Not all of its recoverable fragments were acknowledged, even after all retries.
    NotRecovered,
}

/// An event for the upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LowpanEvent {
    /// Every frame of a pulled datagram was delivered to the next hop; one in recoverable fragments
    /// was delivered to the reassembling node.
    SegmentSent {
        /// The datagram's handle.
        handle: u32,
    },
    /// A pulled datagram was not delivered as [`Self::SegmentSent`] requires.
    SegmentLost {
        /// The datagram's handle.
        handle: u32,
        /// The reason.
        reason: LossReason,
    },
    /// A queued datagram was not delivered to its next hop. Several losses before the caller polls
    /// are reported as the latest one; the counters include all.
    DatagramDropped {
        /// Link address of the next hop.
        next_hop: Address,
        /// The reason.
        reason: LossReason,
    },
}
