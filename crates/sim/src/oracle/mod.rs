//! The oracle, which observes every run and detects violations.
//!
//! - Streams: every byte arrives at most once, in order, as it was sent. When a stream ends
//!   without a failure, all bytes have arrived.
//! - Datagrams: each arrives at most once, and only if it was sent. If a fault of the scenario
//!   duplicates packets, a datagram may arrive again; its bytes count once.
//! - Readings: they arrive unchanged.
//! - Frames: each ends at each addressee with one outcome ([`Ledger`]).
//! - Sequence space: only received bytes are acknowledged, only sent bytes are received, and only
//!   bytes of the application are sent. No counter of a connection decreases.
//! - Frame counters: each frame that a node encrypts has a larger counter than the frames before,
//!   also after a restart of the node (IEEE 802.15.4-2015 §9.3.3.1).
//! - Time does not run backwards.
//!
//! Violations are kept as text. The oracle also measures flows, because it observes all bytes.
//!
//! [`Ledger`]: crate::air::Ledger

mod content;
mod datagrams;
mod flow;
mod image;
mod percentiles;
mod readings;
mod requests;
mod tally;
#[cfg(test)]
mod tests;

pub use content::counting_lines;
pub use flow::{End, FlowFigures, FlowSample, Retransmissions};
pub use image::ImageFigures;
pub use readings::{LatencyMs, Layout, PLACE, ReadingFigures, ReadingFormat};

use std::ops::Range;

use flow::Flow;
use redpoll_base::Instant;
use redpoll_stack::ConnId;
use redpoll_tcp::Stats;

/// Number of violations that are kept as text; others are only counted.
const KEPT: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    pub(crate) fn index(self) -> u32 {
        self.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub(crate) flow: FlowId,
    pub(crate) end: End,
    serial: u32,
}

/// A connection whose statistics belong to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watch {
    pub(crate) source: Source,
    pub(crate) conn: ConnId,
    /// Statistics of the connection at the oracle's last observation.
    pub(crate) seen: Stats,
}

#[derive(Debug, Default)]
pub struct Oracle {
    flows: Vec<Flow>,
    violations: Vec<String>,
    violation_count: u64,
    latest: Instant,
    duplicates: bool,
    /// Connections to watch that the world has not yet fetched.
    new_watches: Vec<Watch>,
    is_at_rest: bool,
    has_fast_open: bool,
}

impl Oracle {
    /// Returns an oracle; `duplicates` says whether faults of the scenario duplicate packets.
    pub(crate) fn new(duplicates: bool) -> Oracle {
        Oracle {
            duplicates,
            ..Oracle::default()
        }
    }

    /// Sets whether TCP Fast Open is in use. If so, data of a SYN may arrive twice: a server that
    /// has lost the connection accepts a late duplicate of the SYN (RFC 7413 §2.1).
    pub(crate) fn with_fast_open(self, has_fast_open: bool) -> Oracle {
        Oracle {
            has_fast_open,
            ..self
        }
    }

    /// Returns the flow called `name` between the nodes called `from` and `to`. Creates it on the
    /// first call, which either end may make.
    pub fn flow(&mut self, name: &str, from: &str, to: &str) -> FlowId {
        let known = self.flows.iter().position(|flow| flow.is(name, from, to));
        let index = known.unwrap_or_else(|| {
            let mut flow = Flow::new(name, from, to);
            if self.duplicates {
                flow.permit_repeats();
            }
            if self.has_fast_open {
                flow.permit_replays();
            }
            self.flows.push(flow);
            self.flows.len() - 1
        });
        FlowId(index as u32)
    }

    /// Records that the application wrote `bytes` to a stream.
    pub fn sent(&mut self, id: FlowId, now: Instant, bytes: &[u8]) {
        self.at(now);
        self.flow_mut(id).sent(bytes);
    }

