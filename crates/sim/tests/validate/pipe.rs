//! Datagrams of five frames over a line of MACs: the equivalent of `scripts/validate/lr_wpan.cc` on
//! ns-3.
//!
//! They go from the last node to the first, hop by hop. For every second arrival, a frame returns.
//! At most [`WINDOW`] are in transit. A relay forwards a datagram once all its frames have arrived.
//! When a frame fails, the rest of its datagram is dropped, and the sender is informed at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use redpoll_base::Instant;
use redpoll_mac::{MacConfig, TxStatus};
use redpoll_sim::RadioConfig;
use redpoll_sim::{MediumConfig, RadioModel, UnitDisk};

use crate::macs::{Above, MacReport, Macs, Outgoing};

/// Maximum number of datagrams in transit.
const WINDOW: u16 = 4;
/// Bytes of the frames of a full segment, including the FCS, as in `crates/sim/tests/bound.rs`.
/// [`REPLY_BYTES`] are the bytes of the returning frame.
const FRAMES: [usize; 5] = [123, 120, 120, 120, 94];
const REPLY_BYTES: usize = 46;
const REPLY: u8 = FRAMES.len() as u8;

pub struct Carried {
    pub per_second: f64,
    /// Share of lost datagrams.
    pub lost: f64,
}

/// Runs a line of nodes within range of their neighbours only. With `restarts`, a frame that
/// arrives during a backoff restarts the backoff, as in ns-3.
pub fn carry(config: &MacConfig, restarts: bool, hops: usize, seconds: u64, seed: u64) -> Carried {
    let disk = MediumConfig::UnitDisk(UnitDisk {
        interference_range_m: 50.0,
        carrier_sense_range_m: 50.0,
        ..UnitDisk::default()
    });
    let places: Vec<_> = (0..=hops).map(|node| (40.0 * node as f64, 0.0)).collect();
    let radio = RadioConfig::from(RadioModel::Ideal);
    let mut macs = Macs::new(&disk, &places, &radio, config, seed);
    macs.restarts = restarts;
    let mut pipe = Pipe::new(hops);
    pipe.fill();
    macs.start_at(Instant::ZERO, hops);
    macs.run_until(Instant::from_millis(seconds * 1_000), &mut pipe);
    Carried {
        per_second: pipe.arrived as f64 / seconds as f64,
        lost: pipe.lost as f64 / (pipe.lost + pipe.arrived) as f64,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Frame {
    to: usize,
    datagram: u16,
    part: u8,
}

#[derive(Clone, Default)]
struct Place {
    queue: VecDeque<Frame>,
    parts: BTreeMap<u16, BTreeSet<u8>>,
    replies: BTreeSet<u16>,
}

struct Pipe {
    hops: usize,
    places: Vec<Place>,
    under_way: u16,
    next: u16,
    filled: bool,
    arrived: u64,
    lost: u64,
}

impl Pipe {
    fn new(hops: usize) -> Pipe {
        Pipe {
            hops,
            places: vec![Place::default(); hops + 1],
            under_way: 0,
            next: 0,
            filled: false,
            arrived: 0,
            lost: 0,
        }
    }

    fn fill(&mut self) {
        while self.under_way < WINDOW {
            self.under_way += 1;
            self.filled = true;
            self.pass(self.hops, self.next);
            self.next = self.next.wrapping_add(1);
        }
    }

    fn pass(&mut self, node: usize, datagram: u16) {
        let to = node - 1;
        let frames = (0..REPLY).map(|part| Frame { to, datagram, part });
        self.places[node].queue.extend(frames);
    }

    fn reply(&mut self, node: usize, datagram: u16) {
        let (to, part) = (node + 1, REPLY);
        self.places[node]
            .queue
            .push_back(Frame { to, datagram, part });
    }

    fn free(&mut self, datagrams: u16) {
        self.under_way = self.under_way.saturating_sub(datagrams);
        self.fill();
    }

    fn on_done(&mut self, node: usize, status: TxStatus) {
        let place = &mut self.places[node];
        let Some(frame) = place.queue.pop_front() else {
            return;
        };
        if status == TxStatus::Delivered {
            return;
        }
        if frame.part == REPLY {
            return self.free(2);
        }
        let is_rest = |other: &Frame| other.datagram == frame.datagram && other.part != REPLY;
        while place.queue.front().is_some_and(is_rest) {
            place.queue.pop_front();
        }
        self.lost += 1;
        self.free(1);
    }

    fn on_frame(&mut self, node: usize, datagram: u16, part: u8) {
        let place = &mut self.places[node];
        if part == REPLY {
            if !place.replies.insert(datagram) {
                return;
            }
            return match node == self.hops {
                true => self.free(2),
                false => self.reply(node, datagram),
            };
        }
        let parts = place.parts.entry(datagram).or_default();
        if !parts.insert(part) || parts.len() < FRAMES.len() {
            return;
        }
        if node > 0 {
            return self.pass(node, datagram);
        }
        self.arrived += 1;
        if self.arrived.is_multiple_of(2) {
            self.reply(0, datagram);
        }
    }
}

impl Above for Pipe {
    fn on(&mut self, _now: Instant, node: usize, said: MacReport) {
        match said {
            MacReport::Start => {}
            MacReport::Done(status) => self.on_done(node, status),
            MacReport::Frame([high, low, part]) => {
                self.on_frame(node, u16::from_be_bytes([high, low]), part);
            }
        }
    }

    fn next(&mut self, _now: Instant, node: usize) -> Option<Outgoing> {
        let frame = *self.places[node].queue.front()?;
        let [high, low] = frame.datagram.to_be_bytes();
        Some(Outgoing {
            to: Some(frame.to),
            len: match frame.part {
                REPLY => REPLY_BYTES,
                part => FRAMES[usize::from(part)],
            },
            tag: [high, low, frame.part],
        })
    }

    fn also(&mut self) -> Option<usize> {
        std::mem::take(&mut self.filled).then_some(self.hops)
    }
}
