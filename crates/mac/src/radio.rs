//! The interface to a radio: its functions, operations and results.
//!
//! A frame at this interface is an MPDU without its frame check sequence, so it has at most
//! [`FrameBuf::CAPACITY`](crate::FrameBuf::CAPACITY) = 125 bytes. The radio appends the FCS to sent
//! frames, checks it on received ones, and delivers only intact frames, without the FCS.

use core::convert::Infallible;

/// The functions that a radio performs by itself. The MAC performs the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RadioCaps {
    /// Whether the radio sends an Imm-ACK 192 µs after a received frame that requests one, and
    /// waits for the Imm-ACK of a sent frame. `Transmit` then ends in [`RadioResult::Acked`] or
    /// [`RadioResult::NoAck`]. If false, `Transmit` always ends in [`RadioResult::Sent`] after the
    /// last bit, received Imm-ACKs arrive as frames, and the MAC sends Imm-ACKs.
    pub auto_ack: bool,
    /// Whether the radio performs the whole of CSMA-CA within a `Transmit` with `cca`, so that
    /// [`RadioResult::ChannelBusy`] means channel access failure. Such radios mostly do not listen
    /// during their backoff.
    pub csma: bool,
    /// Whether the radio repeats an unacknowledged frame within one `Transmit`, so that
    /// [`RadioResult::NoAck`] is final. Such a radio also has `auto_ack`.
    pub retries: bool,
    /// Whether the radio sets the frame-pending bit of its Imm-ACKs to data requests from the
    /// neighbours of [`RadioWork::SourceMatch`]. If false, the bit of an Imm-ACK by the radio is
    /// always clear, and the node cannot be the parent of sleepy nodes.
    pub source_match: bool,
}

/// A radio operation. `Load`, `Transmit` and `Cycled` end in a [`RadioResult`], and the next
/// operation follows only after the result. The others have no result; they set the radio's state
/// between operations. A radio initially listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioWork<W = Infallible> {
    /// Move the MAC's [frame](crate::Mac::frame) into the radio. It remains there until the next
    /// `Load`. A radio with a single buffer restores a frame that reception has overwritten, which
    /// takes time. Ends in [`RadioResult::Loaded`].
    Load,
    /// Send the loaded frame. With `cca`, first sample the channel for 128 µs and end in
    /// [`RadioResult::ChannelBusy`] if it is occupied or a frame is being received. Then turn
    /// around, send, and, with `auto_ack`, wait for the Imm-ACK if the frame requests one.
    Transmit {
        /// Whether to assess the channel first.
        cca: bool,
    },
    /// A job that only access methods with a [`Cycle`](crate::Cycle) have. Ends in
    /// [`RadioResult::Cycled`] or in a result of `Transmit`. On devices, `W` is [`Infallible`]:
    /// they have no jobs of this kind.
    Cycled(W),
    /// Keep the receiver on between operations.
    Listen,
    /// Keep the receiver off between operations, with the oscillator running so that the next
    /// operation can start at once.
    Doze,
    /// Keep the radio off between operations. A frame in reception is received completely.
    Sleep,
    /// Set or clear the frame-pending bit of Imm-ACKs to data requests from this neighbour from now
    /// on. Only with `source_match`.
    SourceMatch {
        /// The neighbour's short address.
        neighbour: u16,
        /// Whether frames wait for the neighbour.
        pending: bool,
    },
}

/// The result of a radio operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioResult<D = Infallible> {
    /// The frame is in the radio.
    Loaded,
    /// The channel was occupied, and nothing was sent.
    ChannelBusy,
    /// The frame was sent; it requested no acknowledgment, or the radio has no `auto_ack`.
    Sent,
    /// The frame was sent and acknowledged.
    Acked {
        /// The Imm-ACK's frame-pending bit: the neighbour has frames for this node.
        frame_pending: bool,
    },
    /// A [`RadioWork::Cycled`] has ended.
    Cycled(D),
    /// The frame was sent, and no Imm-ACK arrived within macAckWaitDuration (864 µs).
    NoAck,
}

/// The radio's information about a received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxInfo {
    /// Signal strength in dBm.
    pub rssi_dbm: i8,
    /// Link quality indication, 0 (worst) to 255 (best).
    pub lqi: u8,
    /// With `auto_ack`: whether the radio's Imm-ACK of this frame had the frame-pending bit set.
    pub ack_sent_pending: bool,
}
