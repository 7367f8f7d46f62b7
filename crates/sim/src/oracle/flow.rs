//! A flow: its bytes in transit, and its counts.

mod figures;

use std::collections::VecDeque;

use redpoll_base::Instant;
use redpoll_tcp::Stats;

use super::datagrams::Datagrams;
use super::image::Image;
use super::percentiles::Percentiles;
use super::readings::{ReadingFormat, Readings};
use super::requests::Requests;
use super::tally::{Observation, Tally};
use super::{FlowId, Oracle};
use crate::MTU;

pub use figures::{FlowFigures, FlowSample, Retransmissions};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Sender,
    Receiver,
}

#[derive(Debug)]
pub(super) struct Flow {
    name: String,
    from: String,
    to: String,
    on_the_way: VecDeque<u8>,
    /// With TCP Fast Open, the first bytes that the receiver got from the sender's present
    /// connection. It may get the same bytes again in a further connection.
    opening: Option<Vec<u8>>,
    /// Whether the receiver has accepted the sender's present connection.
    is_accepted: bool,
    matched: u64,
    /// Bytes that the application gave to the present connection.
    given: u64,
    /// Connections that failed after they had been established.
    pub(super) lost_connections: u64,
    /// Whether the sending application reports the bytes that it writes.
    is_given: bool,
    /// Whether a connection exists. If false, bytes in transit are lost.
    is_open: bool,
    /// Whether the receiver has restarted since the present connection began: bytes that it had
    /// acknowledged but not read are lost.
    has_lost_receiver: bool,
    /// Connections that began.
    begun: u64,
    datagrams: Datagrams,
    readings: Option<Readings>,
    requests: Requests,
    image: Image,
    /// Messages of a transport other than TCP, and the number of repetitions among them.
    messages: (u64, u64),
    delivered: u64,
    first: Option<Instant>,
    last: Instant,
    sender: Tally,
    receiver: Tally,
    rtt: Percentiles,
}

impl Flow {
    pub(super) fn new(name: &str, from: &str, to: &str) -> Self {
        Flow {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            on_the_way: VecDeque::new(),
            opening: None,
            is_accepted: false,
            matched: 0,
            given: 0,
            lost_connections: 0,
            is_given: false,
            is_open: false,
            has_lost_receiver: false,
            begun: 0,
            datagrams: Datagrams::default(),
            readings: None,
            requests: Requests::default(),
            image: Image::default(),
            messages: (0, 0),
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
        self.given += bytes.len() as u64;
        self.is_given = true;
    }

    pub(super) fn received(
        &mut self,
        now: Instant,
        id: FlowId,
        bytes: &[u8],
    ) -> Result<(), String> {
        self.measure(now, bytes.len());
        let start = self.matched;
        if bytes.len() > self.on_the_way.len() {
            let sent = start + self.on_the_way.len() as u64;
            let got = start + bytes.len() as u64;
            return Err(format!(
                "the receiver has {got} bytes, but only {sent} were sent"
            ));
        }
        let wrong = bytes
            .iter()
            .zip(&self.on_the_way)
            .position(|(got, sent)| got != sent);
        if let Some(opening) = &mut self.opening {
            let room = MTU.saturating_sub(opening.len());
            opening.extend(bytes.iter().take(room));
        }
        self.on_the_way.drain(..bytes.len());
        self.matched += bytes.len() as u64;
        if let Some(offset) = wrong {
            return Err(format!(
                "byte {} of the stream arrived with a wrong value",
                start + offset as u64
            ));
        }
        match &mut self.readings {
            Some(readings) => readings.stream(now, bytes, |at| Oracle::pattern(id, at)),
            None => Ok(()),
        }
    }

    pub(super) fn carry_readings(&mut self, format: ReadingFormat) {
        self.readings.get_or_insert_with(|| Readings::new(format));
    }

    pub(super) fn readings_mut(&mut self) -> Option<&mut Readings> {
        self.readings.as_mut()
    }

    pub(super) fn image_mut(&mut self) -> &mut Image {
        &mut self.image
    }

    pub(super) fn requests_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }

    pub(super) fn readings_received(
        &mut self,
        now: Instant,
        id: FlowId,
        payload: &[u8],
    ) -> Result<(), String> {
        let Some(readings) = &mut self.readings else {
            return Err("readings were received on a flow without a sensor".to_owned());
        };
        let new = readings.message(now, payload, |at| Oracle::pattern(id, at))?;
        // A sensor over UDP numbers its datagrams as it numbers its readings.
        if let (Some(number), true) = (payload.first_chunk(), self.datagrams.sent_count() > 0) {
            let seq = u32::from_be_bytes(*number);
            self.datagrams.received(now, seq)?;
        }
        self.measure(now, new);
        Ok(())
    }

    pub(super) fn messages_sent(&mut self, sent: u64, repeated: u64, rtt_us: Option<u64>) {
        self.messages = (sent, repeated);
        if let Some(us) = rtt_us {
            self.rtt.add(us);
        }
    }

