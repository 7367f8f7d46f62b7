//! Readings over CoAP: confirmable messages with parts of the stream of readings, or whole batches
//! in blocks, or non-confirmable messages of whole readings.

use redpoll_base::{Duration, Instant, Rng};
use redpoll_coap::{BlockSize, Config, Event, Method, Request, RequestId, RtoPolicy};
use redpoll_stack::NodeEvent;

use super::queue::Queue;
use super::{Carrier, Context, Route, open_port};
use crate::oracle::{FlowId, Layout, PLACE};
use crate::scenario::{CocoaReading, SensorSpec, SensorTransport};
use crate::traffic::coap::{Port, READINGS, peer};

pub(super) struct Coap {
    route: Route,
    flow: Option<FlowId>,
    port: Port,
    message_bytes: usize,
    in_blocks: bool,
    is_reliable: bool,
    /// Time between non-confirmable messages.
    spacing: Duration,
    /// Pause before the next message, after the server has refused a message.
    reconnect: Duration,
    /// The message in progress. Its readings have left the queue, like those in TCP's send buffer.
    /// A body in blocks stays in the queue, because only one of its blocks is in memory.
    message: Option<Message>,
    under_way: Option<RequestId>,
    /// Bytes of the queue's first reading that are part of earlier messages.
    taken: usize,
    /// Bytes of readings in all messages, modulo 2^32.
    place: u32,
    not_before: Option<Instant>,
    /// Number of round-trip times reported to the oracle.
    samples: u64,
    refused: u64,
    given_up: u64,
}

struct Message {
    payload: Vec<u8>,
    /// Number of readings that stay in the queue until the message has arrived.
    kept: usize,
}

impl Coap {
    pub(super) fn new(route: Route, spec: &SensorSpec, rng: Rng) -> Coap {
        let rto = match (spec.transport, spec.cocoa) {
            (SensorTransport::Cocoa, CocoaReading::Draft) => RtoPolicy::CocoaDraft,
            (SensorTransport::Cocoa, CocoaReading::Contiki) => RtoPolicy::CocoaContiki,
            _ => RtoPolicy::Rfc7252,
        };
        let config = Config {
            rto,
            block: match spec.blockwise {
                true => BlockSize::at_most(spec.message.into()),
                false => BlockSize::LARGEST,
            },
            ..Config::default()
        };
        Coap {
            route,
            flow: None,
            port: Port::new(config, rng),
            message_bytes: spec.message.into(),
            in_blocks: spec.blockwise,
            is_reliable: spec.transport != SensorTransport::Unreliable,
            spacing: spec.spacing,
            reconnect: spec.reconnect,
            message: None,
            under_way: None,
            taken: 0,
            place: 0,
            not_before: None,
            samples: 0,
            refused: 0,
            given_up: 0,
        }
    }

    /// Sends the next message, if it is due and there are readings.
    fn send(&mut self, cx: &mut Context<'_>, queue: &mut Queue) {
        if self.not_before.is_some_and(|at| at > cx.now) {
            return;
        }
        self.not_before = None;
        if self.under_way.is_some() || self.message.is_none() && queue.due() == 0 {
            return;
        }
        let message = self.message.take();
        let message = message.unwrap_or_else(|| self.next_message(queue));
        let request = Request::new(Method::Post, READINGS).with_payload(message.payload.clone());
        let request = match self.is_reliable {
            true => request,
            false => request.unreliable(),
        };
        let to = peer(self.route.remote);
        match self.port.endpoint.request(cx.now, to, request) {
            Ok(_) if !self.is_reliable => self.not_before = Some(cx.now + self.spacing),
            sent => {
                self.message = Some(message);
                self.under_way = sent.ok();
            }
        }
    }

    fn next_message(&mut self, queue: &mut Queue) -> Message {
        let fitting = (self.message_bytes / queue.reading_bytes()).max(1);
        match layout(self.is_reliable, self.in_blocks) {
            Layout::Whole { .. } if self.is_reliable => Message {
                payload: queue.readings(queue.due()),
                kept: queue.due(),
            },
            Layout::Whole { .. } => {
                let count = queue.due().min(fitting);
                let payload = queue.readings(count);
                queue.let_go(count);
                Message { payload, kept: 0 }
            }
            Layout::Part => {
                // A part may begin and end within a reading, so it may cover two readings more than
                // `fitting`.
                let mut stream = queue.readings(queue.due().min(fitting + 2));
                let mut payload = self.place.to_be_bytes().to_vec();
                payload.extend(stream.drain(self.taken..));
                payload.truncate(self.message_bytes.max(PLACE + 1));
                let bytes = payload.len() - PLACE;
                self.place = self.place.wrapping_add(bytes as u32);
                let taken = self.taken + bytes;
                self.taken = taken % queue.reading_bytes();
                queue.let_go(taken / queue.reading_bytes());
                Message { payload, kept: 0 }
            }
        }
    }

    /// Sends the messages that may be sent, and handles the endpoint's events.
    fn serve(&mut self, cx: &mut Context<'_>, queue: &mut Queue) {
        loop {
            self.send(cx, queue);
            let Some(event) = self.port.poll(cx) else {
                break;
            };
            let (id, is_taken) = match event {
                Event::Response { request, response } => (request, response.is_success()),
                Event::Failed { request, .. } => {
                    self.given_up += 1;
                    self.finish(request);
                    continue;
                }
                Event::Request { .. } => continue,
            };
            if !self.finish(id) {
                continue;
            }
            if is_taken {
                let kept = self.message.take().map_or(0, |message| message.kept);
                if kept > 0 {
                    queue.let_go_of_body(kept);
                }
            } else {
                self.refused += 1;
                self.not_before = Some(cx.now + self.reconnect);
            }
        }
        if let Some(flow) = self.flow {
            self.port.report_counters(cx, flow, &mut self.samples);
        }
    }

    /// Ends the request in progress if its number is `id`. Returns whether it did.
    fn finish(&mut self, id: RequestId) -> bool {
        self.under_way.take_if(|ours| *ours == id).is_some()
    }
}

/// Returns the layout of the messages. Each message that may be lost contains whole readings.
pub(super) fn layout(is_reliable: bool, in_blocks: bool) -> Layout {
    match is_reliable && !in_blocks {
        true => Layout::Part,
        false => Layout::Whole { header: 0 },
    }
}

impl Carrier for Coap {
    fn start(&mut self, cx: &mut Context<'_>, flow: FlowId) {
        let Coap { route, port, .. } = self;
        let opened = open_port(cx, route, flow, |cx, number| port.open(cx, number));
        self.flow = opened.map(|()| flow);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, queue: &mut Queue) {
        if self.port.on_event(cx, event) {
            self.serve(cx, queue);
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>, queue: &mut Queue) {
        if self.flow.is_some() {
            self.port.on_timer(cx);
            self.serve(cx, queue);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let port = self.port.next_timer();
        port.into_iter().chain(self.not_before).min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        let mut losses = self.port.losses();
        losses.push(("coap_request_given_up", self.given_up));
        losses.push(("coap_request_refused", self.refused));
        losses
    }
}