    /// Records that the application read `bytes` from a stream.
    pub fn received(&mut self, id: FlowId, now: Instant, bytes: &[u8]) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).received(now, id, bytes) {
            self.violation(id, now, what);
        }
    }

    /// Records that `len` bytes arrived from a stream whose other end is not simulated. They are
    /// counted but cannot be checked.
    pub fn delivered(&mut self, id: FlowId, now: Instant, len: usize) {
        self.at(now);
        self.flow_mut(id).measure(now, len);
    }

    /// Records the end of a stream at the receiver: all sent bytes must have arrived.
    pub fn ended(&mut self, id: FlowId, now: Instant) {
        self.at(now);
        let missing = self.flow_mut(id).outstanding();
        if missing > 0 {
            self.violation(
                id,
                now,
                format!("the stream ended with {missing} bytes missing"),
            );
        }
    }

    /// Records that a connection of the flow failed or began. Bytes in transit are then discarded.
    pub fn restart(&mut self, id: FlowId) {
        self.flow_mut(id).restart();
    }

    /// Records that the sender has no connection, and will open another one later.
    pub(crate) fn paused(&mut self, id: FlowId) {
        self.flow_mut(id).pause();
    }

    /// Records that the node called `node` has restarted: its applications have lost their state.
    pub(crate) fn node_restarted(&mut self, node: &str, now: Instant) {
        self.at(now);
        for flow in &mut self.flows {
            flow.on_restart_of(node);
        }
    }

    /// Returns each flow's progress counters; `None` for a flow without open bytes or requests.
    pub(crate) fn progress(&self) -> impl Iterator<Item = Option<(u64, u64)>> {
        self.flows.iter().map(Flow::progress)
    }

    /// Records that an established connection failed, which is not a violation.
    pub fn connection_lost(&mut self, id: FlowId) {
        self.flow_mut(id).lost_connections += 1;
    }

    /// Returns the number of failed connections of each flow, with its sending node.
    pub fn connections_lost(&self) -> impl Iterator<Item = (&str, u64)> {
        let flows = self.flows.iter();
        flows.map(|flow| (flow.from(), flow.lost_connections))
    }

    /// Records a sent datagram; `seq` exceeds that of the previous one.
    pub fn datagram_sent(&mut self, id: FlowId, now: Instant, seq: u32) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).datagram_sent(now, seq) {
            self.violation(id, now, what);
        }
    }

    /// Records the arrival of the datagram `seq` with `len` bytes of payload.
    pub fn datagram_received(&mut self, id: FlowId, now: Instant, seq: u32, len: usize) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).datagram_received(now, seq, len) {
            self.violation(id, now, what);
        }
    }

    /// Declares a flow of readings, and their format. The sender calls it once.
    pub fn readings(&mut self, id: FlowId, format: ReadingFormat) {
        self.flow_mut(id).carry_readings(format);
    }

    /// Records a reading of a sensor. Returns its number, or 0 if the flow has no readings.
    pub fn reading_made(&mut self, id: FlowId, now: Instant) -> u32 {
        self.at(now);
        let readings = self.flow_mut(id).readings_mut();
        readings.map_or(0, |readings| readings.made(now))
    }

    /// Records that the sender dropped readings. Those that have arrived still count as delivered.
    pub fn readings_lost(&mut self, id: FlowId, numbers: Range<u32>) {
        if let Some(readings) = self.flow_mut(id).readings_mut() {
            readings.lost(numbers);
        }
    }

    /// Returns whether a reading has arrived. A real protocol needs acknowledgments to know this.
    pub fn has_arrived(&mut self, id: FlowId, number: u32) -> bool {
        let readings = self.flow_mut(id).readings_mut();
        readings.is_some_and(|readings| readings.has_arrived(number))
    }

    /// Records the arrival of a message with readings.
    pub fn readings_received(&mut self, id: FlowId, now: Instant, payload: &[u8]) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).readings_received(now, id, payload) {
            self.violation(id, now, what);
        }
    }

    /// Records that a leaf begins to fetch an image, for the first time or after a failure.
    pub fn image_begun(&mut self, id: FlowId, now: Instant) {
        self.at(now);
        self.flow_mut(id).image_mut().begun(now);
    }

    /// Records that a leaf has written a part of the image to its flash.
    pub fn image_written(&mut self, id: FlowId, now: Instant, offset: u64, bytes: &[u8]) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).image_mut().written(offset, bytes) {
            self.violation(id, now, what);
        }
        self.flow_mut(id).measure(now, bytes.len());
    }

    /// Records that a leaf considers its image of `size` bytes complete.
    pub fn image_whole(&mut self, id: FlowId, now: Instant, size: u64) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).image_mut().whole(now, size) {
            self.violation(id, now, what);
        }
    }

    /// Records that the source sent `bytes` bytes of its image, including retransmissions.
    pub fn image_sent(&mut self, id: FlowId, bytes: u64) {
        self.flow_mut(id).image_mut().sent(bytes);
    }

    pub fn request_made(&mut self, id: FlowId) {
        self.flow_mut(id).requests_mut().made();
    }

    /// Records the answer of `len` bytes to the request that began at `asked`.
    pub fn request_answered(&mut self, id: FlowId, now: Instant, asked: Instant, len: usize) {
        self.at(now);
        self.flow_mut(id).requests_mut().answered(now, asked);
        self.flow_mut(id).measure(now, len);
    }

    /// Records that a request was refused or not answered.
    pub fn request_failed(&mut self, id: FlowId) {
        self.flow_mut(id).requests_mut().failed();
    }

    /// Records how many messages a sender with another transport than TCP has sent, how many of
    /// these were retransmissions, and a new round-trip time if there is one.
    pub fn messages_sent(&mut self, id: FlowId, sent: u64, repeated: u64, rtt_us: Option<u64>) {
        self.flow_mut(id).messages_sent(sent, repeated, rtt_us);
    }

    /// Assigns the connection `conn` of the running application's node to an end of a flow. From
    /// now on the flow's figures include the connection's statistics.
    pub fn watch(&mut self, id: FlowId, end: End, conn: ConnId) {
        let watch = Watch {
            source: self.source(id, end),
            conn,
            seen: Stats::default(),
        };
        self.new_watches.push(watch);
    }

    fn source(&mut self, flow: FlowId, end: End) -> Source {
        let serial = self.flow_mut(flow).renew(end);
        Source { flow, end, serial }
    }

    pub(crate) fn observe(&mut self, source: &Source, now: Instant, stats: &Stats) {
        let flow = self.flow_mut(source.flow);
        if let Err(what) = flow.observe(source.end, source.serial, stats) {
            self.violation(source.flow, now, what);
        }
    }

    pub fn violated(&mut self, what: String) {
        self.violation_count += 1;
        if self.violations.len() < KEPT {
            self.violations.push(what);
        }
    }

    pub fn is_satisfied(&self) -> bool {
        self.violation_count == 0
    }

    pub(crate) fn rest(&mut self) {
        self.is_at_rest = true;
    }

    /// Returns whether the run may end: all apps have ended, and during one complete minute since
    /// then, every pool of every node (slots, queues, connections) was empty at least once.
    pub fn is_at_rest(&self) -> bool {
        self.is_at_rest
    }

    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    pub fn figures(&self, now: Instant) -> Vec<FlowFigures> {
        self.flows.iter().map(|flow| flow.figures(now)).collect()
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = FlowSample> {
        self.flows.iter().map(Flow::sample)
    }

    /// Returns the name, the sending node and the receiving node of each flow, by [`FlowId`].
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.flows.iter().map(Flow::names)
    }

    /// Returns byte `offset` of a stream of test data. Both ends can compute it independently, and
    /// each flow has different bytes. All bytes are from 0x40 to 0x7f: tshark guesses protocols
    /// from content, and sometimes mistakes arbitrary bytes for a binary protocol.
    pub fn pattern(id: FlowId, offset: u64) -> u8 {
        // The multiplication carries the offset's low bits into the top six bits, which are the
        // result. The sequence of bytes is longer than any transfer before it repeats.
        let place = offset ^ (u64::from(id.0) << 40);
        0x40 | (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u8
    }

    /// Takes the connections that [`Oracle::watch`] has added since the last call.
    pub(crate) fn take_watches(&mut self) -> std::vec::Drain<'_, Watch> {
        self.new_watches.drain(..)
    }

    /// Records the current time. A time before the previous one is a violation.
    pub(crate) fn at(&mut self, now: Instant) {
        if now < self.latest {
            let latest = self.latest;
            self.violated(format!(
                "the virtual time ran backwards, from {latest:?} to {now:?}"
            ));
        }
        self.latest = now;
    }

    fn flow_mut(&mut self, id: FlowId) -> &mut Flow {
        &mut self.flows[id.0 as usize]
    }

    fn violation(&mut self, id: FlowId, now: Instant, what: String) {
        let name = self.flow_mut(id).name().to_owned();
        self.violated(format!("{now:?}: flow {name}: {what}"));
    }
}
