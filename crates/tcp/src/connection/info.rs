//! A snapshot of a connection's variables, for diagnosis.

use redpoll_base::Duration;

use crate::SeqNum;

/// Variables of a connection at one moment, as [`Connection::info`](crate::Connection::info)
/// returns them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Info {
    /// SND.NXT: the sequence number after the last one sent (RFC 9293 §3.3.1).
    pub snd_nxt: SeqNum,
    /// RCV.NXT: the next sequence number expected from the peer (RFC 9293 §3.3.1).
    pub rcv_nxt: SeqNum,
    /// Congestion window, in bytes (RFC 5681 §2).
    pub cwnd: u32,
    /// Slow start threshold, in bytes (RFC 5681 §2); 65,535 before the first loss.
    pub ssthresh: u32,
    /// Estimate of the bytes in the network (RFC 9937 §6.2).
    pub in_flight: u32,
    /// Eff.snd.MSS: payload of a full-sized segment, in bytes (RFC 9293 §3.7.1).
    pub eff_snd_mss: u32,
    /// Bytes that the link reads in place and has not reported sent or lost.
    pub pinned: usize,
    /// Retransmission timeout, including backoff (RFC 6298).
    pub rto: Duration,
    /// Smoothed round-trip time (RFC 6298 §2); `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Whether an acknowledgment waits to be sent.
    pub owes_acknowledgment: bool,
}
