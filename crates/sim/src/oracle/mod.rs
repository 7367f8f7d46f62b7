//! The oracle: watches every run and knows what must never happen.
//!
//! - Streams: every byte arrives at most once, in order, as it was sent; when
//!   a stream ends in good order, all of them have arrived.
//! - Datagrams: each arrives at most once, and only if it was sent. Where a fault of the
//!   scenario duplicates packets, a datagram may arrive again; its bytes count once.
//! - Readings: they arrive as they were made.
//! - Frames: each ends at each addressee with one outcome ([`Ledger`]).
//! - Sequence space: nothing is acknowledged that was not received, received
//!   that was not sent, or sent that no application gave; no counter of a
//!   connection goes down.
//! - Time does not run backwards.
//!
//! What is wrong is kept as text. The oracle also measures flows, because it
//! sees all bytes anyway.
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

/// So many violations are kept as text; the others are counted.
const KEPT: usize = 100;

/// A flow known to the oracle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    /// Its place among all flows.
    pub(crate) fn index(self) -> u32 {
        self.0
    }
}

/// One connection of one end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub(crate) flow: FlowId,
    pub(crate) end: End,
    /// Tells it from earlier ones.
    serial: u32,
}

/// A connection whose statistics belong to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watch {
    pub(crate) source: Source,
    pub(crate) conn: ConnId,
    /// What the connection's statistics were when the oracle looked last.
    pub(crate) seen: Stats,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Oracle {
    flows: Vec<Flow>,
    violations: Vec<String>,
    violation_count: u64,
    latest: Instant,
    /// The scenario duplicates packets.
    duplicates: bool,
    /// Connections to watch that the world has not taken over yet.
    new_watches: Vec<Watch>,
}

impl Oracle {
    /// An oracle for a scenario that duplicates packets, or does not.
    pub(crate) fn new(duplicates: bool) -> Oracle {
        Oracle {
            duplicates,
            ..Oracle::default()
        }
    }

    /// A new flow called `name`, between the nodes called `from` and `to`.
    ///
    /// The same flow if all three are known already, so that either end may
    /// ask first.
    pub fn flow(&mut self, name: &str, from: &str, to: &str) -> FlowId {
        let known = self.flows.iter().position(|flow| flow.is(name, from, to));
        let index = known.unwrap_or_else(|| {
            let mut flow = Flow::new(name, from, to);
            if self.duplicates {
                flow.permit_repeats();
            }
            self.flows.push(flow);
            self.flows.len() - 1
        });
        FlowId(index as u32)
    }

    /// The application put `bytes` into a stream.
    pub fn sent(&mut self, id: FlowId, now: Instant, bytes: &[u8]) {
        self.at(now);
        self.flow_mut(id).sent(bytes);
    }

