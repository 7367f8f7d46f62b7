//! A sensor that publishes its readings to an MQTT 3.1.1 broker in batches, like the anemometer of
//! Kumar et al. 2020: a reading each second, kept until a batch is full, in a queue that can
//! overflow. It reconnects after a failure.

use std::collections::VecDeque;

use bytes::BytesMut;
use mqttbytes::QoS;
use mqttbytes::v4::{Connect, ConnectReturnCode, Packet, PingReq, Publish, read};
use redpoll_base::{Duration, Instant};
use redpoll_stack::NodeEvent;

use super::outgoing::{ConnectionChange, Outgoing};
use super::sensor::Clock;
use super::{App, Context, Route};
use crate::scenario::AppKind;

/// Bytes of the longest packet that is accepted from a broker.
const MAX_PACKET: usize = 256;

/// Time for a broker's CONNACK: "a reasonable amount of time" in MQTT 3.1.1 §3.2.
const CONNACK_TIME: Duration = Duration::from_secs(30);

pub(super) struct Sensor {
    out: Outgoing,
    node: String,
    topic: String,
    acknowledged: bool,
    bytes: usize,
    batch: usize,
    queue: usize,
    keep_alive: Duration,
    clock: Clock,
    made: u64,
    waiting: VecDeque<String>,
    /// Published readings without an acknowledgment, oldest first, with their packet identifiers.
    unacknowledged: VecDeque<(u16, String)>,
    last_id: u16,
    session: Session,
    overflow: u64,
}

#[derive(Default)]
struct Session {
    began: Instant,
    /// Whether the broker has accepted the session.
    is_up: bool,
    /// Encoded packets for which TCP had no room.
    outbox: BytesMut,
    inbox: BytesMut,
    last_sent: Instant,
    pinged: bool,
}

impl Sensor {
    pub(super) fn new(route: Route, kind: &AppKind, clock: Clock) -> Sensor {
        let AppKind::MqttSensor {
            topic,
            qos,
            bytes,
            batch,
            queue,
            keep_alive,
            reconnect,
            ..
        } = kind
        else {
            unreachable!("the application kind is not mqtt-sensor");
        };
        Sensor {
            node: route.from.clone(),
            out: Outgoing::new(route, *reconnect),
            topic: topic.clone(),
            acknowledged: *qos > 0,
            bytes: usize::from(*bytes),
            batch: usize::from(*batch),
            queue: usize::from(*queue),
            keep_alive: *keep_alive,
            clock,
            made: 0,
            waiting: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            last_id: 0,
            session: Session::default(),
            overflow: 0,
        }
    }

    fn measure(&mut self, now: Instant) {
        let mut reading = format!(
            "{} {} {:.3}",
            self.node,
            self.made,
            now.as_millis() as f64 / 1_000.0
        );
        self.made += 1;
        while reading.len() < self.bytes {
            reading.push(if reading.len() + 1 == self.bytes {
                '.'
            } else {
                ' '
            });
        }
        reading.truncate(self.bytes);
        if self.waiting.len() + self.unacknowledged.len() >= self.queue {
            self.overflow += 1;
        } else {
            self.waiting.push_back(reading);
        }
    }

    fn begin_session(&mut self, cx: &mut Context<'_>) {
        self.session = Session {
            began: cx.now,
            last_sent: cx.now,
            ..Session::default()
        };
        let mut connect = Connect::new(format!("redpoll-{}", self.node));
        let seconds = self.keep_alive.as_micros() / 1_000_000;
        connect.keep_alive = u16::try_from(seconds).unwrap_or(u16::MAX);
        // Writing into a buffer that grows cannot fail.
        let _ = connect.write(&mut self.session.outbox);
        self.pump(cx);
    }

    /// Moves the available data in both directions.
    fn pump(&mut self, cx: &mut Context<'_>) {
        if !self.receive(cx) {
            self.out.abandon(cx);
            return;
        }
        if self.session.is_up
            && self.session.outbox.is_empty()
            && self.unacknowledged.is_empty()
            && self.waiting.len() >= self.batch
        {
            self.publish_batch();
        }
        while !self.session.outbox.is_empty() {
            let sent = self.out.send(cx, &self.session.outbox);
            if sent == 0 {
                return;
            }
            let _ = self.session.outbox.split_to(sent);
            self.session.last_sent = cx.now;
        }
    }

