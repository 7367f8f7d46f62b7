//! Counters of a connection, which wrap around.

use redpoll_base::Duration;

use crate::recovery::Loss;

/// Counters of a connection. A segment counts as sent when the link takes it from the connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Segments of any kind handed to the link.
    pub segments_sent: u32,
    /// Segments that arrived for this connection.
    pub segments_received: u32,
    /// Segments with payload handed to the link, retransmissions included.
    pub data_segments_sent: u32,
    /// Segments with payload that arrived, including duplicates and segments out of order.
    pub data_segments_received: u32,
    /// Payload bytes handed to the link, retransmissions included.
    pub bytes_sent: u32,
    /// Payload bytes on the SYN that the peer did not accept (RFC 7413 §4.2.2). They leave later as
    /// new data and do not count as a retransmission.
    pub syn_bytes_refused: u32,
    /// Payload bytes that the peer acknowledged.
    pub bytes_acked: u32,
    /// Payload bytes received in order, each counted once.
    pub bytes_received: u32,
    /// Retransmitted segments by cause.
    pub retransmissions: Retransmissions,
    /// Times the retransmission timer ran out.
    pub rtos: u32,
    /// Tail loss probes sent, with new or old data (RFC 8985 §7).
    pub tail_probes: u32,
    /// Reductions of the congestion window in response to ECN marks (RFC 3168).
    pub ecn_reductions: u32,
    /// Reductions of the congestion window that were undone: the loss was spurious (RFC 4015).
    pub undone_reductions: u32,
    /// Segments that the link gave up.
    pub link_losses: u32,
    /// Duplicate acknowledgments (RFC 5681 §2) that arrived.
    pub dup_acks_received: u32,
    /// Segments sent that carry no payload and no SYN, FIN or RST.
    pub acks_sent: u32,
    /// Challenge ACKs sent (RFC 5961), without those suppressed by the rate limit.
    pub challenge_acks: u32,
    /// Window probes sent.
    pub window_probes: u32,
    /// Segments that failed a check and were dropped.
    pub bad_segments: u32,
    /// Segments with payload that arrived beyond a gap.
    pub out_of_order_segments: u32,
    /// Number of measured round-trip times.
    pub rtt_samples: u32,
    /// Last measured round-trip time; zero before the first measurement.
    pub last_rtt: Duration,
}

/// Retransmitted segments by cause.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Retransmissions {
    /// Retransmissions after the retransmission timer expired (RFC 6298), SYN included.
    pub rto: u32,
    /// Retransmissions in fast recovery (RFC 5681, RFC 6582, RFC 6675, RFC 8985).
    pub fast: u32,
    /// Retransmissions after the link reported the segment lost.
    pub link_lost: u32,
    /// Retransmissions after the path MTU decreased.
    pub path_mtu: u32,
    /// Tail loss probes (RFC 8985 §7).
    pub tail: u32,
    /// Retransmissions that probe a window which shrank to zero.
    pub probe: u32,
}

impl Retransmissions {
    /// Returns the sum of all causes.
    pub fn total(&self) -> u32 {
        self.rto
            .wrapping_add(self.fast)
            .wrapping_add(self.link_lost)
            .wrapping_add(self.path_mtu)
            .wrapping_add(self.tail)
            .wrapping_add(self.probe)
    }
}

/// Counters of one connection; empty without the feature `stats`.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    #[cfg(feature = "stats")]
    stats: Stats,
    #[cfg(feature = "stats")]
    loss: Loss,
}

impl Tally {
    #[cfg(feature = "stats")]
    pub(crate) const fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(crate) fn count(&mut self, which: impl FnOnce(&mut Stats) -> &mut u32) {
        self.add(which, 1);
    }

    pub(crate) fn add(&mut self, which: impl FnOnce(&mut Stats) -> &mut u32, many: u32) {
        self.note(|stats| {
            let counter = which(stats);
            *counter = counter.wrapping_add(many);
        });
    }

    /// Sets the cause of the following retransmissions.
    #[cfg(feature = "stats")]
    pub(crate) fn on_loss(&mut self, loss: Loss) {
        self.loss = loss;
    }

    #[cfg(not(feature = "stats"))]
    pub(crate) fn on_loss(&mut self, _loss: Loss) {}

    #[cfg(feature = "stats")]
    pub(crate) fn loss(&self) -> Loss {
        self.loss
    }

    #[cfg(not(feature = "stats"))]
    pub(crate) fn loss(&self) -> Loss {
        Loss::default()
    }

    #[cfg(feature = "stats")]
    pub(crate) fn note(&mut self, change: impl FnOnce(&mut Stats)) {
        change(&mut self.stats);
    }

    #[cfg(not(feature = "stats"))]
    pub(crate) fn note(&mut self, _change: impl FnOnce(&mut Stats)) {}
}
