//! Types of the interface of `Lowpan`: pulled datagrams, frames, events, reasons of losses.

use core::fmt;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

/// Greatest length of [`PulledDatagram::header`] in bytes: an extension header of eight bytes of a
/// routing protocol (RFC 6553), and a transport header of 60 bytes.
pub const TRANSPORT_HEADER_MAX: usize = 68;

/// A datagram of the node's own transport: its headers, and payload that is read on demand.
#[derive(Clone, Debug)]
pub struct PulledDatagram {
    /// The IPv6 header. Its `payload_len` is ignored; `header_len` and `payload_len` below are used
    /// instead.
    pub ip: Ipv6Header,
    /// Any extension headers, followed by the transport header with its checksum. Only the first
    /// `header_len` bytes are used.
    pub header: [u8; TRANSPORT_HEADER_MAX],
    /// Number of bytes used in `header`. A number above [`TRANSPORT_HEADER_MAX`] counts as
    /// [`TRANSPORT_HEADER_MAX`].
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

/// The error that the requested payload bytes no longer exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the requested bytes of the payload no longer exist")
    }
}

impl core::error::Error for Gone {}

/// The source of the payload of each [`PulledDatagram`]. The payload is read when a frame is built.
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
    /// Returns the buffer for the payload of a frame to `dst`; its length limits the payload.
    /// `None` drops the datagram as `Unsendable`.
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
    /// The caller's note from [`on_frame_suspended`](crate::Lowpan::on_frame_suspended), if the
    /// frame was built before.
    pub repeats: Option<Note>,
}

/// A value that the caller attaches to a suspended frame and receives in [`FrameOut::repeats`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note(pub u16);

/// The reason why a received frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// A header of the frame cannot be decoded, or its lengths or offsets are inconsistent.
    Malformed,
    /// The frame is not 6LoWPAN, or has a header that this node does not handle, such as HC1.
    Unsupported,
    /// The datagram is longer than a slot, or a fragment is longer than a frame to its next hop.
    TooLarge,
    /// No slot is free, or no record is free for a datagram that arrives in recoverable fragments.
    NoSlot,
    /// A fragment contradicts a previous one; the whole datagram is dropped.
    Overlap,
    /// A copy of a received fragment, or a fragment of a complete datagram.
    Duplicate,
    /// A fragment of a datagram that was given up. Also a recoverable fragment or an acknowledgment
    /// (RFC 8931) of an unknown datagram.
    Orphan,
    /// A fragment to forward, but the previous one is missing; the rest of its datagram is dropped.
    FragmentGap,
    /// A fragment to forward, but too many wait for the radio; the rest of its datagram is dropped,
    /// unless it is recoverable. Also a recoverable fragment of a datagram with too many gaps.
    NoFragmentBuffer,
}

/// The reason why a datagram was not sent completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LossReason {
    /// The MAC dropped a frame of the datagram.
    LinkFailure,
    /// The upper layer discarded the payload of a [`PulledDatagram`] before its last frame was
    /// built.
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
    /// Not all recoverable fragments of the datagram were acknowledged, even after all retries.
    NotRecovered,
}

/// An event for the upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LowpanEvent {
    /// Every frame of a datagram of the node's own transport was delivered to the next hop. If the
    /// datagram left in recoverable fragments, the reassembling node has received it.
    SegmentSent {
        /// The datagram's handle.
        handle: u32,
    },
    /// A datagram of the node's own transport was not delivered as [`Self::SegmentSent`] requires.
    SegmentLost {
        /// The datagram's handle.
        handle: u32,
        /// The reason for the loss.
        reason: LossReason,
    },
    /// A queued datagram was not delivered to its next hop. If several datagrams are lost before
    /// the caller polls, only the last one is reported; the counters include all.
    DatagramDropped {
        /// Link address of the next hop.
        next_hop: Address,
        /// The reason for the loss.
        reason: LossReason,
    },
}
