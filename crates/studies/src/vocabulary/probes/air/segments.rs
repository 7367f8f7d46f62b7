//! Behaviour of TCP that the segments between two neighbours show.

use std::collections::VecDeque;

use redpoll_base::Instant;
use redpoll_sim::World;
use redpoll_sim::trace::TracedFrame;
use redpoll_wire::sixlowpan::Contexts;
use redpoll_wire::tcp::SeqRange;
use serde::{Deserialize, Serialize};

use super::frame::{Tcp, mac, parts};
use super::{Sight, ms, watch};
use redpoll_experiments::{Look, Probe, quantile};

/// Observes the segments of one connection between two neighbours, over which only one end sends
/// data. Link retransmissions are not counted.
#[derive(Clone, Copy, Debug)]
pub struct Segments {
    /// Index of the node that connects and sends data.
    pub from: usize,
    pub to: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    pub syns: u32,
    pub syns_with_mss: u32,
    pub others: u32,
    pub others_with_timestamps: u32,
    pub data: u32,
    pub again: u32,
    /// Segments without data that the receiver sent.
    pub acks: u32,
    /// ACKs that have SACK blocks above SEG.ACK.
    pub acks_with_blocks: u32,
    /// Maximum number of bytes in out-of-order blocks of one ACK.
    pub most_out_of_order: u32,
    /// Maximum number of bytes by which data exceeded the announced window.
    pub beyond_window: u32,
    /// Bytes sent before the first acknowledgment of data.
    pub first_flight: u32,
    /// Maximum number of unacknowledged bytes.
    pub most_in_flight: u32,
    /// Median time in ms from the start of a segment's first frame to the end of the ACK that
    /// covers it, for the oldest segment that each ACK covers.
    pub rtt_ms: Option<f64>,
}

struct Connection {
    nodes: [usize; 2],
    /// Data sequence number of the last frame of each node.
    dsn: [Option<u8>; 2],
    counts: Seen,
    /// The sender's initial sequence number.
    iss: Option<u32>,
    /// Ends of the sent, acknowledged and allowed data, relative to `iss`.
    sent: u32,
    acked: u32,
    allowed: u32,
    /// Ends and times of unacknowledged segments that were not retransmitted.
    open: VecDeque<(u32, Instant)>,
    rtts: Vec<f64>,
}

impl Probe for Segments {
    type Found = Seen;

    fn begin(&self, world: &mut World) -> Box<dyn Look<Seen>> {
        let connection = Connection {
            nodes: [self.from, self.to],
            dsn: [None; 2],
            counts: Seen::default(),
            iss: None,
            sent: 0,
            acked: 0,
            allowed: 0,
            open: VecDeque::new(),
            rtts: Vec::new(),
        };
        watch(world, connection)
    }
}

impl Connection {
    /// Returns whether the frame is a link retransmission of the previous one.
    fn is_repetition(&mut self, end: usize, mpdu: &[u8]) -> bool {
        let dsn = mac(mpdu).map(|(header, _)| header.dsn);
        let last = std::mem::replace(&mut self.dsn[end], dsn);
        last == dsn
    }

    fn any(&mut self, tcp: &Tcp) {
        if tcp.flags.syn() {
            self.counts.syns += 1;
            self.counts.syns_with_mss += u32::from(tcp.options.mss.is_some());
        } else {
            self.counts.others += 1;
            self.counts.others_with_timestamps += u32::from(tcp.options.timestamps.is_some());
        }
    }

    fn sender_said(&mut self, tcp: &Tcp, start: Instant) {
        if tcp.flags.syn() {
            self.iss = Some(tcp.seq);
        }
        let Some(iss) = self.iss.filter(|_| tcp.payload > 0) else {
            return;
        };
        self.counts.data += 1;
        let from = tcp.seq.wrapping_sub(iss);
        let until = from + tcp.payload as u32;
        if from < self.sent {
            self.counts.again += 1;
            self.open.retain(|(end, _)| *end < from || *end > until);
        } else {
            self.open.push_back((until, start));
        }
        self.sent = self.sent.max(until);
        let counts = &mut self.counts;
        counts.beyond_window = counts.beyond_window.max(until.saturating_sub(self.allowed));
        // The SYN occupies a sequence number.
        if self.acked <= 1 {
            counts.first_flight = self.sent - 1;
        }
        counts.most_in_flight = counts.most_in_flight.max(self.sent - self.acked.max(1));
    }

    fn receiver_said(&mut self, tcp: &Tcp, end: Instant) {
        let (Some(iss), Some(ack)) = (self.iss, tcp.ack) else {
            return;
        };
        let ack = ack.wrapping_sub(iss);
        self.acked = self.acked.max(ack);
        self.allowed = self.allowed.max(ack + tcp.window);
        if tcp.flags.syn() || tcp.payload > 0 {
            return;
        }
        self.counts.acks += 1;
        if let Some(blocks) = tcp.options.sack() {
            // A block below SEG.ACK reports a duplicate (RFC 2883).
            let beyond = |block: &SeqRange| block.start.0.wrapping_sub(iss) > ack;
            let bytes: u32 = blocks.iter().filter(beyond).map(|block| block.len()).sum();
            self.counts.acks_with_blocks += u32::from(bytes > 0);
            self.counts.most_out_of_order = self.counts.most_out_of_order.max(bytes);
        }
        let covered = self.open.iter().take_while(|(until, _)| *until <= ack);
        if let Some((_, oldest)) = covered.clone().next() {
            self.rtts.push(ms(*oldest, end));
        }
        let covered = covered.count();
        self.open.drain(..covered);
    }
}

impl Sight for Connection {
    type Found = Seen;

    fn frame(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts) {
        let Some(end) = self.nodes.iter().position(|node| *node == frame.from) else {
            return;
        };
        let Some(parts) = parts(frame.mpdu, contexts) else {
            return;
        };
        if self.is_repetition(end, frame.mpdu) {
            return;
        }
        let Some(tcp) = parts.tcp else { return };
        self.any(&tcp);
        match end {
            0 => self.sender_said(&tcp, frame.start),
            _ => self.receiver_said(&tcp, frame.end),
        }
    }

    fn found(&self) -> Seen {
        Seen {
            rtt_ms: quantile(&self.rtts, 0.5).ok(),
            ..self.counts.clone()
        }
    }
}
