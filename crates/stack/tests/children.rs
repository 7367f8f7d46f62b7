//! Sleeping neighbours: which neighbours count as sleeping, which packets wait for them, and when
//! the link reports to TCP that a waiting segment was sent or lost.

use crate::common;

use common::lone::{Lone, SLOTS};
use common::packets::{self, ACK, SYN, Tcp, read_tcp};
use common::{address, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_mac::RxInfo;
use redpoll_stack::{Advertised, ConnId, NodeEvent, Route, Via};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FrameHeader, FrameType};
use redpoll_wire::ipv6::addr;

const LEAF: u16 = 9;
const SUCCESS: u8 = 0;
const CACHE_FULL: u8 = 2;

/// Returns node 1 as a router that announces `border` as the border router; `border` may be 1.
fn router(border: u16) -> Lone {
    let mut lone = Lone::border(|config| {
        config.mac.caps.source_match = true;
        config.nd.advertise = Some(
            Advertised::new(prefix(), address(border)).with(|it| it.context_lifetime_min = 600),
        );
    });
    if border != 1 {
        let via = Via::Neighbour(Address::Short(border));
        let (prefix, len) = (Addr::UNSPECIFIED, 0);
        lone.node.add_route(Route { prefix, len, via }).unwrap();
    }
    lone
}

/// A device sends a data request as `from` to `to`; the radio acknowledges it with this frame
/// pending bit.
fn ask_as(lone: &mut Lone, from: u16, to: Address, pending: bool) {
    let header = FrameHeader {
        frame_type: FrameType::Command,
        security: false,
        frame_pending: false,
        ack_request: to != Address::BROADCAST,
        version: 1,
        dsn: lone.now.as_millis() as u8,
        dst_pan: Some(0x7270),
        dst: to,
        src_pan: Some(0x7270),
        src: Address::Short(from),
    };
    let mut frame = [0; 32];
    let mut cursor = Cursor::new(&mut frame);
    header.emit(&mut cursor).unwrap();
    cursor.put(&[DATA_REQUEST]).unwrap();
    let info = RxInfo {
        ack_sent_pending: pending,
        ..RxInfo::default()
    };
    lone.node.input_frame(lone.now, cursor.written(), info);
}

fn ask(lone: &mut Lone, from: u16) {
    ask_as(lone, from, Address::Short(1), true);
}

/// `leaf` registers its address for `minutes`; the frame's source is `sender`.
fn register_as(lone: &mut Lone, sender: u16, leaf: u16, minutes: u16) {
    let mut rest = vec![0; 4];
    // RFC 8505 §5.5: the target is the registered address.
    rest.extend(address(leaf).0);
    rest.extend([1, 1, 0, leaf as u8, 0, 0, 0, 0]);
    rest.extend([33, 2, 0, 0, 3, 241]);
    rest.extend(minutes.to_be_bytes());
    rest.extend([2, 0, 0, 0, 0, 0, 0, leaf as u8]);
    let dst = addr::link_local(Address::Short(1)).unwrap();
    let packet = packets::icmp(address(leaf), dst, 255, 135, 0, &rest);
    lone.link_sends(sender, &packet);
}

/// A leaf polls, registers, fetches the answer and sleeps. Returns the status of the answer.
fn adopt(lone: &mut Lone, leaf: u16, minutes: u16) -> u8 {
    ask_as(lone, leaf, Address::Short(1), false);
    register_as(lone, leaf, leaf, minutes);
    ask(lone, leaf);
    let answers = lone.link_packets();
    assert_eq!(answers.len(), 1, "one answer");
    assert_eq!(answers[0].0, Address::Short(leaf));
    lone.run_for(Duration::from_secs(1));
    // The status in the registration option, behind the target and the link-layer address.
    answers[0].1[40 + 34]
}

fn packet_to(lone: &mut Lone, to: u16) {
    let packet = packets::udp(Addr([0x20; 16]), address(to), (5, 6), &[7; 20]);
    lone.host_sends(&packet).unwrap();
}

/// Returns the destinations of the frames of the next half second.
fn sent(lone: &mut Lone) -> Vec<Address> {
    lone.run_for(Duration::from_millis(500));
    let frames = std::mem::take(&mut lone.frames);
    frames.into_iter().map(|(to, _)| to).collect()
}

#[test]
fn packets_for_a_child_wait_until_it_polls() {
    let mut lone = router(1);
    assert_eq!(adopt(&mut lone, LEAF, 60), SUCCESS);
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), []);
    ask(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), [Address::Short(LEAF)]);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
}

