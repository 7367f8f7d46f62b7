//! Sensors: a reading at every interval, over UDP or TCP.

use redpoll_base::{Duration, Instant, Rng};
use redpoll_stack::{NodeEvent, UdpId};
use redpoll_tcp::Endpoint;

use super::content::pattern;
use super::outgoing::{Change, Outgoing};
use super::peers::{Pair, Peers};
use super::{App, Context, Route};
use crate::oracle::FlowId;

/// When readings are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    interval: Duration,
    /// The first reading's place in the first interval.
    phase: Duration,
    next: Option<Instant>,
}

impl Clock {
    /// A clock whose first reading comes at a random moment, so that not all
    /// nodes send at once.
    pub(super) fn new(interval: Duration, rng: &mut Rng) -> Clock {
        let phase = Duration::from_micros(rng.below_u64(interval.as_micros()));
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

    /// Whether a reading is due; the next one is then an interval later.
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

/// Local UDP ports of sensors, by their flow: any would do.
const FIRST_PORT: u16 = 40_000;

/// Sends a datagram a reading. Its first four bytes are its number.
pub(super) struct UdpSensor {
    route: Route,
    bytes: usize,
    clock: Clock,
    socket: Option<(UdpId, FlowId)>,
    number: u32,
    no_room: u64,
}

impl UdpSensor {
    pub(super) fn new(route: Route, bytes: u16, clock: Clock) -> UdpSensor {
        UdpSensor {
            route,
            bytes: usize::from(bytes),
            clock,
            socket: None,
            number: 0,
            no_room: 0,
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        let Some((socket, flow)) = self.socket else {
            return;
        };
        let mut reading = vec![0; self.bytes];
        pattern(
            flow,
            u64::from(self.number) * self.bytes as u64,
            &mut reading,
        );
        if let Some(head) = reading.first_chunk_mut() {
            *head = self.number.to_be_bytes();
        }
        if self.route.is_inside {
            cx.oracle.datagram_sent(flow, cx.now, self.number);
        }
        self.number = self.number.wrapping_add(1);
        if cx
            .node
            .udp_send(cx.now, socket, self.route.remote, &reading)
            .is_err()
        {
            self.no_room += 1;
        }
    }
}

impl App for UdpSensor {
    fn start(&mut self, cx: &mut Context<'_>) {
        let Route {
            flow,
            from,
            to,
            remote,
            peers,
            ..
        } = &self.route;
        let mut ports = FIRST_PORT..;
        let bound = ports.find_map(|port| match cx.node.udp_bind(port) {
            Ok(socket) => Some(Some((socket, port))),
            Err(redpoll_stack::Error::PortInUse) => None,
            Err(_) => Some(None),
        });
        let Some(Some((socket, port))) = bound else {
            return;
        };
        let flow = cx.oracle.flow(flow, from, to);
        let local = Endpoint {
            addr: cx.node.address(),
            port,
        };
        peers.set(Pair::new(local, *remote), flow);
        self.socket = Some((socket, flow));
        self.clock.start(cx.now);
    }

    fn on_event(&mut self, _cx: &mut Context<'_>, _event: &NodeEvent) {}

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        while self.clock.tick(cx.now) {
            self.send(cx);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.clock.next()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        vec![("readings_without_slot", self.no_room)]
    }
}

/// Counts the datagrams of sensors.
pub(super) struct DatagramSink {
    port: u16,
    peers: Peers,
    socket: Option<UdpId>,
}

impl DatagramSink {
    pub(super) fn new(port: u16, peers: Peers) -> DatagramSink {
        DatagramSink {
            port,
            peers,
            socket: None,
        }
    }
}

impl App for DatagramSink {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.socket = cx.node.udp_bind(self.port).ok();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let NodeEvent::UdpReadable(socket) = event else {
            return;
        };
        if Some(*socket) != self.socket {
            return;
        }
        let local = Endpoint {
            addr: cx.node.address(),
            port: self.port,
        };
        let mut datagram = [0; 1280];
        while let Some((len, sender)) = cx.node.udp_recv(*socket, &mut datagram) {
            let flow = self.peers.flow(&Pair::new(sender, local));
            if let (Some(flow), Some(number)) = (flow, datagram[..len].first_chunk()) {
                let number = u32::from_be_bytes(*number);
                cx.oracle.datagram_received(flow, cx.now, number, len);
            }
        }
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }
}

/// Pause before a sensor connects again (the anemometer of Kumar et al. 2020
/// waits as long).
const RECONNECT: Duration = Duration::from_secs(3);
/// Readings that wait for a connection at most.
const QUEUE: u64 = 64;

/// Sends its readings over one connection.
pub(super) struct TcpSensor {
    out: Outgoing,
    bytes: u64,
    clock: Clock,
    /// Bytes of readings made and not given to the connection.
    waiting: u64,
    /// Bytes given to the present connection.
    offset: u64,
    overflow: u64,
}

impl TcpSensor {
    pub(super) fn new(route: Route, bytes: u16, clock: Clock) -> TcpSensor {
        TcpSensor {
            out: Outgoing::new(route, RECONNECT),
            bytes: u64::from(bytes),
            clock,
            waiting: 0,
            offset: 0,
            overflow: 0,
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        let mut chunk = [0; 1024];
        while self.out.recv(cx, &mut chunk).is_some_and(|len| len > 0) {}
        while self.waiting > 0 {
            let Some(flow) = self.out.flow() else { return };
            let len = chunk
                .len()
                .min(usize::try_from(self.waiting).unwrap_or(chunk.len()));
            pattern(flow, self.offset, &mut chunk[..len]);
            let sent = self.out.send(cx, &chunk[..len]) as u64;
            if sent == 0 {
                return;
            }
            self.offset += sent;
            self.waiting -= sent;
        }
    }
}

impl App for TcpSensor {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.clock.start(cx.now);
        self.out.open(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match self.out.on_event(cx, event) {
            Some(Change::Opened) => {
                self.offset = 0;
                self.pump(cx);
            }
            Some(Change::Progress) => self.pump(cx),
            Some(Change::Lost | Change::Finished) | None => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.out.on_timer(cx);
        while self.clock.tick(cx.now) {
            if self.waiting >= QUEUE * self.bytes {
                self.overflow += 1;
            } else {
                self.waiting += self.bytes;
            }
        }
        self.pump(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.clock
            .next()
            .into_iter()
            .chain(self.out.next_timer())
            .min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        vec![("readings_queue_full", self.overflow)]
    }
}
