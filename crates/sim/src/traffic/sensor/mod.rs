//! Sense and send: a reading at every interval, one by one or in batches, over one of several
//! transports (Kumar et al. 2020, §8.2).
//!
//! Readings wait in a queue of the application until the transport accepts them. When the queue is
//! full, new readings are lost. With a reliable transport, other readings are lost only if a
//! connection fails or a node restarts.

mod coap;
mod ideal;
mod queue;
mod sink;
mod tcp;
mod udp;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_stack::{Error, NodeEvent, UdpId};
use redpoll_tcp::Endpoint;

use self::queue::Queue;
use super::peers::Pair;
use super::{App, Context, Route};
use crate::oracle::{FlowId, Layout, ReadingFormat};
use crate::scenario::{SensorSpec, SensorTransport};

pub(super) use sink::DatagramSink;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    interval: Duration,
    /// Time from the start of the app to the first reading.
    phase: Duration,
    next: Option<Instant>,
}

impl Clock {
    /// Returns a schedule whose first reading comes after a random time below `period`, the time
    /// between two transmissions of a node. The nodes therefore do not send simultaneously.
    pub(super) fn new(interval: Duration, period: Duration, rng: &mut Rng) -> Clock {
        let phase = Duration::from_micros(rng.below_u64(period.as_micros()));
        Clock {
            interval,
            phase,
            next: None,
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.next = Some(now + self.phase);
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Returns whether a reading is due. The next one is an interval later.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        match self.next {
            Some(at) if at <= now => {
                self.next = Some(at + self.interval);
                true
            }
            _ => false,
        }
    }
}

/// Transport that moves readings from the queue to the far end.
trait Carrier {
    fn start(&mut self, cx: &mut Context<'_>, flow: FlowId);

    fn on_event(&mut self, _cx: &mut Context<'_>, _event: &NodeEvent, _queue: &mut Queue) {}

    /// Sends readings from the queue. Called when the queue may have more readings, and when the
    /// transport's timer has expired.
    fn pump(&mut self, cx: &mut Context<'_>, queue: &mut Queue);

    fn next_timer(&self) -> Option<Instant>;

    fn losses(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

pub(super) struct Sensor {
    route: Route,
    clock: Clock,
    queue: Queue,
    format: ReadingFormat,
    carrier: Box<dyn Carrier>,
}

impl Sensor {
    pub(super) fn new(route: Route, spec: &SensorSpec, clock: Clock, rng: Rng) -> Sensor {
        let carrier: Box<dyn Carrier> = match spec.transport {
            SensorTransport::Udp => Box::new(udp::Udp::new(route.clone())),
            SensorTransport::Tcp => Box::new(tcp::Tcp::new(route.clone(), spec.reconnect)),
            SensorTransport::Ideal => Box::new(ideal::Ideal::new(route.clone(), spec)),
            SensorTransport::Coap | SensorTransport::Cocoa | SensorTransport::Unreliable => {
                Box::new(coap::Coap::new(route.clone(), spec, rng))
            }
        };
        let format = ReadingFormat {
            bytes: spec.bytes.into(),
            layout: match spec.transport {
                SensorTransport::Ideal => Layout::Whole {
                    header: ideal::HEADER,
                },
                SensorTransport::Coap | SensorTransport::Cocoa => {
                    coap::layout(true, spec.blockwise)
                }
                _ => Layout::Whole { header: 0 },
            },
            tells_losses: !matches!(
                spec.transport,
                SensorTransport::Udp | SensorTransport::Unreliable
            ),
        };
        Sensor {
            route,
            clock,
            queue: Queue::new(spec),
            format,
            carrier,
        }
    }
}

impl App for Sensor {
    fn start(&mut self, cx: &mut Context<'_>) {
        let Route { flow, from, to, .. } = &self.route;
        let flow = cx.oracle.flow(flow, from, to);
        if self.route.is_inside {
            cx.oracle.readings(flow, self.format);
        }
        self.queue.belongs_to(flow);
        self.clock.start(cx.now);
        self.carrier.start(cx, flow);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        self.carrier.on_event(cx, event, &mut self.queue);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        while self.clock.tick(cx.now) {
            self.queue.make(cx);
        }
        self.carrier.pump(cx, &mut self.queue);
    }

    fn next_timer(&self) -> Option<Instant> {
        let carrier = self.carrier.next_timer();
        self.clock.next().into_iter().chain(carrier).min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        let mut losses = self.carrier.losses();
        losses.push(("readings_queue_full", self.queue.overflow()));
        losses
    }
}

/// Time until the next attempt when the node has no room for a datagram.
const NO_ROOM: Duration = Duration::from_millis(20);

const FIRST_PORT: u16 = 40_000;

/// Opens a socket for `flow` by `bind`, at the first free port from [`FIRST_PORT`] on.
pub(super) fn open_port<S>(
    cx: &mut Context<'_>,
    route: &Route,
    flow: FlowId,
    mut bind: impl FnMut(&mut Context<'_>, u16) -> Result<S, Error>,
) -> Option<S> {
    for port in FIRST_PORT.. {
        match bind(cx, port) {
            Ok(socket) => {
                let local = Endpoint {
                    addr: cx.node.address(),
                    port,
                };
                route.peers.set(Pair::new(local, route.remote), None, flow);
                return Some(socket);
            }
            Err(Error::PortInUse) => {}
            Err(_) => return None,
        }
    }
    None
}

fn open_socket(cx: &mut Context<'_>, route: &Route, flow: FlowId) -> Option<UdpId> {
    open_port(cx, route, flow, |cx, port| cx.node.udp_bind(port))
}