    /// The application took `bytes` out of a stream.
    pub fn received(&mut self, id: FlowId, now: Instant, bytes: &[u8]) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).received(now, id, bytes) {
            self.violation(id, now, what);
        }
    }

    /// `len` bytes of a stream arrived whose other end is outside of the
    /// simulation: they are counted, and cannot be checked.
    pub fn delivered(&mut self, id: FlowId, now: Instant, len: usize) {
        self.at(now);
        self.flow_mut(id).measure(now, len);
    }

    /// The receiver has seen the end of a stream: all that was sent must have
    /// arrived.
    pub fn ended(&mut self, id: FlowId, now: Instant) {
        self.at(now);
        let missing = self.flow_mut(id).outstanding();
        if missing > 0 {
            self.violation(id, now, format!("ended with {missing} bytes missing"));
        }
    }

    /// A connection failed or a new one begins: bytes that have not arrived
    /// yet never will. Not a violation.
    pub fn restart(&mut self, id: FlowId) {
        self.flow_mut(id).restart();
    }

    /// A connection that had been established failed. Not a violation.
    pub fn connection_lost(&mut self, id: FlowId) {
        self.flow_mut(id).lost_connections += 1;
    }

    /// How many connections of each flow have failed, by its sending node.
    pub fn connections_lost(&self) -> impl Iterator<Item = (&str, u64)> {
        let flows = self.flows.iter();
        flows.map(|flow| (flow.from(), flow.lost_connections))
    }

    /// A datagram was sent; `seq` is greater than that of the one before.
    pub fn datagram_sent(&mut self, id: FlowId, now: Instant, seq: u32) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).datagram_sent(now, seq) {
            self.violation(id, now, what);
        }
    }

    /// The datagram number `seq` arrived with `len` bytes of payload.
    pub fn datagram_received(&mut self, id: FlowId, now: Instant, seq: u32, len: usize) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).datagram_received(now, seq, len) {
            self.violation(id, now, what);
        }
    }

    /// The flow is one of readings. Its sender says how they travel, once.
    pub fn readings(&mut self, id: FlowId, format: ReadingFormat) {
        self.flow_mut(id).carry_readings(format);
    }

    /// A sensor made a reading; its number. Of a flow without readings, 0.
    pub fn reading_made(&mut self, id: FlowId, now: Instant) -> u32 {
        self.at(now);
        let readings = self.flow_mut(id).readings_mut();
        readings.map_or(0, |readings| readings.made(now))
    }

    /// The sender has given these readings up; those that have arrived have.
    pub fn readings_lost(&mut self, id: FlowId, numbers: Range<u32>) {
        if let Some(readings) = self.flow_mut(id).readings_mut() {
            readings.lost(numbers);
        }
    }

    /// Whether a reading has arrived: what no protocol knows without asking.
    pub fn has_arrived(&mut self, id: FlowId, number: u32) -> bool {
        let readings = self.flow_mut(id).readings_mut();
        readings.is_some_and(|readings| readings.has_arrived(number))
    }

    /// The payload of a message with readings arrived.
    pub fn readings_received(&mut self, id: FlowId, now: Instant, payload: &[u8]) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).readings_received(now, id, payload) {
            self.violation(id, now, what);
        }
    }

    /// A leaf begins to fetch an image, for the first time or once more after something
    /// has gone wrong.
    pub fn image_begun(&mut self, id: FlowId, now: Instant) {
        self.at(now);
        self.flow_mut(id).image_mut().begun(now);
    }

    /// A leaf has written a piece of the image to its flash.
    pub fn image_written(&mut self, id: FlowId, now: Instant, offset: u64, bytes: &[u8]) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).image_mut().written(offset, bytes) {
            self.violation(id, now, what);
        }
        self.flow_mut(id).measure(now, bytes.len());
    }

    /// A leaf takes its image of `size` bytes for whole.
    pub fn image_whole(&mut self, id: FlowId, now: Instant, size: u64) {
        self.at(now);
        if let Err(what) = self.flow_mut(id).image_mut().whole(now, size) {
            self.violation(id, now, what);
        }
    }

    /// The source of an image has sent so many bytes of it, for the first time or again.
    pub fn image_sent(&mut self, id: FlowId, bytes: u64) {
        self.flow_mut(id).image_mut().sent(bytes);
    }

    /// A client began a request.
    pub fn request_made(&mut self, id: FlowId) {
        self.flow_mut(id).requests_mut().made();
    }

    /// The request that began at `asked` is answered, by `len` bytes.
    pub fn request_answered(&mut self, id: FlowId, now: Instant, asked: Instant, len: usize) {
        self.at(now);
        self.flow_mut(id).requests_mut().answered(now, asked);
        self.flow_mut(id).measure(now, len);
    }

    /// A request was refused, or is not answered.
    pub fn request_failed(&mut self, id: FlowId) {
        self.flow_mut(id).requests_mut().failed();
    }

    /// What a flow's sender has sent so far in messages of another transport
    /// than TCP: in all, and of those repeated. A round-trip time if there is
    /// a new one.
    pub fn messages_sent(&mut self, id: FlowId, sent: u64, repeated: u64, rtt_us: Option<u64>) {
        self.flow_mut(id).messages_sent(sent, repeated, rtt_us);
    }

    /// The connection `conn` of the node whose application is running is one
    /// end of a flow: its statistics are part of the flow's figures from now
    /// on.
    pub fn watch(&mut self, id: FlowId, end: End, conn: ConnId) {
        let watch = Watch {
            source: self.source(id, end),
            conn,
            seen: Stats::default(),
        };
        self.new_watches.push(watch);
    }

    /// A new connection of one end of a flow.
    fn source(&mut self, flow: FlowId, end: End) -> Source {
        let serial = self.flow_mut(flow).renew(end);
        Source { flow, end, serial }
    }

    /// What a connection's statistics are now.
    pub(crate) fn observe(&mut self, source: &Source, now: Instant, stats: &Stats) {
        let flow = self.flow_mut(source.flow);
        if let Err(what) = flow.observe(source.end, source.serial, stats) {
            self.violation(source.flow, now, what);
        }
    }

    /// Something else that must not happen.
    pub fn violated(&mut self, what: String) {
        self.violation_count += 1;
        if self.violations.len() < KEPT {
            self.violations.push(what);
        }
    }

    /// Whether nothing that must not happen has happened.
    pub fn is_satisfied(&self) -> bool {
        self.violation_count == 0
    }

    /// What happened, the first hundred.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// The figures of all flows by `now`, in the order in which they were
    /// created.
    pub fn figures(&self, now: Instant) -> Vec<FlowFigures> {
        self.flows.iter().map(|flow| flow.figures(now)).collect()
    }

    /// The counters of all flows, in the same order.
    pub(crate) fn samples(&self) -> impl Iterator<Item = FlowSample> {
        self.flows.iter().map(Flow::sample)
    }

    /// Name, sending and receiving node of each flow, in the same order.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.flows.iter().map(Flow::names)
    }

    /// The content of byte `offset` of a stream of test data: either end can
    /// make and check it alone, and no two flows have the same.
    ///
    /// All bytes are from 0x40 to 0x7f: tshark guesses protocols from content,
    /// and arbitrary bytes look like one of its binary ones now and then.
    pub fn pattern(id: FlowId, offset: u64) -> u8 {
        // One multiplication mixes all bits of the place upwards; the period
        // is longer than any transfer.
        let place = offset ^ (u64::from(id.0) << 40);
        0x40 | (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u8
    }

    /// The connections to watch since the last call.
    pub(crate) fn take_watches(&mut self) -> std::vec::Drain<'_, Watch> {
        self.new_watches.drain(..)
    }

    /// Notes the time, which must not run backwards.
    pub(crate) fn at(&mut self, now: Instant) {
        if now < self.latest {
            let latest = self.latest;
            self.violated(format!("time ran backwards, from {latest:?} to {now:?}"));
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