    fn publish_batch(&mut self) {
        for _ in 0..self.batch {
            let Some(reading) = self.waiting.pop_front() else {
                return;
            };
            if self.acknowledged {
                // Identifiers are not zero (MQTT 3.1.1 §2.3.1).
                self.last_id = self.last_id.checked_add(1).unwrap_or(1);
                self.publish(self.last_id, &reading, false);
                self.unacknowledged.push_back((self.last_id, reading));
            } else {
                self.publish(0, &reading, false);
            }
        }
    }

    fn publish(&mut self, id: u16, reading: &str, again: bool) {
        let qos = if self.acknowledged {
            QoS::AtLeastOnce
        } else {
            QoS::AtMostOnce
        };
        let mut publish = Publish::new(self.topic.as_str(), qos, reading);
        publish.pkid = id;
        publish.dup = again;
        let _ = publish.write(&mut self.session.outbox);
    }

    /// Handles the broker's packets. Returns false if the connection is unusable.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut chunk = [0; 256];
        while let Some(len) = self.out.recv(cx, &mut chunk) {
            if len == 0 {
                return false;
            }
            self.session.inbox.extend_from_slice(&chunk[..len]);
            loop {
                match read(&mut self.session.inbox, MAX_PACKET) {
                    Ok(packet) => {
                        if !self.on_packet(&packet) {
                            return false;
                        }
                    }
                    Err(mqttbytes::Error::InsufficientBytes(_)) => break,
                    Err(_) => return false,
                }
            }
        }
        true
    }

    fn on_packet(&mut self, packet: &Packet) -> bool {
        match packet {
            Packet::ConnAck(ack) => {
                if ack.code != ConnectReturnCode::Success || self.session.is_up {
                    return false;
                }
                self.session.is_up = true;
                // MQTT 3.1.1 §4.4: unacknowledged messages are retransmitted.
                let again: Vec<(u16, String)> = self.unacknowledged.iter().cloned().collect();
                for (id, reading) in again {
                    self.publish(id, &reading, true);
                }
                true
            }
            Packet::PubAck(ack) => {
                self.unacknowledged.retain(|(id, _)| *id != ack.pkid);
                true
            }
            Packet::PingResp => {
                self.session.pinged = false;
                true
            }
            // The sensor has no subscriptions.
            _ => false,
        }
    }

    /// Returns the time at which a broker that has not accepted the session is abandoned.
    fn connack_at(&self) -> Option<Instant> {
        let waits = !self.session.is_up && self.out.conn().is_some();
        waits.then(|| self.session.began + CONNACK_TIME)
    }

    /// Returns the time by which the next packet must be sent, or the broker's answer must arrive.
    fn ping_at(&self) -> Option<Instant> {
        let silent = self.session.is_up && self.out.conn().is_some() && !self.keep_alive.is_zero();
        // A quarter of the interval remains for the packet to arrive.
        silent.then(|| self.session.last_sent + self.keep_alive.times(3).divided_by(4))
    }
}

impl App for Sensor {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.clock.start(cx.now);
        self.out.open(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match self.out.on_event(cx, event) {
            Some(ConnectionChange::Opened) => self.begin_session(cx),
            Some(ConnectionChange::Progress) => self.pump(cx),
            Some(ConnectionChange::Lost | ConnectionChange::Finished) => {
                self.session = Session::default()
            }
            None => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.out.on_timer(cx);
        while self.clock.tick(cx.now) {
            self.measure(cx.now);
        }
        if self.connack_at().is_some_and(|at| at <= cx.now) {
            self.session = Session::default();
            self.out.abandon(cx);
            return;
        }
        if self.ping_at().is_some_and(|at| at <= cx.now) {
            if self.session.pinged {
                self.session = Session::default();
                self.out.abandon(cx);
                return;
            }
            self.session.pinged = true;
            self.session.last_sent = cx.now;
            let _ = PingReq.write(&mut self.session.outbox);
        }
        self.pump(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        let timers = [
            self.clock.next(),
            self.out.next_timer(),
            self.ping_at(),
            self.connack_at(),
        ];
        timers.into_iter().flatten().min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        vec![("readings_queue_full", self.overflow)]
    }
}
