//! Counters of a MAC. Each received frame and each attempt to send counts in one result counter.

/// Counters since the [`Mac`](crate::Mac) was made. They wrap after 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MacCounters {
    /// Frames accepted from the upper layer.
    pub submitted: u32,
    /// Transmitted data frames; each attempt counts.
    pub frames_sent: u32,
    /// Attempts after the first, transmitted or not.
    pub frame_retries: u32,
    /// Channel assessments that found the channel busy.
    pub channel_busy: u32,
    /// Attempts that CSMA-CA ended without a transmission.
    pub channel_access_failures: u32,
    /// Transmitted attempts without an acknowledgment.
    pub no_ack: u32,
    /// Delivered frames: acknowledged, or sent without an acknowledgment request.
    pub delivered: u32,
    /// Frames dropped after a last attempt without an acknowledgment.
    pub dropped_no_ack: u32,
    /// Frames dropped after a last attempt without channel access.
    pub dropped_channel_access: u32,
    /// Frames dropped because link-layer security could not protect them.
    pub dropped_unsealed: u32,
    /// Frames returned to the upper layer between two attempts, to send a more urgent frame first.
    /// Each is submitted again.
    pub preempted: u32,
    /// Submitted data requests.
    pub data_requests: u32,
    /// Results of the radio that do not match its job.
    pub radio_faults: u32,

    /// Acknowledgments of this node's frames.
    pub acks_received: u32,
    /// Imm-ACKs sent by the MAC itself; 0 with `auto_ack`, because the radio then sends them.
    pub acks_sent: u32,
    /// Imm-ACKs not sent because the radio was not free in time.
    pub acks_late: u32,

    /// Data frames passed to the upper layer.
    pub rx_frames: u32,
    /// Dropped copies of a frame that was passed to the upper layer.
    pub rx_duplicates: u32,
    /// Dropped frames that are truncated or not of IEEE 802.15.4.
    pub rx_malformed: u32,
    /// Dropped frames of another PAN.
    pub rx_other_pan: u32,
    /// Dropped frames for another node.
    pub rx_not_for_us: u32,
    /// Dropped frames of an unsupported version.
    pub rx_version: u32,
    /// Dropped secured frames on a node without security.
    pub rx_secured: u32,
    /// Frames dropped by link-layer security, which counts the reasons.
    pub rx_refused: u32,
    /// Data requests received from neighbours.
    pub rx_data_requests: u32,
    /// Dropped beacons, and MAC commands other than data requests.
    pub rx_unsupported_type: u32,
    /// Dropped frames without a source address, which cannot be answered or reassembled.
    pub rx_no_source: u32,
    /// Dropped unexpected acknowledgments.
    pub rx_stray_acks: u32,
}

pub(crate) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
