//! Packets wait only while flows compete and the network is their bottleneck: nodes that send with
//! a window over a shared network, in steps of a millisecond.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use redpoll_assist::taim::{Contention, Input, Lead, Params, Policy};
use redpoll_base::Duration;

use crate::packets::{ACK, Conn, Engine, FIN, engine, ms};

const LEN: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A segment of a node arrives at the border router.
    Data(usize),
    /// The host's acknowledgement arrives at the border router.
    Ack(usize),
    /// The acknowledgement arrives at the node, which sends the next segment.
    Next(usize),
}

struct Net {
    engine: Engine,
    conns: Vec<Conn>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// One-way delay and time per packet of the mesh, in milliseconds.
    delay: u64,
    service: u64,
    busy_until: u64,
    now: u64,
    /// Segments of each flow that the host received.
    arrived: Vec<u64>,
    /// Events whose packets wait. The index is the packet's handle.
    held: Vec<Event>,
    is_over: Vec<bool>,
}

impl Net {
    fn new(params: Params, flows: u8, delay: u64, service: u64) -> Net {
        let mut net = Net {
            engine: engine(params, 64, 256),
            conns: (0..flows).map(|n| Conn::of(n + 1)).collect(),
            events: BinaryHeap::new(),
            delay,
            service,
            busy_until: 0,
            now: 0,
            arrived: vec![0; usize::from(flows)],
            held: Vec::new(),
            is_over: vec![false; usize::from(flows)],
        };
        net.now = 2 + 2 * (delay + service);
        for conn in &mut net.conns {
            for (packet, at) in conn.handshake().iter().zip([0, 1, net.now]) {
                if net.engine.input(ms(at), packet, 0) == Input::Wait {
                    net.engine.take(ms(at));
                }
            }
        }
        net
    }

    fn begin(&mut self, flow: usize, window: usize) {
        for _ in 0..window {
            self.events.push(Reverse((self.now, Event::Next(flow))));
        }
    }

    fn end(&mut self, flow: usize) {
        self.is_over[flow] = true;
        for packet in [
            self.conns[flow].flags_up(FIN | ACK),
            self.conns[flow].flags_down(FIN | ACK),
        ] {
            let handle = self.held.len();
            self.held.push(Event::Data(flow));
            self.engine.input(ms(self.now), &packet, handle);
        }
    }

    /// Occupies the mesh for a packet; returns the time of its arrival.
    fn crosses(&mut self) -> u64 {
        self.busy_until = self.busy_until.max(self.now) + self.service;
        self.busy_until + self.delay
    }

    fn forward(&mut self, event: Event) {
        match event {
            Event::Data(flow) => {
                self.arrived[flow] += 1;
                self.events.push(Reverse((self.now + 1, Event::Ack(flow))));
            }
            Event::Ack(flow) => {
                let at = self.crosses();
                self.events.push(Reverse((at, Event::Next(flow))));
            }
            Event::Next(_) => {}
        }
    }

    fn run(&mut self, time: u64) {
        let until = self.now + time;
        while self.now < until {
            while let Some(packet) = self.engine.poll(ms(self.now)) {
                let event = self.held[packet.handle];
                self.forward(event);
            }
            while let Some(Reverse((at, event))) = self.events.peek().copied() {
                if at > self.now {
                    break;
                }
                self.events.pop();
                let packet = match event {
                    Event::Next(flow) => {
                        if !self.is_over[flow] {
                            let at = self.crosses();
                            self.events.push(Reverse((at, Event::Data(flow))));
                        }
                        continue;
                    }
                    Event::Data(flow) => self.conns[flow].data(LEN),
                    Event::Ack(flow) => self.conns[flow].ack(),
                };
                let handle = self.held.len();
                self.held.push(event);
                match self.engine.input(ms(self.now), &packet, handle) {
                    Input::Wait => {}
                    Input::Pass(handle) | Input::WaitInstead(handle) => {
                        let event = self.held[handle];
                        self.forward(event);
                    }
                }
            }
            self.now += 1;
        }
    }

    /// Returns the mean waiting time in µs of packets that leave or pass in the next `time` ms.
    fn mean_wait(&mut self, time: u64) -> u64 {
        let before = *self.engine.counters();
        self.run(time);
        let after = *self.engine.counters();
        let packets = after.released + after.uncontended - before.released - before.uncontended;
        (after.waited_us - before.waited_us) / packets.max(1)
    }
}

fn contended() -> Params {
    Params {
        contention: Some(Contention::default()),
        ..Params::default()
    }
}

