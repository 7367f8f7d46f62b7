//! Three nodes with their radios and a common time, and the instructions of their steps.

use crate::image::host::{check, fail};
use crate::image::stopwatch::Stopwatch;
use crate::node::{Device, LEAF, NODES, ROOT, short};
use crate::step::{Before, Loads, Step};
use redpoll_stack::ConnId;
use redpoll_stack::base::{Duration, Instant};
use redpoll_stack::mac::{FrameBuf, RadioResult, RadioWork, RxInfo};
use redpoll_stack::wire::ieee802154::{Address, FrameHeader, FrameType};

/// Longest packet in bytes that fits in one frame.
const ONE_FRAME: u16 = 104;
/// Approximate duration of a frame.
const FRAME: Duration = Duration::from_millis(4);

/// A node, its radio, and the instructions of its steps.
pub struct Station {
    pub node: Device,
    pub loaded: FrameBuf,
    pub asleep: bool,
    /// Whether the radio's acknowledgments of the leaf's data requests announce a frame.
    pub promises: bool,
    pub loads: Loads,
    pub watches: Watches,
}

/// Measurements by step. Steps with a packet's bytes are measured separately for packets of one
/// frame and of several frames.
pub struct Watches(pub [[Watch; 2]; Step::ALL.len()]);

#[derive(Default)]
pub struct Watch {
    pub stopwatch: Stopwatch,
    /// Number of times the step was taken. A step may be timed in several laps.
    pub count: u32,
    pub bytes: u64,
}

impl Watches {
    pub fn of(&mut self, step: Step, bytes: u16) -> &mut Watch {
        &mut self.0[step as usize][usize::from(bytes > ONE_FRAME)]
    }

    pub fn enter(&mut self, lap: Stopwatch, (step, bytes): (Step, u16)) {
        let watch = self.of(step, bytes);
        watch.stopwatch.add(&lap);
        watch.count += 1;
        watch.bytes += u64::from(bytes);
    }
}

pub struct World {
    pub stations: [Station; NODES],
    pub now: Instant,
    pub attempts: u32,
    /// Bytes of each data packet, with its headers.
    pub data_bytes: u16,
    pub ack_bytes: u16,
}

impl World {
    /// Does all pending work of the nodes.
    pub fn settle(&mut self) {
        loop {
            let mut busy = false;
            for index in 0..NODES {
                busy |= self.serve(index);
            }
            if !busy {
                return;
            }
        }
    }

    /// Carries out an operation of the node's radio; returns whether there was one.
    fn serve(&mut self, index: usize) -> bool {
        let Station {
            node,
            watches,
            loads,
            loaded,
            ..
        } = &mut self.stations[index];
        let now = self.now;
        let mut lap = Stopwatch::default();
        let Some(work) = lap.lap(|| node.poll_radio(now)) else {
            lap.lap(|| node.poll_at());
            lap.lap(|| node.poll_event().is_some());
            watches.enter(lap, (Step::Rest, 0));
            return false;
        };
        match work {
            RadioWork::Load => {
                let step = loads.step(node, node.frame());
                watches.enter(lap, step);
                let _ = loaded.copy_from(node.frame());
                self.done(index, RadioResult::Loaded);
            }
            _ => {
                watches.enter(lap, (Step::Order, 0));
                match work {
                    RadioWork::Transmit { .. } => self.transmit(index),
                    RadioWork::SourceMatch { pending, .. } => {
                        self.stations[index].promises = pending
                    }
                    RadioWork::Sleep => self.stations[index].asleep = true,
                    _ => self.stations[index].asleep = false,
                }
            }
        }
        true
    }

    fn done(&mut self, index: usize, result: RadioResult) {
        let now = self.now;
        let Station { node, watches, .. } = &mut self.stations[index];
        let mut lap = Stopwatch::default();
        lap.lap(|| node.on_radio_done(now, result));
        watches.enter(lap, (Step::of_result(result), 0));
    }

