//! What the segments between two neighbours show of TCP.

use std::collections::VecDeque;

use redpoll_base::Instant;
use redpoll_sim::trace::TracedFrame;
use redpoll_tcp::SeqRange;
use redpoll_wire::sixlowpan::Contexts;

use super::frame::{Tcp, mac, parts};
use super::{Found, Look, ms};
use crate::run::quantile;

/// The view of one connection, over which one end sends data and the other none:
///
/// | found | what |
/// | --- | --- |
/// | `syns`, `syns_with_mss` | segments with SYN, and those that announce an MSS |
/// | `others`, `others_with_timestamps` | segments without, and those with timestamps |
/// | `data`, `acks` | segments with data; segments of the receiver without |
/// | `again` | segments with data that had been sent before |
/// | `acks_with_blocks`, `most_out_of_order` | ACKs with SACK blocks beyond them; the most bytes in such blocks of one |
/// | `beyond_window` | by how many bytes data went beyond what was announced, at most |
/// | `first_flight`, `most_in_flight` | bytes sent before the first of them was acknowledged; unacknowledged bytes at most |
/// | `rtt` | median time from the beginning of a segment's first frame to the end of the ACK that covers it, of the oldest that each ACK covers, ms |
///
/// Repetitions of a frame by the link do not count.
pub struct Segments {
    nodes: [usize; 2],
    /// The sequence number of the last frame of each.
    dsn: [Option<u8>; 2],
    counts: Counts,
    /// The sender's initial sequence number.
    iss: Option<u32>,
    /// Relative to `iss`: the end of what was sent, acknowledged, allowed.
    sent: u32,
    acked: u32,
    allowed: u32,
    /// Ends and times of segments sent once and not acknowledged.
    open: VecDeque<(u32, Instant)>,
    rtts: Vec<f64>,
}

#[derive(Default)]
struct Counts {
    syns: u32,
    syns_with_mss: u32,
    others: u32,
    others_with_timestamps: u32,
    data: u32,
    again: u32,
    acks: u32,
    acks_with_blocks: u32,
    most_out_of_order: u32,
    beyond_window: u32,
    first_flight: u32,
    most_in_flight: u32,
}

impl Segments {
    /// Of the connection that the first opens to the second.
    pub fn between(from: usize, to: usize) -> Segments {
        Segments {
            nodes: [from, to],
            dsn: [None; 2],
            counts: Counts::default(),
            iss: None,
            sent: 0,
            acked: 0,
            allowed: 0,
            open: VecDeque::new(),
            rtts: Vec::new(),
        }
    }

    /// Whether the frame is the link's repetition of the last one.
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
        // The SYN takes a sequence number of its own.
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
            // What is not beyond the ACK came twice (RFC 2883).
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

impl Look for Segments {
    fn look(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts) {
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

    fn found(&self) -> Found {
        let counts = &self.counts;
        let named = [
            ("syns", counts.syns),
            ("syns_with_mss", counts.syns_with_mss),
            ("others", counts.others),
            ("others_with_timestamps", counts.others_with_timestamps),
            ("data", counts.data),
            ("again", counts.again),
            ("acks", counts.acks),
            ("acks_with_blocks", counts.acks_with_blocks),
            ("most_out_of_order", counts.most_out_of_order),
            ("beyond_window", counts.beyond_window),
            ("first_flight", counts.first_flight),
            ("most_in_flight", counts.most_in_flight),
        ];
        let mut found: Found = named
            .into_iter()
            .map(|(name, count)| (name.to_owned(), f64::from(count)))
            .collect();
        found.extend(quantile(&self.rtts, 0.5).map(|rtt| ("rtt".to_owned(), rtt)));
        found
    }
}
