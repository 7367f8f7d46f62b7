//! The seam to a radio: what it can do, what it is asked to do, what came of
//! it.
//!
//! A frame crosses the seam as an MPDU without its frame check sequence, so at
//! most [`FrameBuf::CAPACITY`](crate::FrameBuf::CAPACITY) = 125 bytes. The
//! radio appends the two bytes of the FCS to what it sends, checks them on what
//! it hears, and hands over intact frames only, without them.

#[cfg(feature = "duty-cycled")]
use redpoll_base::Duration;

/// What a radio does by itself. What it does not do, the MAC does.
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

/// How a radio repeats a frame until somebody answers it.
///
/// Behind each copy of a frame that asks for an acknowledgement the radio listens for
/// `gap` and then assesses the channel. If it is clear, the next copy goes out; if
/// not, the radio waits for `detect` and looks at what it has: the Imm-ACK ends the
/// repetition, and anything else if the repetition `gives_way`. Behind a copy that asks for none the
/// radio waits for `gap` alone.
#[cfg(feature = "duty-cycled")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strobe {
    /// From the end of a copy until the radio assesses the channel.
    pub gap: Duration,
    /// From there on, if something is in the channel, until the radio looks whether
    /// that was the Imm-ACK.
    pub detect: Duration,
    /// The least time from the beginning of one copy to that of the next.
    pub period: Duration,
    /// No copy begins later than this after the first.
    pub span: Duration,
    /// Whether any Imm-ACK counts, whatever its sequence number: a defect of old
    /// releases of Contiki.
    pub any_ack: bool,
    /// Whether anything but the Imm-ACK ends the repetition; else it goes on.
    pub gives_way: bool,
}

/// What an assessment found.
#[cfg(feature = "duty-cycled")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// Nothing.
    Clear,
    /// Energy.
    Busy,
    /// A frame whose beginning the radio has heard.
    Receiving,
}

/// Something that the radio must do now.
///
/// `Load`, `Transmit`, `Assess` and `Strobe` end in a [`RadioResult`], and the next work comes
/// only after it. The others have none; they set what the radio does between
/// works. A radio starts out listening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioWork {
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
    /// Find out what is in the channel: switch the receiver on if it is off, and once it
    /// is ready sample the channel for 128 µs. Ends in [`RadioResult::Assessed`]; what
    /// the radio does between works is what it does again then.
    #[cfg(feature = "duty-cycled")]
    Assess,
    /// Send the loaded frame over and over, without looking first. Ends in
    /// [`RadioResult::Answered`], [`RadioResult::ChannelBusy`],
    /// [`RadioResult::NoAck`], or, if the frame asks for no acknowledgement, in
    /// [`RadioResult::Sent`]. A radio that is receiving a frame, or has one that has
    /// not been read, sends nothing and ends in `ChannelBusy`.
    #[cfg(feature = "duty-cycled")]
    Strobe(Strobe),
    /// Keep the receiver on between works.
    Listen,
    /// Keep the receiver off between works, but be ready for the next at once:
    /// the oscillator runs.
    Doze,
    /// Keep the radio off between works. What is being received is received to
    /// its end.
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

/// How a radio work ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioResult {
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
    /// One of the copies of a [`RadioWork::Strobe`] has been acknowledged.
    #[cfg(feature = "duty-cycled")]
    Answered {
        /// The Imm-ACK's frame-pending bit.
        frame_pending: bool,
        /// How long ago that copy began to be sent.
        begun_ago: Duration,
    },
    /// The channel has been assessed.
    #[cfg(feature = "duty-cycled")]
    Assessed(Channel),
    /// The frame has been sent, and within macAckWaitDuration (864 µs) no
    /// Imm-ACK came.
    NoAck,
}

/// What the radio knows about a frame it heard.
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