/// One forged frame of ten bytes must not cut the route to the border router or a neighbour.
#[test]
fn a_data_request_alone_makes_no_child() {
    let mut lone = router(4);
    for _ in 0..3 {
        ask_as(&mut lone, 4, Address::Short(1), false);
        ask_as(&mut lone, 7, Address::Short(1), false);
        ask_as(&mut lone, 0xffff, Address::Short(1), false);
        ask_as(&mut lone, 0xfffe, Address::Short(1), false);
        ask_as(&mut lone, 7, Address::BROADCAST, false);
    }
    lone.link_sends(7, &packets::echo_request(address(7), address(1)));
    assert_eq!(sent(&mut lone), [Address::Short(7)], "a neighbour");
    let through = packets::udp(address(7), Addr([0x20; 16]), (5, 6), &[7; 20]);
    lone.link_sends(7, &through);
    assert_eq!(sent(&mut lone), [Address::Short(4)], "the way up");
}

/// A host that registers and never sleeps: after a forged data request, its packets must not wait
/// for requests that it never sends.
#[test]
fn forged_data_requests_do_not_cut_off_a_registered_host() {
    let mut lone = router(1);
    register_as(&mut lone, LEAF, LEAF, 60);
    assert_eq!(sent(&mut lone), [Address::Short(LEAF)], "the answer");
    ask(&mut lone, LEAF);
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), [], "it seems to sleep");
    let echo = packets::echo_request(address(LEAF), address(1));
    lone.link_sends(LEAF, &echo);
    lone.run_for(Duration::from_secs(8));
    lone.frames.clear();
    for _ in 0..3 {
        ask(&mut lone, LEAF);
        packet_to(&mut lone, LEAF);
        assert_eq!(
            sent(&mut lone),
            [Address::Short(LEAF)],
            "it was heard, and asked for nothing"
        );
    }
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
}

/// A sensor that sends without polling counts as awake until a frame to it is not acknowledged.
#[test]
fn a_sensor_that_does_not_acknowledge_counts_as_asleep() {
    let mut lone = router(1);
    assert_eq!(adopt(&mut lone, LEAF, 60), SUCCESS);
    packet_to(&mut lone, LEAF);
    let reading = packets::udp(address(LEAF), address(1), (5, 6), &[7; 20]);
    lone.link_sends(LEAF, &reading);
    lone.run_for(Duration::from_secs(8));
    lone.deaf = true;
    packet_to(&mut lone, LEAF);
    lone.run_for(Duration::from_secs(2));
    lone.deaf = false;
    lone.frames.clear();
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), []);
    ask(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), [Address::Short(LEAF)]);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
}

/// A sensor polls every few minutes and sends in between: when the packet that waits for it was
/// dropped, the radio must not acknowledge its next data request with the frame pending bit.
#[test]
fn the_pending_bit_is_clear_after_the_packet_was_dropped() {
    let mut lone = router(1);
    assert_eq!(adopt(&mut lone, LEAF, 60), SUCCESS);
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), []);
    assert!(lone.promised.contains(&LEAF));
    let reading = packets::udp(address(LEAF), Addr([0x20; 16]), (5, 6), &[7; 20]);
    lone.link_sends(LEAF, &reading);
    lone.run_for(Duration::from_secs(10));
    assert_eq!(lone.node.lowpan().counters().expired, 1);
    assert!(!lone.promised.contains(&LEAF));
}

/// A registration in the name of a router does not make the router a child.
#[test]
fn a_router_that_routes_lead_through_is_no_child() {
    let mut lone = router(4);
    ask_as(&mut lone, 4, Address::Short(1), false);
    register_as(&mut lone, 4, 4, 60);
    ask_as(&mut lone, 4, Address::Short(1), false);
    lone.link_packets();
    let through = packets::udp(address(7), Addr([0x20; 16]), (5, 6), &[7; 20]);
    lone.link_sends(7, &through);
    assert_eq!(sent(&mut lone), [Address::Short(4)]);
}

#[test]
fn a_registration_for_another_neighbour_is_ignored() {
    let mut lone = router(1);
    ask_as(&mut lone, LEAF, Address::Short(1), false);
    register_as(&mut lone, 8, LEAF, 60);
    assert_eq!(sent(&mut lone), [], "no answer");
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), [Address::Short(LEAF)]);
}

