//! One flow: what is on its way, and its figures.

use std::collections::VecDeque;

use redpoll_base::Instant;
use redpoll_tcp::Stats;
use serde::Serialize;

use super::datagrams::Datagrams;
use super::percentiles::Percentiles;

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Where the payload comes from.
    Sender,
    /// Where it goes.
    Receiver,
}

/// What is known about a flow.
#[derive(Debug)]
pub(super) struct Flow {
    name: String,
    from: String,
    to: String,
    /// Bytes sent that have not arrived.
    on_the_way: VecDeque<u8>,
    /// Bytes that arrived and were right.
    matched: u64,
    datagrams: Datagrams,
    delivered: u64,
    first: Option<Instant>,
    last: Instant,
    sender: Tally,
    receiver: Tally,
    rtt: Percentiles,
}

/// Statistics of one end, over all its connections.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Of connections that are gone.
    past: Sums,
    /// Of the one that is.
    now: Sums,
    rtt_samples: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    segments: u64,
    data_sent: u64,
    data_received: u64,
    rto: u64,
    fast: u64,
    link_lost: u64,
    path_mtu: u64,
    probe: u64,
}

/// The figures of a flow, as reports give them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowFigures {
    /// The flow's name.
    pub name: String,
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Payload bytes that arrived.
    pub delivered_bytes: u64,
    /// Payload between the first and the last byte's arrival, in 1000 bit/s.
    pub goodput_kbps: f64,
    /// Segments with payload, or datagrams, that the sender sent;
    /// retransmissions included.
    pub segments_sent: u64,
    /// Share of those that did not arrive; link retries come before.
    pub segment_loss: f64,
    /// Retransmitted segments by cause.
    pub retransmissions: Retransmissions,
    /// Round-trip times that the sender measured.
    pub rtt_ms: RttMs,
}

/// Retransmitted segments by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Retransmissions {
    /// After a timeout.
    pub rto: u64,
    /// By fast retransmit and fast recovery.
    pub fast: u64,
    /// After the link had reported the segment lost.
    pub link_lost: u64,
    /// After the path MTU had shrunk.
    pub path_mtu: u64,
    /// To probe a closed window.
    pub probe: u64,
}

/// Percentiles of round-trip times in milliseconds; `null` without a sample.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RttMs {
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
}

impl Flow {
    pub(super) fn new(name: &str, from: &str, to: &str) -> Self {
        Flow {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            on_the_way: VecDeque::new(),
            matched: 0,
            datagrams: Datagrams::default(),
            delivered: 0,
            first: None,
            last: Instant::ZERO,
            sender: Tally::default(),
            receiver: Tally::default(),
            rtt: Percentiles::default(),
        }
    }

    pub(super) fn is(&self, name: &str, from: &str, to: &str) -> bool {
        self.name == name && self.from == from && self.to == to
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn sent(&mut self, bytes: &[u8]) {
        self.on_the_way.extend(bytes);
    }

    pub(super) fn received(&mut self, now: Instant, bytes: &[u8]) -> Result<(), String> {
        self.measure(now, bytes.len());
        let start = self.matched;
        if bytes.len() > self.on_the_way.len() {
            let sent = start + self.on_the_way.len() as u64;
            let got = start + bytes.len() as u64;
            return Err(format!("{got} bytes received of {sent} sent"));
        }
        let wrong = bytes
            .iter()
            .zip(&self.on_the_way)
            .position(|(got, sent)| got != sent);
        self.on_the_way.drain(..bytes.len());
        self.matched += bytes.len() as u64;
        match wrong {
            None => Ok(()),
            Some(offset) => Err(format!("byte {} is wrong", start + offset as u64)),
        }
    }

    pub(super) fn measure(&mut self, now: Instant, len: usize) {
        if len > 0 {
            self.first.get_or_insert(now);
            self.last = now;
            self.delivered += len as u64;
        }
    }

    pub(super) fn outstanding(&self) -> usize {
        self.on_the_way.len()
    }

    pub(super) fn restart(&mut self) {
        self.on_the_way.clear();
        self.sender.fold();
        self.receiver.fold();
    }

    pub(super) fn datagram_sent(&mut self, seq: u32, len: usize) -> Result<(), String> {
        self.datagrams.sent(seq, len)
    }

    pub(super) fn datagram_received(
        &mut self,
        now: Instant,
        seq: u32,
        len: usize,
    ) -> Result<(), String> {
        self.measure(now, len);
        self.datagrams.received(seq)
    }

    pub(super) fn observe(&mut self, end: End, stats: &Stats) {
        let tally = match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        };
        let has_sample = tally.observe(stats);
        if has_sample && end == End::Sender {
            self.rtt.add(stats.last_rtt.as_micros());
        }
    }

    pub(super) fn figures(&self) -> FlowFigures {
        let sender = self.sender.total();
        let receiver = self.receiver.total();
        let datagrams = &self.datagrams;
        let sent = sender.data_sent + datagrams.sent_count();
        let arrived = receiver.data_received + datagrams.received_count();
        let elapsed = self.last.since(self.first.unwrap_or(self.last));
        // A receiver outside of the simulation tells nothing about losses.
        let tells = receiver.segments > 0 || datagrams.sent_count() > 0;
        FlowFigures {
            name: self.name.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            delivered_bytes: self.delivered,
            goodput_kbps: ratio(self.delivered as f64 * 8_000.0, elapsed.as_micros() as f64),
            segments_sent: sent,
            segment_loss: if tells {
                ratio(sent.saturating_sub(arrived) as f64, sent as f64)
            } else {
                0.0
            },
            retransmissions: Retransmissions {
                rto: sender.rto,
                fast: sender.fast,
                link_lost: sender.link_lost,
                path_mtu: sender.path_mtu,
                probe: sender.probe,
            },
            rtt_ms: RttMs {
                p50: self.rtt.at(0.50).map(|us| us as f64 / 1_000.0),
                p95: self.rtt.at(0.95).map(|us| us as f64 / 1_000.0),
            },
        }
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

impl Tally {
    /// Takes in a connection's statistics; says whether there is a new sample
    /// of the round-trip time.
    fn observe(&mut self, stats: &Stats) -> bool {
        let now = Sums::of(stats);
        if now.segments < self.now.segments {
            // Another connection: it counts from zero.
            self.fold();
        }
        self.now = now;
        let has_sample = stats.rtt_samples != self.rtt_samples && stats.rtt_samples > 0;
        self.rtt_samples = stats.rtt_samples;
        has_sample
    }

    fn fold(&mut self) {
        self.past = self.total();
        self.now = Sums::default();
        self.rtt_samples = 0;
    }

    fn total(&self) -> Sums {
        let (a, b) = (&self.past, &self.now);
        Sums {
            segments: a.segments + b.segments,
            data_sent: a.data_sent + b.data_sent,
            data_received: a.data_received + b.data_received,
            rto: a.rto + b.rto,
            fast: a.fast + b.fast,
            link_lost: a.link_lost + b.link_lost,
            path_mtu: a.path_mtu + b.path_mtu,
            probe: a.probe + b.probe,
        }
    }
}

impl Sums {
    fn of(stats: &Stats) -> Self {
        let again = &stats.retransmissions;
        Sums {
            segments: u64::from(stats.segments_sent) + u64::from(stats.segments_received),
            data_sent: stats.data_segments_sent.into(),
            data_received: stats.data_segments_received.into(),
            rto: again.rto.into(),
            fast: again.fast.into(),
            link_lost: again.link_lost.into(),
            path_mtu: again.path_mtu.into(),
            probe: again.probe.into(),
        }
    }
}
