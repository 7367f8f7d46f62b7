//! The seam to a radio: its functions, works and results.
//!
//! A frame crosses the seam as an MPDU without its frame check sequence, so it has at most
//! [`FrameBuf::CAPACITY`](crate::FrameBuf::CAPACITY) = 125 bytes. The radio appends the FCS to
//! sent frames, checks it on received ones, and delivers only intact frames, without the FCS.

use core::convert::Infallible;

/// The functions that a radio performs by itself. The MAC performs the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RadioCaps {
    /// Answers a frame that asks for it with an Imm-ACK after 192 µs, and
    /// waits for the Imm-ACK of a frame it sent: `Transmit` ends in
    /// [`RadioResult::Acked`] or [`RadioResult::NoAck`]. Without this,
    /// `Transmit` always ends in [`RadioResult::Sent`] when the last bit has
    /// left, Imm-ACKs heard come in as frames, and the MAC does the rest.
    pub auto_ack: bool,
    /// Does the whole of CSMA-CA within a `Transmit` with `cca`, so that
    /// [`RadioResult::ChannelBusy`] means channel access failure. Such radios
    /// mostly do not listen during their backoff.
    pub csma: bool,
    /// Repeats a frame that was not acknowledged within one `Transmit`, so
    /// that [`RadioResult::NoAck`] is final. Such a radio also has `auto_ack`.
    pub retries: bool,
    /// Sets the frame-pending bit of its Imm-ACKs to data requests from the
    /// neighbours of [`RadioWork::SourceMatch`]. Without this the bit of an
    /// Imm-ACK that the radio sends by itself is always clear, and a node with
    /// such a radio cannot be the parent of sleepy nodes.
    pub source_match: bool,
}

/// Something that the radio must do now.
///
/// `Load`, `Transmit` and `Cycled` end in a [`RadioResult`], and the next work comes
/// only after it. The others have none; they set what the radio does between
/// works. A radio starts out listening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioWork<W = Infallible> {
    /// Move the MAC's [frame](crate::Mac::frame) into the radio. It
    /// stays there until the next `Load`; a radio with a single buffer, in
    /// which something heard has overwritten it, restores it by itself, and
    /// that takes its time. Ends in [`RadioResult::Loaded`].
    Load,
    /// Send the loaded frame: if `cca`, first sample the channel for 128 µs
    /// and end in [`RadioResult::ChannelBusy`] if it is occupied or a frame is
    /// being received; then turn around, send, and, with `auto_ack`, wait for
    /// the Imm-ACK if the frame asks for one.
    Transmit {
        /// Whether to look first whether the channel is free.
        cca: bool,
    },
    /// A work that only a method of access with a [`Cycle`](crate::Cycle) has. Ends in
    /// [`RadioResult::Cycled`] or as a transmission. A device's radio has none: `W` is
    /// [`Infallible`].
    Cycled(W),
    /// Keep the receiver on between works.
    Listen,
    /// Keep the receiver off between works, but be ready for the next at once:
    /// the oscillator runs.
    Doze,
    /// Keep the radio off between works. A frame in reception is received to its end.
    Sleep,
    /// From now on the frame-pending bit of Imm-ACKs to data requests from this
    /// neighbour is set, or clear. Only with `source_match`.
    SourceMatch {
        /// The neighbour's short address.
        neighbour: u16,
        /// Whether there is something for it.
        pending: bool,
    },
}

impl RadioWork {
    /// The same work, to a radio that has others too.
    pub fn widen<W>(self) -> RadioWork<W> {
        match self {
            RadioWork::Load => RadioWork::Load,
            RadioWork::Transmit { cca } => RadioWork::Transmit { cca },
            RadioWork::Listen => RadioWork::Listen,
            RadioWork::Doze => RadioWork::Doze,
            RadioWork::Sleep => RadioWork::Sleep,
            RadioWork::SourceMatch { neighbour, pending } => {
                RadioWork::SourceMatch { neighbour, pending }
            }
        }
    }
}

/// How a radio work ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioResult<D = Infallible> {
    /// The frame is in the radio.
    Loaded,
    /// The channel was occupied, nothing has been sent.
    ChannelBusy,
    /// The frame has been sent; it asked for no acknowledgement, or the radio
    /// has no `auto_ack`.
    Sent,
    /// The frame has been sent and acknowledged.
    Acked {
        /// The Imm-ACK's frame-pending bit: the neighbour has more for us.
        frame_pending: bool,
    },
    /// A [`RadioWork::Cycled`] has ended.
    Cycled(D),
    /// The frame has been sent, and within macAckWaitDuration (864 µs) no
    /// Imm-ACK came.
    NoAck,
}

impl<D> RadioResult<D> {
    /// The same result of a work that every radio has; `None` of another.
    pub fn narrow(self) -> Option<RadioResult> {
        Some(match self {
            RadioResult::Loaded => RadioResult::Loaded,
            RadioResult::ChannelBusy => RadioResult::ChannelBusy,
            RadioResult::Sent => RadioResult::Sent,
            RadioResult::Acked { frame_pending } => RadioResult::Acked { frame_pending },
            RadioResult::NoAck => RadioResult::NoAck,
            RadioResult::Cycled(_) => return None,
        })
    }
}

/// The radio's information about a received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxInfo {
    /// Signal strength in dBm.
    pub rssi_dbm: i8,
    /// Link quality indication, 0 (worst) to 255 (best).
    pub lqi: u8,
    /// With `auto_ack`: the Imm-ACK that the radio sent for this frame had the
    /// frame-pending bit set.
    pub ack_sent_pending: bool,
}
