//! The types of the interface besides bytes: pulled datagrams, frames, events, reasons.

use core::fmt;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

/// Room for a transport header of 60 bytes, and for a header of eight bytes that a routing
/// protocol puts before it (RFC 6553).
pub const TRANSPORT_HEADER_MAX: usize = 68;

/// A datagram of the node's own transport: headers now, payload on demand.
#[derive(Clone, Debug)]
pub struct PulledDatagram {
    /// The IPv6 header. Its `payload_len` is not read: the lengths below count.
    pub ip: Ipv6Header,
    /// The transport header with its checksum, after any extension headers; the first
    /// `header_len` bytes count.
    pub header: [u8; TRANSPORT_HEADER_MAX],
    /// Length of the headers in bytes; more than there is room counts as that.
    pub header_len: u8,
    /// Length in bytes of the payload behind the transport header.
    pub payload_len: u16,
    /// The caller's name for this datagram, handed back in [`PayloadSource`]
    /// and in events.
    pub handle: u32,
    /// The link address of the next hop.
    pub next_hop: Address,
    /// Another one for the same next hop comes right behind
    /// ([`segment_pending`](crate::LowpanConfig::segment_pending)).
    pub is_followed: bool,
}

/// The bytes asked for no longer exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the payload no longer exists")
    }
}

impl core::error::Error for Gone {}

/// Where the payload of pulled datagrams is read from, frame by frame.
pub trait PayloadSource {
    /// Reads the payload of datagram `handle` from byte `offset` on into `out`
    /// and says how many bytes it wrote. It is asked for no byte beyond
    /// [`PulledDatagram::payload_len`].
    ///
    /// # Errors
    /// [`Gone`] when the range has been acknowledged or its connection has
    /// ended. Fewer bytes than asked for count as `Gone` too.
    fn read(&mut self, handle: u32, offset: usize, out: &mut [u8]) -> Result<usize, Gone>;
}

/// Where frames are built: in the buffer that the radio reads.
pub trait FrameRoom {
    /// Room for the payload of a frame to `dst`, exactly as long as that payload may
    /// become. `None` if no frame can go there.
    fn room(&mut self, dst: Address) -> Option<&mut [u8]>;
}

/// One buffer for frames to all destinations.
impl FrameRoom for &mut [u8] {
    fn room(&mut self, _: Address) -> Option<&mut [u8]> {
        Some(self)
    }
}

/// A frame that [`Lowpan::next_frame`](crate::Lowpan::next_frame) has built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameOut {
    /// The link destination.
    pub dst: Address,
    /// Bytes written, the MAC payload's length.
    pub len: usize,
    /// More frames for the same node follow at once: the frame-pending bit.
    pub more: bool,
    /// The addressee sleeps, and listens now for a moment.
    pub indirect: bool,
    /// The frame was built before and not delivered: what its caller noted
    /// then, by [`Lowpan::on_frame_suspended`](crate::Lowpan).
    pub repeats: Option<Note>,
}

/// A value of the caller's, returned when a frame is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note(pub u16);

/// Why a received frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// Not 6LoWPAN, or a header that cannot be decoded or contradicts itself.
    Malformed,
    /// A dispatch that this node does not handle: mesh header, HC1, broadcast
    /// header, or something that is not 6LoWPAN at all.
    Unsupported,
    /// The datagram does not fit into a slot.
    TooLarge,
    /// Every slot is taken.
    NoSlot,
    /// A fragment contradicts one that was received before; the whole datagram
    /// is dropped.
    Overlap,
    /// A copy of a fragment that was received before, or of a fragment of a
    /// datagram that is complete already.
    Duplicate,
    /// A fragment of a datagram that has been given up.
    Orphan,
    /// A fragment to forward before which another is missing; the rest of its
    /// datagram is dropped.
    FragmentGap,
    /// A fragment to forward while too many wait for the radio; the rest of its
    /// datagram is dropped, unless it can be recovered. Or a recoverable one
    /// behind too many gaps.
    NoFragmentBuffer,
}

/// Why a datagram did not leave, or left only in part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LossReason {
    /// The MAC gave up on one of its frames.
    LinkFailure,
    /// The payload of a pulled datagram disappeared before its last fragment.
    Gone,
    /// A slot handed to `queue` holds no well-formed IPv6 packet.
    Malformed,
    /// The headers do not fit into a frame of this link, or the datagram is
    /// longer than 2,047 bytes.
    Unsendable,
    /// A sleepy node did not ask for it in time (macTransactionPersistenceTime,
    /// IEEE 802.15.4-2015 table 8-94).
    Expired,
    /// As many datagrams as may wait for a sleepy node wait already.
    IndirectFull,
    /// Random early detection would have marked it, and it takes no marks.
    Red,
    /// Not all of its recoverable fragments were acknowledged, after all retries.
    NotRecovered,
}

/// Something the layer above should know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LowpanEvent {
    /// Every frame of a pulled datagram has been delivered to the next hop; of one
    /// in recoverable fragments, to the node that joins them.
    SegmentSent {
        /// The datagram's handle.
        handle: u32,
    },
    /// A pulled datagram was not delivered there.
    SegmentLost {
        /// The datagram's handle.
        handle: u32,
        /// Why.
        reason: LossReason,
    },
    /// A queued datagram was not delivered to its next hop. An edge: when
    /// several are lost before the caller polls, it sees the latest; the
    /// counters see them all.
    DatagramDropped {
        /// Where it should have gone.
        next_hop: Address,
        /// Why.
        reason: LossReason,
    },
}