    /// Delivers a node's loaded frame to its receivers.
    fn transmit(&mut self, from: usize) {
        self.now += FRAME;
        self.attempts += 1;
        if self.attempts % 16 == 5 {
            return self.done(from, RadioResult::ChannelBusy);
        }
        let frame = self.stations[from].loaded.clone();
        let Ok((header, _)) = FrameHeader::parse(&frame) else {
            fail("a frame does not parse");
        };
        let mut result = RadioResult::Sent;
        for to in [from.wrapping_sub(1), from + 1] {
            let Some(station) = self.stations.get_mut(to) else {
                continue;
            };
            let is_for_it = header.dst == Address::Short(short(to));
            if is_for_it && station.asleep {
                result = RadioResult::NoAck;
            } else if is_for_it || header.dst == Address::BROADCAST {
                let is_request = header.frame_type != FrameType::Data;
                let pending = is_request && station.promises;
                if is_for_it {
                    result = RadioResult::Acked {
                        frame_pending: pending,
                    };
                }
                let info = RxInfo {
                    ack_sent_pending: pending,
                    ..RxInfo::default()
                };
                let Station { node, watches, .. } = station;
                let (now, before) = (self.now, Before::of(node));
                let mut lap = Stopwatch::default();
                lap.lap(|| node.input_frame(now, &frame, info));
                watches.enter(lap, before.step(node, &frame));
            }
        }
        if self.attempts % 16 == 11 && result != RadioResult::Sent {
            result = RadioResult::NoAck;
        }
        self.done(from, result);
    }

    /// Advances the time to the next timer.
    pub fn wait(&mut self) {
        let wakes = self.stations.iter().filter_map(|s| s.node.poll_at());
        let Some(next) = wakes.map(|wake| wake.at).min() else {
            fail("no node has a timer set");
        };
        self.now = self.now.max(next);
        for Station { node, watches, .. } in &mut self.stations {
            if node.poll_at().is_some_and(|wake| wake.at <= self.now) {
                let (now, mut lap) = (self.now, Stopwatch::default());
                lap.lap(|| node.on_timeout(now));
                watches.enter(lap, (Step::Timer, 0));
            }
        }
    }

    /// Sends data from the leaf if it fits.
    pub fn send(&mut self, id: ConnId, data: &[u8]) -> bool {
        let (now, bytes) = (self.now, self.data_bytes);
        let Station { node, watches, .. } = &mut self.stations[LEAF];
        let room = node.tcp_connection(id).map_or(0, |c| c.send_room());
        if room < data.len() {
            return false;
        }
        let watch = &mut watches.of(Step::PacketOut, bytes).stopwatch;
        check(watch.lap(|| node.tcp_send(now, id, data)) == Ok(data.len()));
        true
    }

    /// Reads arrived data at the root; returns its length.
    pub fn receive(&mut self, id: ConnId, out: &mut [u8]) -> usize {
        let now = self.now;
        let mut taken = 0;
        // Both ends get events: the root about data, the leaf about acknowledgments.
        for (index, bytes) in [(ROOT, self.data_bytes), (LEAF, self.ack_bytes)] {
            let Station { node, watches, .. } = &mut self.stations[index];
            let mut lap = Stopwatch::default();
            while let Some(event) = lap.lap(|| node.poll_event()) {
                core::hint::black_box(event);
                watches.of(Step::PacketIn, bytes).stopwatch.add(&lap);
                lap = Stopwatch::default();
            }
        }
        let Station { node, watches, .. } = &mut self.stations[ROOT];
        let watch = &mut watches.of(Step::PacketIn, self.data_bytes).stopwatch;
        while node.tcp_connection(id).is_some_and(|c| c.recv_queue() > 0) {
            match watch.lap(|| node.tcp_recv(now, id, out)) {
                Ok(len) => taken += len,
                Err(_) => fail("received data cannot be read"),
            }
        }
        taken
    }
}
