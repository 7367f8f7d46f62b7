//! `Node::drive` with a radio whose events the test writes.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use crate::common;

use common::{TestNode, endpoint, node, node_with, prefix};
use redpoll_base::{Duration, Instant};
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo};
use redpoll_stack::transport::Event;
use redpoll_stack::{NodeEvent, Route, Via};
use redpoll_wire::ieee802154::{Address, FrameHeader};

struct Script {
    now: Instant,
    ready: bool,
    events: VecDeque<RadioEvent>,
    started: Vec<(RadioWork, Vec<u8>)>,
    /// The argument `until` of the last call of `poll_event`.
    until: Option<Instant>,
    frame: Vec<u8>,
}

impl Radio for Script {
    fn caps(&self) -> RadioCaps {
        RadioCaps::default()
    }

    fn set_identity(&mut self, _: RadioIdentity) {}

    fn now(&self) -> Instant {
        self.now
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        self.started.push((work, frame.to_vec()));
    }

    fn poll_event(&mut self, _: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        self.until = until;
        let event = self.events.pop_front();
        event.map_or(Poll::Pending, Poll::Ready)
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }
}

impl Script {
    fn drive(&mut self, node: &mut TestNode, until: Option<Instant>) -> Poll<()> {
        node.drive(self, &mut Context::from_waker(Waker::noop()), until)
    }

    /// Drives the node through this event; returns the operations that the node starts before the
    /// event.
    fn through(&mut self, node: &mut TestNode, event: RadioEvent) -> Vec<RadioWork> {
        self.events.push_back(event);
        assert_eq!(self.drive(node, None), Poll::Ready(()));
        self.started.drain(..).map(|(work, _)| work).collect()
    }

    /// Drives the node until its next frame is acknowledged. Returns the frame.
    fn sends(&mut self, node: &mut TestNode) -> Vec<u8> {
        assert_eq!(self.drive(node, None), Poll::Pending);
        let (work, frame) = self.started.pop().unwrap();
        assert_eq!(work, RadioWork::Load);
        let done = RadioEvent::Done;
        assert_eq!(
            self.through(node, done(RadioResult::Loaded)),
            [],
            "the operation has started before"
        );
        // Waits for the backoff of the frame, unless the backoff is zero.
        while self.drive(node, None).is_pending() && self.started.is_empty() {
            self.now = self.until.expect("a timer runs");
            assert_eq!(self.through(node, RadioEvent::Time), []);
        }
        let transmit = RadioWork::Transmit { cca: true };
        assert_eq!(self.started.pop().unwrap().0, transmit);
        let frame_pending = false;
        let acked = done(RadioResult::Acked { frame_pending });
        assert_eq!(self.through(node, acked), []);
        frame
    }
}

/// Returns the node with this short address, and its radio.
fn pair(short: u16) -> (TestNode, Script) {
    let mut node = node(short, 600);
    let (prefix, len, via) = (prefix(), 64, Via::OnLink);
    node.add_route(Route { prefix, len, via }).unwrap();
    let radio = Script {
        now: Instant::from_millis(1_000),
        ready: true,
        events: VecDeque::new(),
        started: Vec::new(),
        until: None,
        frame: Vec::new(),
    };
    (node, radio)
}

#[test]
fn a_segment_passes_from_the_node_to_the_radio() {
    let (mut node, mut radio) = pair(1);
    node.tcp_connect(radio.now, endpoint(2, 80)).unwrap();
    // A radio at the end of a serial line accepts no operation yet.
    radio.ready = false;
    assert_eq!(radio.drive(&mut node, None), Poll::Pending);
    assert_eq!(radio.started, []);
    radio.ready = true;
    let (header, _) = FrameHeader::parse(&radio.sends(&mut node)).unwrap();
    assert_eq!(header.dst, Address::Short(2));
    assert_eq!(node.mac().counters().delivered, 1);
}

#[test]
fn the_radio_is_asked_for_the_earlier_of_the_two_times() {
    let (_, mut radio) = pair(1);
    // Its first solicitation follows after a random time of up to a second.
    let mut node = node_with(1, 600, |config| config.nd.solicit = true);
    radio.now = Instant::ZERO;
    let due = node.poll_at().unwrap().at;
    assert!(due > radio.now, "the seed gives a delay");
    let far = due + Duration::from_secs(3_600);
    for (wanted, until) in [(None, due), (Some(far), due), (Some(radio.now), radio.now)] {
        assert_eq!(radio.drive(&mut node, wanted), Poll::Pending);
        assert_eq!(radio.until, Some(until));
    }
    // The application's time has come, but not the node's: its timer still runs.
    radio.through(&mut node, RadioEvent::Time);
    assert_eq!(node.poll_at().unwrap().at, due);
    radio.now = due;
    radio.through(&mut node, RadioEvent::Time);
    assert_ne!(node.poll_at().map(|wake| wake.at), Some(due));
}

#[test]
fn a_received_segment_is_answered() {
    let received = RadioEvent::Frame(RxInfo::default());
    let (mut client, mut near_client) = pair(2);
    let conn = client.tcp_connect(near_client.now, endpoint(1, 80));
    let request = near_client.sends(&mut client);
    let (mut node, mut radio) = pair(1);
    node.tcp_listen(80).unwrap();
    // The same event without the bytes of the frame.
    radio.through(&mut node, received);
    assert_eq!(node.mac().counters().rx_malformed, 1);
    radio.frame = request;
    radio.through(&mut node, received);
    assert_eq!(node.mac().counters().rx_malformed, 1);
    near_client.frame = radio.sends(&mut node);
    near_client.through(&mut client, received);
    assert_eq!(
        client.poll_event(),
        Some(NodeEvent::Tcp(conn.unwrap(), Event::Connected))
    );
}
