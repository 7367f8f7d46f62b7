//! The counters of a MAC. Every received frame, and every attempt to send one, has exactly one
//! reason.

/// Counters since the [`Mac`](crate::Mac) was made. They wrap after 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MacCounters {
    /// Frames accepted from the layer above.
    pub submitted: u32,
    /// Data frames put on the air, each attempt counted.
    pub frames_sent: u32,
    /// Attempts after the first, on the air or not.
    pub frame_retries: u32,
    /// Channel assessments that found the channel busy.
    pub channel_busy: u32,
    /// Attempts that CSMA-CA gave up without sending.
    pub channel_access_failures: u32,
    /// Attempts that were sent and not acknowledged.
    pub no_ack: u32,
    /// Frames delivered: acknowledged, or sent without asking for it.
    pub delivered: u32,
    /// Frames given up, the last attempt not acknowledged.
    pub dropped_no_ack: u32,
    /// Frames given up, the last attempt without channel access.
    pub dropped_channel_access: u32,
    /// Frames given up, because link-layer security could not protect them.
    pub dropped_unsealed: u32,
    /// Frames given back between two attempts because others were more urgent;
    /// each is submitted again.
    pub preempted: u32,
    /// Data requests among the frames submitted.
    pub data_requests: u32,
    /// Results of the radio that do not belong to the work it had.
    pub radio_faults: u32,

    /// Acknowledgements of this node's frames.
    pub acks_received: u32,
    /// Imm-ACKs sent by the MAC itself (a radio with `auto_ack` counts its own).
    pub acks_sent: u32,
    /// Imm-ACKs not sent because the radio was not free in time.
    pub acks_late: u32,

    /// Data frames handed to the layer above.
    pub rx_frames: u32,
    /// Dropped: a repetition of a frame already handed up.
    pub rx_duplicates: u32,
    /// Dropped: not a frame of IEEE 802.15.4, or cut short.
    pub rx_malformed: u32,
    /// Dropped: another PAN's.
    pub rx_other_pan: u32,
    /// Dropped: for another node.
    pub rx_not_for_us: u32,
    /// Dropped: a frame version that this MAC does not speak.
    pub rx_version: u32,
    /// Dropped: secured, where this node has no security.
    pub rx_secured: u32,
    /// Dropped: refused by link-layer security, which counts why.
    pub rx_refused: u32,
    /// Data requests received from neighbours.
    pub rx_data_requests: u32,
    /// Dropped: a beacon, or a MAC command other than a data request.
    pub rx_unsupported_type: u32,
    /// Dropped: without a source address it cannot be answered or reassembled.
    pub rx_no_source: u32,
    /// Dropped: an unexpected acknowledgement.
    pub rx_stray_acks: u32,
}

pub(crate) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
