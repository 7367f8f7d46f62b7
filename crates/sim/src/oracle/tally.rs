//! Counters of one end of a flow, over all its connections.

use redpoll_tcp::Stats;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Number of the present connection. Statistics of earlier ones are ignored.
    serial: u32,
    past: Sums,
    now: Sums,
    rtt_samples: u32,
    /// Payload of the present connection that was handed to the link at least once, in bytes. This
    /// is a lower bound: new data in a retransmitted segment is counted only when acknowledged.
    fresh: u64,
    /// Segments of the present connection that were received out of order and wait until a gap is
    /// filled. This is an upper bound, because duplicates count twice.
    held: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    segments_sent: u64,
    segments_received: u64,
    pub(super) data_sent: u64,
    pub(super) data_received: u64,
    pub(super) bytes_sent: u64,
    syn_bytes_refused: u64,
    pub(super) bytes_acked: u64,
    pub(super) bytes_received: u64,
    pub(super) out_of_order: u64,
    pub(super) rto: u64,
    pub(super) fast: u64,
    pub(super) link_lost: u64,
    pub(super) path_mtu: u64,
    pub(super) tail: u64,
    pub(super) probe: u64,
    window_probes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Observation {
    /// The statistics belong to an earlier connection.
    Stale,
    /// A counter of the connection decreased.
    Backwards,
    /// There is a new sample of the round-trip time.
    Sample,
    Nothing,
}

impl Tally {
    pub(super) fn renew(&mut self) -> u32 {
        self.past = self.total();
        self.now = Sums::default();
        self.rtt_samples = 0;
        self.fresh = 0;
        self.held = 0;
        self.serial += 1;
        self.serial
    }

    /// Updates the counters with the statistics of connection number `serial`; `segment` is the
    /// mean payload of the flow's segments, in bytes.
    pub(super) fn observe(&mut self, serial: u32, stats: &Stats, segment: f64) -> Observation {
        if serial != self.serial {
            return Observation::Stale;
        }
        let before = self.now;
        let Some(now) = before.followed_by(stats) else {
            return Observation::Backwards;
        };
        self.now = now;
        if before.again() == self.now.again() {
            // Several probes of a closed window may carry the same octet. Therefore the octet of a
            // probe counts only when it is acknowledged.
            let probes = self.now.window_probes - before.window_probes;
            let sent = self.now.bytes_sent - before.bytes_sent;
            self.fresh += sent.saturating_sub(probes);
        }
        let refused = self.now.syn_bytes_refused - before.syn_bytes_refused;
        self.fresh = self.fresh.saturating_sub(refused);
        self.fresh = self.fresh.max(self.now.bytes_acked);
        self.note_gaps(&before, segment);
        let has_sample = stats.rtt_samples != self.rtt_samples && stats.rtt_samples > 0;
        self.rtt_samples = stats.rtt_samples;
        if has_sample {
            Observation::Sample
        } else {
            Observation::Nothing
        }
    }

    /// Updates `held`. When a segment fills the gap, `bytes_received` advances by this segment and
    /// by the held ones, which are then no longer held.
    fn note_gaps(&mut self, before: &Sums, segment: f64) {
        self.held += self.now.out_of_order - before.out_of_order;
        let advance = self.now.bytes_received - before.bytes_received;
        if self.held > 0 && advance > 0 && segment > 0.0 {
            let segments = libm::round(advance as f64 / segment) as u64;
            self.held = self.held.saturating_sub(segments.saturating_sub(1));
        }
    }

    /// Returns a lower bound of the present connection's payload handed to the link, in bytes.
    pub(super) fn fresh(&self) -> u64 {
        self.fresh
    }

    pub(super) fn present(&self) -> &Sums {
        &self.now
    }

    pub(super) fn total(&self) -> Sums {
        let (a, b) = (&self.past, &self.now);
        Sums {
            segments_sent: a.segments_sent + b.segments_sent,
            segments_received: a.segments_received + b.segments_received,
            data_sent: a.data_sent + b.data_sent,
            data_received: a.data_received + b.data_received,
            bytes_sent: a.bytes_sent + b.bytes_sent,
            syn_bytes_refused: a.syn_bytes_refused + b.syn_bytes_refused,
            bytes_acked: a.bytes_acked + b.bytes_acked,
            bytes_received: a.bytes_received + b.bytes_received,
            out_of_order: a.out_of_order + b.out_of_order,
            rto: a.rto + b.rto,
            fast: a.fast + b.fast,
            link_lost: a.link_lost + b.link_lost,
            path_mtu: a.path_mtu + b.path_mtu,
            tail: a.tail + b.tail,
            probe: a.probe + b.probe,
            window_probes: a.window_probes + b.window_probes,
        }
    }
}

impl Sums {
    /// Returns the sums updated by `stats`, whose 32-bit counters may wrap; `None` if a counter
    /// decreased.
    fn followed_by(&self, stats: &Stats) -> Option<Sums> {
        let again = &stats.retransmissions;
        Some(Sums {
            segments_sent: advance(self.segments_sent, stats.segments_sent)?,
            segments_received: advance(self.segments_received, stats.segments_received)?,
            data_sent: advance(self.data_sent, stats.data_segments_sent)?,
            data_received: advance(self.data_received, stats.data_segments_received)?,
            bytes_sent: advance(self.bytes_sent, stats.bytes_sent)?,
            syn_bytes_refused: advance(self.syn_bytes_refused, stats.syn_bytes_refused)?,
            bytes_acked: advance(self.bytes_acked, stats.bytes_acked)?,
            bytes_received: advance(self.bytes_received, stats.bytes_received)?,
            out_of_order: advance(self.out_of_order, stats.out_of_order_segments)?,
            rto: advance(self.rto, again.rto)?,
            fast: advance(self.fast, again.fast)?,
            link_lost: advance(self.link_lost, again.link_lost)?,
            path_mtu: advance(self.path_mtu, again.path_mtu)?,
            tail: advance(self.tail, again.tail)?,
            probe: advance(self.probe, again.probe)?,
            window_probes: advance(self.window_probes, stats.window_probes)?,
        })
    }

    pub(super) fn segments(&self) -> u64 {
        self.segments_sent + self.segments_received
    }

    fn again(&self) -> u64 {
        self.rto + self.fast + self.link_lost + self.path_mtu + self.tail + self.probe
    }

    /// Returns the mean payload of the sent segments, in bytes; 0 if none was sent.
    pub(super) fn mean_segment(&self) -> f64 {
        if self.data_sent == 0 {
            return 0.0;
        }
        self.bytes_sent as f64 / self.data_sent as f64
    }
}

/// Advances a 64-bit count whose lower half now reads `reading`; `None` if it decreased. No counter
/// advances by 2^31 between two observations.
fn advance(count: u64, reading: u32) -> Option<u64> {
    let step = reading.wrapping_sub(count as u32);
    (step < 1 << 31).then(|| count + u64::from(step))
}

/// Returns the number of segments that the sender handed to its link, that have not arrived, and
/// that were not retransmitted. Their outcome is still unknown.
pub(super) fn under_way(sender: &Tally, receiver: &Tally) -> u64 {
    let segment = sender.now.mean_segment();
    if segment <= 0.0 {
        return 0;
    }
    let missing = sender.fresh.saturating_sub(receiver.now.bytes_received);
    let segments = libm::ceil(missing as f64 / segment) as u64;
    segments.saturating_sub(receiver.held)
}