#[test]
fn a_child_is_one_until_its_registration_ends() {
    let mut lone = router(1);
    adopt(&mut lone, LEAF, 1);
    lone.run_for(Duration::from_secs(55));
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), []);
    lone.run_for(Duration::from_secs(10));
    assert_eq!(lone.node.lowpan().counters().expired, 1);
    packet_to(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), [Address::Short(LEAF)]);
}

#[test]
fn a_child_beyond_the_last_place_is_refused_and_evicts_no_other() {
    let mut lone = router(1);
    for leaf in 11..=14 {
        assert_eq!(adopt(&mut lone, leaf, 60), SUCCESS);
    }
    // The table of registrations has four places.
    assert_eq!(adopt(&mut lone, 15, 60), CACHE_FULL);
    for leaf in 11..=14 {
        packet_to(&mut lone, leaf);
        assert_eq!(sent(&mut lone), [], "{leaf} sleeps");
        ask(&mut lone, leaf);
        assert_eq!(sent(&mut lone), [Address::Short(leaf)]);
    }
}

/// Returns a connection of the router with its child, and the router's next sequence number.
fn connected(lone: &mut Lone) -> (ConnId, u32) {
    adopt(lone, LEAF, 60);
    lone.node.tcp_listen(80).unwrap();
    let tcp = Tcp {
        src_port: 5_000,
        dst_port: 80,
        window: 4_000,
        ..Tcp::default()
    };
    let syn = Tcp { flags: SYN, ..tcp };
    lone.link_sends(LEAF, &syn.packet(address(LEAF), address(1)));
    ask(lone, LEAF);
    let answer = lone.link_packets();
    let (_, iss, ..) = read_tcp(&answer[0].1).unwrap();
    let ack = Tcp {
        flags: ACK,
        seq: 1,
        ack: iss + 1,
        ..tcp
    };
    lone.link_sends(LEAF, &ack.packet(address(LEAF), address(1)));
    let conn = std::iter::from_fn(|| lone.node.poll_event()).find_map(|event| match event {
        NodeEvent::Accepted(listener) => Some(listener),
        _ => None,
    });
    let conn = lone.node.tcp_accept(conn.unwrap()).unwrap();
    lone.run_for(Duration::from_secs(1));
    lone.frames.clear();
    (conn, iss + 1)
}

/// The retransmission timer starts when the child has the segment, not when the segment is queued.
#[test]
fn a_segment_is_sent_when_the_child_has_it() {
    let mut lone = router(1);
    let (conn, _) = connected(&mut lone);
    lone.node.tcp_send(lone.now, conn, &[7; 20]).unwrap();
    for _ in 0..6 {
        assert_eq!(sent(&mut lone), []);
        lone.run_for(Duration::from_millis(500));
    }
    let stats = *lone.node.tcp_connection(conn).unwrap().stats();
    assert_eq!((stats.rtos, stats.data_segments_sent), (0, 1));
    ask(&mut lone, LEAF);
    assert_eq!(sent(&mut lone), [Address::Short(LEAF)], "once");
    // The timer runs since the child has the segment; no acknowledgment comes, so it expires.
    lone.run_for(Duration::from_secs(5));
    let stats = *lone.node.tcp_connection(conn).unwrap().stats();
    assert!(stats.rtos > 0);
}

/// RFC 9293 §3.9.2: TCP retransmits a segment that the link dropped because the child never polled.
#[test]
fn tcp_retransmits_a_segment_that_was_never_polled() {
    let mut lone = router(1);
    let (conn, una) = connected(&mut lone);
    // The router assumes that a child whose last frame was a data request sleeps.
    ask(&mut lone, LEAF);
    lone.node.tcp_send(lone.now, conn, &[7; 20]).unwrap();
    lone.run_for(Duration::from_millis(200));
    // macTransactionPersistenceTime is 7.68 s.
    lone.run_for(Duration::from_secs(8));
    assert_eq!(lone.node.lowpan().counters().expired, 1);
    let stats = *lone.node.tcp_connection(conn).unwrap().stats();
    assert_eq!((stats.rtos, stats.link_losses), (0, 1));
    lone.run_for(Duration::from_secs(3));
    ask(&mut lone, LEAF);
    let fetched = lone.link_packets();
    let data: Vec<u32> = fetched
        .iter()
        .filter_map(|(_, packet)| read_tcp(packet))
        .map(|(_, seq, ..)| seq)
        .collect();
    assert_eq!(data, [una], "the segment once more, and once");
}
