//! The figures of a flow, which reports contain.

use redpoll_base::Instant;
use serde::Serialize;

use super::Flow;
use crate::oracle::image::ImageFigures;
use crate::oracle::readings::ReadingFigures;
use crate::oracle::requests::RequestFigures;
use crate::oracle::tally::under_way;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowFigures {
    /// Name of the flow, which is the name of its app.
    pub name: String,
    /// Name of the sending node, which is the node of the flow's app. In a flow of requests or of
    /// an image, this is the client or the leaf, at which the payload arrives.
    pub from: String,
    /// Name of the receiving node; in a flow of requests or of an image, the server or the source.
    /// `host` is the host behind the border router.
    pub to: String,
    /// Payload that arrived, in bytes. Over TCP to a receiver outside the simulation: payload that
    /// the receiver acknowledged.
    pub delivered_bytes: u64,
    /// Goodput in 1000 bit/s: `delivered_bytes` divided by the time between the first and the last
    /// arriving byte; 0 if this time is 0. `run`, `report`, `compare`, `plot` and Python show this
    /// value, rounded.
    pub goodput_kbps: f64,
    /// Time of the last arrival, in seconds since the start of the run. Left out if no byte
    /// arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_arrival_s: Option<f64>,
    /// Segments with payload that the sender gave to its link, retransmissions included; datagrams
    /// for a UDP flow, messages for CoAP. 0 for an image that is not transferred over HTTP, and for
    /// a UDP flow to a receiver outside the simulation.
    pub segments_sent: u64,
    /// Payload bytes in the segments of `segments_sent`, retransmissions included; `null` for a
    /// flow without TCP, and before the first segment with payload.
    pub sent_bytes: Option<u64>,
    /// Share of the sender's segments, retransmissions included, that did not reach the receiver
    /// despite link retries, 0 to 1. Segments under way are not counted. 0 for CoAP, for requests
    /// and images, and if the receiver is outside the simulation.
    pub segment_loss: f64,
    /// Retransmitted segments or messages, by cause.
    pub retransmissions: Retransmissions,
    /// Round-trip times that the sender measured, in milliseconds. For uIP, whose own clock counts
    /// half seconds, the exact times from a segment to its acknowledgement.
    pub rtt_ms: RttMs,
    /// Figures of a flow of readings between nodes (a `sensor`). Left out for other flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<ReadingFigures>,
    /// Figures of a flow of requests (an `http-client` or `coap-client`). Left out for other flows,
    /// and before the first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestFigures>,
    /// Figures of a flow that carries an image to an `image-leaf`. Left out for other flows, and
    /// before the leaf begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageFigures>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowSample {
    /// Payload bytes that have arrived.
    pub delivered: u64,
    /// Segments with payload, datagrams or messages sent, retransmissions included.
    pub sent: u64,
    pub retransmissions: Retransmissions,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Retransmissions {
    /// Retransmissions after a timeout; the only cause for CoAP.
    pub rto: u64,
    /// Retransmissions by fast retransmit and fast recovery.
    pub fast: u64,
    /// Retransmissions after the link reported that it could not deliver the segment.
    pub link_lost: u64,
    /// Retransmissions after the path MTU decreased.
    pub path_mtu: u64,
    /// Retransmissions as tail loss probes (RFC 8985 §7).
    pub tail: u64,
    /// Retransmissions that probe a closed window.
    pub probe: u64,
}

/// Percentiles of round-trip times in milliseconds; `null` without a sample.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RttMs {
    /// Median, with a precision of one percent; `null` without a measurement.
    pub p50: Option<f64>,
    /// 95th percentile, with a precision of one percent; `null` without a measurement.
    pub p95: Option<f64>,
}

impl Flow {
    pub(in crate::oracle) fn sample(&self) -> FlowSample {
        let sender = self.sender.total();
        let (messages, repeated) = self.messages;
        FlowSample {
            delivered: self.delivered,
            sent: sender.data_sent + self.datagrams.sent_count() + messages,
            retransmissions: Retransmissions {
                rto: sender.rto + repeated,
                fast: sender.fast,
                link_lost: sender.link_lost,
                path_mtu: sender.path_mtu,
                tail: sender.tail,
                probe: sender.probe,
            },
        }
    }

    pub(in crate::oracle) fn figures(&self, now: Instant) -> FlowFigures {
        let sender = self.sender.total();
        let counted = self.sample();
        let elapsed = self.last.since(self.first.unwrap_or(self.last));
        FlowFigures {
            name: self.name.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            delivered_bytes: self.delivered,
            goodput_kbps: ratio(self.delivered as f64 * 8_000.0, elapsed.as_micros() as f64),
            last_arrival_s: self.first.map(|_| self.last.as_micros() as f64 / 1e6),
            segments_sent: counted.sent,
            sent_bytes: (sender.data_sent > 0).then_some(sender.bytes_sent),
            segment_loss: self.loss(now),
            retransmissions: counted.retransmissions,
            rtt_ms: RttMs {
                p50: self.rtt.at(0.50).map(|us| us as f64 / 1_000.0),
                p95: self.rtt.at(0.95).map(|us| us as f64 / 1_000.0),
            },
            readings: self.readings.as_ref().map(|readings| readings.figures(now)),
            requests: self.requests.figures(),
            image: self.image.figures(),
        }
    }

    /// Returns the share of sent segments that did not arrive, not counting those in transit.
    fn loss(&self, now: Instant) -> f64 {
        let (mut settled, mut lost) = self.datagrams.settled(now);
        // A receiver outside of the simulation does not report losses.
        if self.receiver.total().segments() > 0 {
            let sent = self.sender.total().data_sent;
            let missing = sent.saturating_sub(self.receiver.total().data_received);
            let under_way = under_way(&self.sender, &self.receiver).min(missing);
            settled += sent - under_way;
            lost += missing - under_way;
        }
        ratio(lost as f64, settled as f64)
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}
