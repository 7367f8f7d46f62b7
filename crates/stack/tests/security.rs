//! Nodes with link-layer security: TCP over two hops, nodes without the key, a counter that is not
//! stored or is used up.
#![cfg(feature = "security")]

use crate::common;

use common::{HeapMemory, Line, TestNode, endpoint};
use redpoll_base::Duration;
use redpoll_mac::security::{
    Key, Refusal, SecurityConfig, SecurityLevel, SecurityMemory, SoftwareAes,
};
use redpoll_stack::transport::Event;
use redpoll_stack::{ConnId, NodeEvent};

const KEY: [u8; 16] = [0x42; 16];

fn secure(node: &mut TestNode, key: [u8; 16], counter: u32) {
    let config = SecurityConfig::new(
        SecurityLevel::EncMic32,
        Key::new(1, key),
        &SoftwareAes,
        node.eui64(),
    )
    .with(|it| {
        it.eui64_prefix = Some([2, 0, 0, 0, 0, 0]);
        it.counter_stored = counter;
        it.counter_stretch = u32::MAX;
    });
    let memory = SecurityMemory::<HeapMemory> {
        replay: vec![None; 4].into(),
        names: Box::default(),
    };
    node.secure(config, memory);
}

fn store(node: &mut TestNode) {
    let security = node.security_mut().unwrap();
    if let Some(counter) = security.poll_counter() {
        security.on_counter_stored(counter);
    }
}

fn line() -> Line {
    let mut line = Line::new(3, 2_000);
    for node in &mut line.nodes {
        secure(node, KEY, 0);
        store(node);
    }
    line
}

fn connect(line: &mut Line) -> ConnId {
    line.nodes[2].tcp_listen(80).unwrap();
    let now = line.now;
    let client = line.nodes[0].tcp_connect(now, endpoint(3, 80)).unwrap();
    line.run_for(Duration::from_secs(5));
    client
}

fn refused(node: &TestNode, why: Refusal) -> u32 {
    let counters = node.security().unwrap().counters();
    let refused = counters.refusals().find(|(reason, _)| *reason == why);
    refused.map_or(0, |(_, count)| count)
}

#[test]
fn a_transfer_goes_over_two_protected_hops() {
    let mut line = line();
    let client = connect(&mut line);
    let sent: Vec<u8> = (0..1_500_u32).map(|i| i as u8).collect();
    assert_eq!(
        line.nodes[0].tcp_send(line.now, client, &sent),
        Ok(sent.len())
    );
    line.run_for(Duration::from_secs(5));
    let accepted = |event: &NodeEvent| matches!(event, NodeEvent::Accepted(_));
    let events = line.take_events(2);
    let Some(NodeEvent::Accepted(listener)) = events.into_iter().find(accepted) else {
        panic!("not accepted");
    };
    let server = line.nodes[2].tcp_accept(listener).unwrap();
    let mut received = vec![0; 2_000];
    let len = line.nodes[2]
        .tcp_recv(line.now, server, &mut received)
        .unwrap();
    assert_eq!(&received[..len], &sent[..]);
    for node in &line.nodes {
        let counters = node.security().unwrap().counters();
        assert!(counters.sealed > 1 && counters.opened > 2);
        assert_eq!(counters.unsealed, 0);
        assert_eq!(counters.refusals().map(|(_, n)| n).sum::<u32>(), 0);
    }
}

#[test]
fn no_byte_of_the_payload_is_in_the_air() {
    let mut line = line();
    let client = connect(&mut line);
    let secret = b"a secret of sixteen bytes or more";
    line.rewrite = Box::new(move |_, frame| {
        assert!(frame[0] & 8 != 0, "every frame is secured");
        assert!(frame.windows(16).all(|w| w != &secret[..16]));
    });
    line.nodes[0].tcp_send(line.now, client, secret).unwrap();
    line.run_for(Duration::from_secs(5));
    assert!(line.frames > 8);
}

#[test]
fn a_node_without_the_key_sends_and_receives_no_data() {
    let mut other = line();
    other.nodes[0] = Line::new(1, 2_000).nodes.remove(0);
    let mut wrong = line();
    secure(&mut wrong.nodes[0], [1; 16], 0);
    store(&mut wrong.nodes[0]);
    for (mut line, why) in [
        (other, Refusal::Unsecured),
        (wrong, Refusal::Unauthenticated),
    ] {
        for to in 1..=3_u16 {
            let route = redpoll_stack::Route {
                prefix: common::address(to),
                len: 128,
                via: redpoll_stack::Via::Neighbour(redpoll_wire::ieee802154::Address::Short(2)),
            };
            line.nodes[0].add_route(route).unwrap();
        }
        connect(&mut line);
        assert!(refused(&line.nodes[1], why) > 0, "{why:?}");
        assert_eq!(line.nodes[1].counters().forwarded, 0);
        assert_eq!(line.nodes[2].security().unwrap().counters().opened, 0);
    }
}

#[test]
fn frames_wait_until_the_counter_is_stored() {
    let mut line = line();
    secure(&mut line.nodes[0], KEY, 0);
    connect(&mut line);
    assert_eq!(line.frames, 0);
    store(&mut line.nodes[0]);
    line.run_for(Duration::from_secs(5));
    assert!(line.frames > 0);
    assert_eq!(line.nodes[0].mac().counters().dropped_unsealed, 0);
}

/// When the frame counters are used up, the node sends nothing, and its application gets an error.
#[test]
fn a_node_without_frame_counters_sends_nothing() {
    let mut line = line();
    secure(&mut line.nodes[0], KEY, u32::MAX - 1);
    store(&mut line.nodes[0]);
    let client = connect(&mut line);
    line.nodes[0].tcp_send(line.now, client, b"x").unwrap();
    line.run_for(Duration::from_secs(1_000));
    let node = &line.nodes[0];
    assert!(node.security().unwrap().is_exhausted());
    assert_eq!(node.security().unwrap().counters().sealed, 1);
    assert!(node.mac().counters().dropped_unsealed > 3);
    let failed = |event: &NodeEvent| matches!(event, NodeEvent::Tcp(_, Event::Failed(_)));
    assert!(line.take_events(0).iter().any(failed));
    assert_eq!(line.nodes[0].lowpan().free_slots(), 6);
}

/// A node refuses frames that were recorded on the first hop and are replayed later.
#[test]
fn replayed_frames_are_counted_and_do_nothing() {
    let mut line = line();
    let record = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let copy = record.clone();
    line.rewrite = Box::new(move |from, frame| {
        if from == 0 {
            copy.borrow_mut().push(frame.to_vec());
        }
    });
    let client = connect(&mut line);
    line.nodes[0].tcp_send(line.now, client, &[7; 900]).unwrap();
    line.run_for(Duration::from_secs(60));
    let (frames, forwarded) = (line.frames, line.nodes[1].counters().forwarded);
    for frame in record.borrow().iter() {
        line.nodes[1].input_frame(line.now, frame, Default::default());
    }
    line.run_for(Duration::from_secs(5));
    let refused =
        refused(&line.nodes[1], Refusal::Replayed) + refused(&line.nodes[1], Refusal::OldCounter);
    assert_eq!(refused as usize, record.borrow().len());
    assert_eq!(
        (line.frames, line.nodes[1].counters().forwarded),
        (frames, forwarded)
    );
}
