//! Lengths of headers.

use std::collections::BTreeMap;

use redpoll_sim::World;
use redpoll_sim::trace::TracedFrame;
use redpoll_wire::sixlowpan::Contexts;
use serde::{Deserialize, Serialize};

use super::frame::{Parts, parts};
use super::{Sight, watch};
use redpoll_experiments::{Gap, Look, Probe, Reading};

/// Bytes of the longest frame (IEEE 802.15.4, aMaxPhyPacketSize).
const FULL: usize = 127;

/// Measures each layer's header bytes in frames with TCP data.
#[derive(Clone, Copy, Debug)]
pub struct Headers;

/// The smallest and the largest number of bytes seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Range {
    least: usize,
    most: usize,
}

/// A value for each layer, from one frame or from several frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeaderBytes<T> {
    /// IEEE 802.15.4, including the frame check sequence.
    pub mac: T,
    /// The fragment header and the first byte of a compressed header.
    pub lowpan: T,
    pub ip: T,
    pub tcp: T,
    pub total: T,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Bytes {
    first: Option<HeaderBytes<Range>>,
    next: Option<HeaderBytes<Range>>,
    /// Bytes that a full frame has for the layers above the MAC.
    room: Option<Range>,
    /// Mean header and payload bytes of frames that hold a whole segment of the most frequent
    /// length.
    whole: Option<(f64, f64)>,
}

impl Bytes {
    pub fn first(&self) -> Result<HeaderBytes<Range>, Gap> {
        self.first.ok_or(Gap::Nothing)
    }

    /// Returns the header bytes of later frames of a segment.
    pub fn next(&self) -> Result<HeaderBytes<Range>, Gap> {
        self.next.ok_or(Gap::Nothing)
    }

    /// Returns how many bytes of a full frame are left for the layers above the MAC.
    pub fn room(&self) -> Result<Range, Gap> {
        self.room.ok_or(Gap::Nothing)
    }

    /// Returns the share of headers in frames that hold a whole segment of the most frequent
    /// length, with `security` additional bytes of link security.
    pub fn share_with(&self, security: usize) -> Reading {
        let (headers, payload) = self.whole.ok_or(Gap::Nothing)?;
        let headers = headers + security as f64;
        Ok(headers / (headers + payload))
    }
}

impl Range {
    pub fn least(self) -> f64 {
        self.least as f64
    }

    pub fn most(self) -> f64 {
        self.most as f64
    }

    fn of(value: usize) -> Range {
        Range {
            least: value,
            most: value,
        }
    }

    fn with(self, value: usize) -> Range {
        Range {
            least: self.least.min(value),
            most: self.most.max(value),
        }
    }
}

#[derive(Default)]
struct Frames {
    found: Bytes,
    /// Number of frames that hold a whole segment, and the sum of their header bytes, by the length
    /// of the segment's data.
    whole: BTreeMap<usize, (usize, usize)>,
}

impl Probe for Headers {
    type Found = Bytes;

    fn begin(&self, world: &mut World) -> Box<dyn Look<Bytes>> {
        watch(world, Frames::default())
    }
}

impl Sight for Frames {
    type Found = Bytes;

    fn frame(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts) {
        let Some(parts) = parts(frame.mpdu, contexts) else {
            return;
        };
        match &parts.tcp {
            // Handshakes and acknowledgments carry no data.
            Some(tcp) if tcp.payload == 0 => return,
            Some(tcp) => {
                self.found.first = Some(widened(self.found.first, &parts, tcp.len));
                if !parts.is_part {
                    let headers = parts.mac + parts.lowpan + parts.ip + tcp.len;
                    let (count, sum) = self.whole.entry(tcp.payload).or_default();
                    (*count, *sum) = (*count + 1, *sum + headers);
                }
            }
            None => self.found.next = Some(widened(self.found.next, &parts, 0)),
        }
        let room = FULL - parts.mac;
        let seen = self.found.room.unwrap_or(Range::of(room));
        self.found.room = Some(seen.with(room));
    }

    fn found(&self) -> Bytes {
        let usual = self.whole.iter().max_by_key(|(_, (count, _))| *count);
        let whole = usual
            .map(|(payload, (count, headers))| (*headers as f64 / *count as f64, *payload as f64));
        Bytes {
            whole,
            ..self.found
        }
    }
}

fn widened(seen: Option<HeaderBytes<Range>>, parts: &Parts, tcp: usize) -> HeaderBytes<Range> {
    let bytes = HeaderBytes {
        mac: parts.mac,
        lowpan: parts.lowpan,
        ip: parts.ip,
        tcp,
        total: parts.mac + parts.lowpan + parts.ip + tcp,
    };
    let range = |layer: fn(HeaderBytes<Range>) -> Range, value: usize| {
        seen.map_or(Range::of(value), |seen| layer(seen).with(value))
    };
    HeaderBytes {
        mac: range(|it| it.mac, bytes.mac),
        lowpan: range(|it| it.lowpan, bytes.lowpan),
        ip: range(|it| it.ip, bytes.ip),
        tcp: range(|it| it.tcp, bytes.tcp),
        total: range(|it| it.total, bytes.total),
    }
}