#[test]
fn a_single_flow_never_waits() {
    for (delay, service) in [(1, 0), (20, 2), (200, 40)] {
        let mut alone = Net::new(contended(), 1, delay, service);
        alone.begin(0, 4);
        alone.run(60_000);
        assert_eq!(alone.engine.counters().released, 0);
        assert!(alone.engine.counters().uncontended > 100);
        // The paper's rule delays even a flow that is alone.
        let mut always = Net::new(Params::default(), 1, delay, service);
        always.begin(0, 4);
        always.run(60_000);
        assert!(always.engine.counters().released > 100);
    }
}

#[test]
fn flows_wait_while_they_compete_for_a_slow_network() {
    let mut net = Net::new(contended(), 2, 100, 40);
    net.begin(0, 4);
    net.run(20_000);
    assert_eq!(net.engine.counters().released, 0);
    net.begin(1, 1);
    net.run(5_000);
    assert!(net.mean_wait(20_000) > 10_000, "{:?}", net.engine);
    // A flow that has ended does not compete.
    net.end(1);
    net.run(2_100);
    let released = net.engine.counters().released;
    net.run(20_000);
    assert_eq!(net.engine.counters().released, released);
    assert_eq!(net.engine.waiting_packets(), 0);
}

#[test]
fn a_flow_without_data_does_not_compete() {
    let mut net = Net::new(contended(), 2, 100, 40);
    net.begin(0, 4);
    net.begin(1, 4);
    net.run(5_000);
    assert!(net.mean_wait(2_000) > 10_000);
    net.is_over[1] = true;
    net.run(10_000);
    assert_eq!(net.mean_wait(5_000), 0);
}

#[test]
fn flows_of_a_fast_network_do_not_wait() {
    for (delay, service, window) in [(1, 0, 1), (1, 0, 20), (10, 1, 4), (1, 5, 40)] {
        let mut net = Net::new(contended(), 3, delay, service);
        (0..3).for_each(|flow| net.begin(flow, window));
        net.run(60_000);
        let counters = net.engine.counters();
        assert_eq!(counters.released, 0, "{delay} {service} {window}");
        assert!(counters.uncontended > 1_000);
    }
}

#[test]
fn waiting_ends_when_the_network_becomes_fast() {
    let mut net = Net::new(contended(), 2, 100, 40);
    (0..2).for_each(|flow| net.begin(flow, 2));
    net.run(5_000);
    assert!(net.mean_wait(5_000) > 10_000);
    (net.delay, net.service) = (1, 0);
    // The next interval without waiting packets shows that the network is fast.
    net.run(36_000);
    assert_eq!(net.mean_wait(40_000), 0, "{:?}", net.engine);
}

#[test]
fn new_parameters_apply_at_once_and_keep_flows_and_packets() {
    let slow = Params {
        initial_delay: Duration::from_secs(60),
        ..Params::default()
    };
    let mut engine = engine(slow, 16, 64);
    let mut conns = [Conn::of(1), Conn::of(2)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    for handle in 0..10 {
        let packet = conns[handle % 2].data(10);
        assert_eq!(engine.input(ms(1), &packet, handle), Input::Wait);
    }
    let first = engine.poll(ms(1)).map(|it| it.handle);
    assert!(first.is_some() && engine.poll(ms(1_000)).is_none());
    let fast = Params {
        initial_delay: Duration::from_millis(10),
        ..Params::default()
    };
    engine.set_params(fast);
    assert_eq!(engine.delay_ns(), 10_000_000);
    assert_eq!(engine.flow_counts(), (0, 2));
    let second = engine.poll(ms(1_000)).map(|it| it.handle);
    assert!(second.is_some() && engine.poll(ms(1_005)).is_none());
    engine.set_params(Params {
        policy: Policy::Lead(Lead::default()),
        ..fast
    });
    let mut left = vec![first.unwrap(), second.unwrap()];
    for second in 2..20 {
        left.extend(std::iter::from_fn(|| {
            engine.poll(ms(1_000 * second)).map(|it| it.handle)
        }));
    }
    // Each flow's packets leave in their order.
    for flow in 0..2 {
        let of_flow: Vec<_> = left.iter().filter(|it| **it % 2 == flow).collect();
        assert!(of_flow.is_sorted() && of_flow.len() == 5, "{left:?}");
    }
    // If new parameters require contention, and there is none, the waiting packets leave.
    engine.set_params(slow);
    assert_eq!(
        engine.input(ms(30_000), &conns[0].data(10), 50),
        Input::Wait
    );
    assert_eq!(
        engine.input(ms(30_000), &conns[0].data(10), 51),
        Input::Wait
    );
    engine.set_params(Params {
        contention: Some(Contention::default()),
        ..slow
    });
    for handle in [50, 51] {
        assert_eq!(engine.poll(ms(30_001)).map(|it| it.handle), Some(handle));
    }
}