    pub(super) fn measure(&mut self, now: Instant, len: usize) {
        if len > 0 {
            self.first.get_or_insert(now);
            self.last = now;
            self.delivered += len as u64;
        }
    }

    pub(super) fn from(&self) -> &str {
        &self.from
    }

    pub(super) fn outstanding(&self) -> usize {
        self.on_the_way.len()
    }

    pub(super) fn restart(&mut self) {
        self.on_the_way.clear();
        self.is_accepted = false;
        if let Some(opening) = &mut self.opening {
            opening.clear();
        }
        if let Some(readings) = &mut self.readings {
            readings.restart();
        }
        self.given = 0;
        self.is_open = true;
        self.has_lost_receiver = false;
        self.begun += 1;
        self.sender.renew();
        self.receiver.renew();
    }

    /// Records that the sender has no connection until the next [`restart`](Self::restart).
    pub(super) fn pause(&mut self) {
        self.is_open = false;
    }

    /// Records the restart of a node. A sender has no connection until it opens one; its requests
    /// have failed, and its readings are lost. A receiver has lost the bytes that it had not read.
    pub(super) fn on_restart_of(&mut self, node: &str) {
        if self.from == node {
            self.pause();
            self.requests.fail_open();
            if let Some(readings) = &mut self.readings {
                readings.lose_open();
            }
        }
        if self.to == node {
            self.has_lost_receiver = true;
            if let Some(readings) = &mut self.readings {
                readings.restart();
            }
        }
    }

    /// Returns the progress of the flow, which changes with every arrival, answer and failure;
    /// `None` if no byte is in transit and no request is open. If the receiver reports no segments,
    /// only open requests count.
    pub(super) fn progress(&self) -> Option<(u64, u64)> {
        let is_reported = self.receiver.total().segments() > 0;
        let is_waiting = if self.has_lost_receiver {
            self.given > self.sender.present().bytes_acked
        } else {
            !self.on_the_way.is_empty()
        };
        let has_bytes = self.is_open && is_reported && is_waiting;
        // A new message follows the answer to the previous one, for example with a block of a body.
        let (sent, repeated) = self.messages;
        let answers = self.requests.ended() + sent.saturating_sub(repeated);
        (has_bytes || self.requests.are_open()).then_some((self.delivered + answers, self.begun))
    }

    pub(super) fn datagram_sent(&mut self, now: Instant, seq: u32) -> Result<(), String> {
        self.datagrams.sent(now, seq)
    }

    pub(super) fn datagram_received(
        &mut self,
        now: Instant,
        seq: u32,
        len: usize,
    ) -> Result<(), String> {
        if self.datagrams.received(now, seq)? {
            self.measure(now, len);
        }
        Ok(())
    }

    pub(super) fn permit_repeats(&mut self) {
        self.datagrams.permit_repeats();
    }

    /// Permits that a receiver gets the first bytes of a connection again, in another connection.
    pub(super) fn permit_replays(&mut self) {
        self.opening = Some(Vec::new());
    }

    pub(super) fn renew(&mut self, end: End) -> u32 {
        match end {
            End::Sender => self.sender.renew(),
            End::Receiver => {
                if self.is_accepted {
                    self.replay();
                }
                self.is_accepted = true;
                self.receiver.renew()
            }
        }
    }

    /// Expects the first bytes of the sender's connection a second time: the receiver has accepted
    /// a repetition of its SYN.
    fn replay(&mut self) {
        let Some(opening) = &mut self.opening else {
            return;
        };
        self.matched = self.matched.saturating_sub(opening.len() as u64);
        for byte in opening.drain(..).rev() {
            self.on_the_way.push_front(byte);
        }
        if let Some(readings) = &mut self.readings {
            readings.restart();
        }
    }

    pub(super) fn observe(&mut self, end: End, serial: u32, stats: &Stats) -> Result<(), String> {
        let segment = self.sender.present().mean_segment();
        let tally = match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        };
        match tally.observe(serial, stats, segment) {
            Observation::Stale => return Ok(()),
            Observation::Backwards => {
                return Err(format!("a counter of TCP at the {end:?} decreased"));
            }
            Observation::Sample if end == End::Sender => self.rtt.add(stats.last_rtt.as_micros()),
            Observation::Sample | Observation::Nothing => {}
        }
        self.check_sequence()
    }

    /// Checks that every acknowledged byte was received, every received byte was sent, and every
    /// sent byte was given to the connection. An end outside the simulation is not checked.
    fn check_sequence(&self) -> Result<(), String> {
        let acked = self.sender.present().bytes_acked;
        let received = self.receiver.present().bytes_received;
        if self.receiver.present().segments() > 0 && acked > received {
            return Err(format!(
                "{acked} bytes were acknowledged, but only {received} were received"
            ));
        }
        if !self.is_given {
            return Ok(());
        }
        let given = self.given;
        for (what, bytes) in [("sent", self.sender.fresh()), ("received", received)] {
            if bytes > given {
                return Err(format!(
                    "{bytes} bytes were {what}, but the application wrote only {given}"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn names(&self) -> (&str, &str, &str) {
        (&self.name, &self.from, &self.to)
    }
}
