//! Passive connections: the SYN cache, SYN cookies (RFC 4987), backlog, the end of a listener.

use crate::common;

use common::address;
use common::lone::{Lone, SLOTS};
use common::packets::{ACK, RST, SYN, Tcp, read_tcp};
use common::peer::{HOST, Peer};
use redpoll_base::{Duration, Instant, Rng};
use redpoll_stack::transport::{Event, State};
use redpoll_stack::{ConnId, DropReason, Listen, ListenerId, NodeEvent};

/// Connection slots, and entries for half-open connections, of a test node.
const SLOTS_TCP: usize = 4;
const HALF_OPEN: usize = 3;

fn open(lone: &Lone) -> usize {
    lone.node.tcp_connections().count()
}

fn flags(packets: &[Vec<u8>]) -> Vec<u8> {
    let flags = packets.iter().filter_map(|packet| read_tcp(packet));
    flags.map(|(flags, ..)| flags).collect()
}

fn read(lone: &mut Lone, conn: ConnId) -> Vec<u8> {
    let mut out = [0; 99];
    let len = lone.node.tcp_recv(lone.now, conn, &mut out).unwrap_or(0);
    out[..len].to_vec()
}

fn listening() -> (Lone, ListenerId) {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    (lone, listener)
}

#[test]
fn a_connection_slot_is_taken_when_the_handshake_is_complete() {
    let (mut lone, listener) = listening();
    let mut peer = Peer::half_open(&mut lone, 5_000);
    assert_eq!(open(&lone), 0);
    assert_eq!(lone.node.poll_event(), None);
    // The segment that completes the handshake has data.
    peer.give(&mut lone, ACK, b"data");
    assert_eq!(open(&lone), 1);
    assert_eq!(lone.node.poll_event(), Some(NodeEvent::Accepted(listener)));
    let conn = lone.node.tcp_accept(listener).unwrap();
    assert_eq!(read(&mut lone, conn), b"data");
    lone.run_for(Duration::from_secs(30));
    assert_eq!(flags(&lone.host_packets()), [ACK], "of the data, no SYN");
    assert_eq!(lone.node.counters().half_open_expired, 0);
}

#[test]
fn a_lost_answer_is_repeated_and_in_the_end_given_up() {
    let (mut lone, _) = listening();
    let start = lone.now;
    let mut peer = Peer::half_open(&mut lone, 5_000);
    let mut answers = Vec::new();
    while let Some(wake) = lone.node.poll_at() {
        lone.run_for(wake.at - lone.now);
        for packet in lone.host_packets() {
            assert_eq!(read_tcp(&packet).unwrap().1.wrapping_add(1), peer.ack);
            answers.push((lone.now - start).as_millis());
        }
    }
    assert_eq!(answers, [1_000, 3_000, 7_000]);
    assert_eq!((lone.now - start).as_millis(), 15_000);
    assert_eq!(lone.node.counters().half_open_expired, 1);
    peer.give(&mut lone, ACK, b"");
    assert_eq!(flags(&lone.host_packets()), [RST]);
}

#[test]
fn a_repeated_request_gets_the_same_answer_and_another_a_new_one() {
    let (mut lone, listener) = listening();
    let mut peer = Peer::half_open(&mut lone, 5_000);
    let first = peer.ack;
    for (seq, same) in [(1_000, true), (1_000, true), (900, false)] {
        lone.run_for(Duration::from_millis(900));
        peer.seq = seq;
        peer.give(&mut lone, SYN, b"");
        let packets = lone.host_packets();
        assert_eq!(flags(&packets), [SYN | ACK], "its timer has started anew");
        let (_, seq, ack, ..) = read_tcp(&packets[0]).unwrap();
        assert_eq!(seq.wrapping_add(1) == first, same);
        assert_eq!(ack, peer.seq);
        peer.ack = seq.wrapping_add(1);
    }
    peer.give(&mut lone, ACK, b"");
    assert!(lone.node.tcp_accept(listener).is_some());
}

/// A reset ends a half-open connection only at RCV.NXT (RFC 5961 §3.2, RFC 9293 §3.10.7.4).
#[test]
fn a_reset_ends_a_request_if_it_stands_exactly_where_it_must() {
    for (offset, ends) in [(0, true), (1, false), (u32::MAX, false)] {
        let (mut lone, listener) = listening();
        let mut peer = Peer::half_open(&mut lone, 5_000);
        let mut reset = Peer {
            seq: peer.seq.wrapping_add(offset),
            ..peer
        };
        reset.give(&mut lone, RST, b"");
        peer.give(&mut lone, ACK, b"");
        assert_eq!(lone.node.tcp_accept(listener).is_some(), !ends);
    }
}

/// RFC 9293 §3.10.7.4: an unacceptable acknowledgment is answered by a reset,
/// and the request stays.
#[test]
fn a_wrong_acknowledgment_is_reset_and_changes_nothing() {
    let (mut lone, listener) = listening();
    let mut peer = Peer::half_open(&mut lone, 5_000);
    peer.ack = peer.ack.wrapping_add(1);
    peer.give(&mut lone, ACK, b"");
    assert_eq!(flags(&lone.host_packets()), [RST]);
    // A segment outside the window takes no connection slot.
    peer.ack = peer.ack.wrapping_sub(1);
    peer.seq += 10_000;
    peer.give(&mut lone, ACK, b"data");
    assert_eq!(open(&lone), 0);
    peer.seq = 1_001;
    peer.give(&mut lone, ACK, b"data");
    assert!(lone.node.tcp_accept(listener).is_some());
}

/// A segment that a full backlog or table refuses is repeated by the peer.
#[test]
fn without_room_the_handshake_ends_with_the_peer_s_retransmission() {
    for backlog in [1, u8::MAX] {
        let mut lone = Lone::border(|_| {});
        let how = Listen {
            backlog,
            ..Listen::default()
        };
        let listener = lone.node.tcp_listen_with(80, how);
        let listener = listener.unwrap();
        let fits = SLOTS_TCP.min(backlog.into());
        for port in 0..fits as u16 {
            Peer::open(&mut lone, 6_000 + port);
        }
        let mut late = Peer::half_open(&mut lone, 5_000);
        let reason = if fits < SLOTS_TCP {
            DropReason::BacklogFull
        } else {
            DropReason::NoConnectionSlot
        };
        for dropped in 1..=2 {
            late.give(&mut lone, ACK, b"data");
            late.seq -= 4;
            assert_eq!(lone.dropped(reason), dropped);
            assert_eq!(open(&lone), fits);
            assert_eq!(lone.host_packets().len(), 0);
        }
        let first = lone.node.tcp_accept(listener).unwrap();
        lone.node.tcp_abort(lone.now, first);
        lone.node.tcp_release(lone.now, first);
        assert_eq!(flags(&lone.host_packets()).pop(), Some(RST));
        late.give(&mut lone, ACK, b"data");
        let waiting = std::iter::from_fn(|| lone.node.tcp_accept(listener));
        let conn = waiting.last().unwrap();
        assert_eq!(read(&mut lone, conn), b"data");
        assert_eq!(lone.node.tcp_connection(conn).unwrap().remote().port, 5_000);
    }
}

#[test]
fn connections_are_accepted_in_their_order() {
    let (mut lone, listener) = listening();
    let mut expected = Vec::new();
    for round in 0..300u16 {
        let port = 5_000 + round;
        Peer::open(&mut lone, port);
        expected.push(port);
        if round % 3 == 0 {
            continue;
        }
        let conn = lone.node.tcp_accept(listener).unwrap();
        let remote = lone.node.tcp_connection(conn).unwrap().remote();
        assert_eq!(remote.port, expected.remove(0));
        lone.node.tcp_abort(lone.now, conn);
        lone.node.tcp_release(lone.now, conn);
        lone.host_packets();
        if expected.len() == SLOTS_TCP - 1 {
            let conn = lone.node.tcp_accept(listener).unwrap();
            expected.remove(0);
            lone.node.tcp_abort(lone.now, conn);
            lone.node.tcp_release(lone.now, conn);
            lone.host_packets();
        }
    }
}

/// RFC 9293 §3.10.4.
#[test]
fn closing_a_listener_resets_connections_not_accepted() {
    let (mut lone, listener) = listening();
    Peer::open(&mut lone, 5_000);
    let taken = lone.node.tcp_accept(listener).unwrap();
    while lone.node.poll_event().is_some() {}
    Peer::open(&mut lone, 5_001);
    let mut half = Peer::half_open(&mut lone, 5_002);
    lone.node.tcp_unlisten(lone.now, listener);
    let packets = lone.host_packets();
    assert_eq!(flags(&packets), [RST]);
    assert_eq!(packets[0][42..44], 5_001u16.to_be_bytes());
    assert_eq!(lone.node.poll_event(), None);
    assert_eq!(
        lone.node.tcp_connection(taken).unwrap().state(),
        State::Established
    );
    assert_eq!(open(&lone), 1);
    half.give(&mut lone, ACK, b"");
    assert_eq!(flags(&lone.host_packets()), [RST]);
    half.give(&mut lone, SYN, b"");
    assert_eq!(flags(&lone.host_packets()), [RST | ACK]);
    // The node can listen at the port again, and the old handle is invalid.
    let again = lone.node.tcp_listen(80).unwrap();
    Peer::open(&mut lone, 5_003);
    assert_eq!(lone.node.tcp_accept(listener), None);
    lone.node.tcp_unlisten(lone.now, listener);
    assert_eq!(lone.node.poll_event(), Some(NodeEvent::Accepted(again)));
    assert!(lone.node.tcp_accept(again).is_some());
    lone.run_for(Duration::from_secs(60));
    assert_eq!(lone.node.counters().half_open_expired, 0);
}

#[test]
fn incomplete_requests_leave_no_state() {
    let (mut lone, listener) = listening();
    for port in 0..50 {
        let mut peer = Peer::half_open(&mut lone, 5_000 + port);
        if port % 2 == 0 {
            peer.give(&mut lone, RST, b"");
        }
    }
    lone.run_for(Duration::from_secs(20));
    lone.host_packets();
    assert_eq!(open(&lone), 0);
    assert_eq!(lone.node.poll_at(), None);
    assert_eq!(lone.node.poll_event(), None);
    let counters = lone.node.counters();
    assert_eq!(counters.half_open_expired as usize, HALF_OPEN);
    assert!(counters.syn_cookies_sent > 0);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    Peer::open(&mut lone, 6_000);
    assert!(lone.node.tcp_accept(listener).is_some());
}

/// 10,000 requests a second for 10 s from addresses without a host, and every 100 ms a client whose
/// answers take 200 ms.
#[test]
fn honest_clients_connect_during_a_syn_flood() {
    const CLIENTS: u16 = 90;
    let (mut lone, listener) = listening();
    let mut rng = Rng::new(4987);
    let start = lone.now;
    let at = |tick: u64| start + Duration::from_micros(tick * 100);
    let mut clients: Vec<(Instant, Peer)> = Vec::new();
    let mut served = 0;
    for tick in 0..100_000u64 {
        lone.run_for(at(tick) - lone.now);
        let spoofed = Tcp {
            src_port: rng.next_u64() as u16 | 1,
            dst_port: 80,
            seq: rng.next_u64() as u32,
            flags: SYN,
            window: 4_000,
            ..Tcp::default()
        };
        let mut from = HOST;
        from.0[8..].copy_from_slice(&rng.next_u64().to_be_bytes());
        lone.host_sends(&spoofed.packet(from, address(1))).unwrap();
        let sent = lone.host_packets();
        assert!(
            !sent.is_empty() && sent.len() <= 1 + HALF_OPEN,
            "nor more than was asked"
        );
        if tick % 1_000 == 500 && clients.len() < CLIENTS.into() {
            let port = 5_000 + clients.len() as u16;
            clients.push((at(tick + 2_000), Peer::half_open(&mut lone, port)));
        }
        for (when, peer) in clients.iter_mut().filter(|(when, _)| *when == at(tick)) {
            peer.give(&mut lone, ACK, b"hello");
            assert_eq!(lone.now, *when);
            let conn = lone.node.tcp_accept(listener).expect("a connection");
            assert_eq!(read(&mut lone, conn), b"hello");
            lone.node.tcp_abort(lone.now, conn);
            lone.node.tcp_release(lone.now, conn);
            lone.host_packets();
            served += 1;
        }
        assert_eq!(open(&lone), 0);
    }
    assert_eq!(served, CLIENTS);
    let counters = *lone.node.counters();
    assert!(counters.syn_cookies_sent > 99_000, "{counters:?}");
    assert_eq!(
        counters.syn_cookies_used,
        u32::from(CLIENTS),
        "{counters:?}"
    );
    lone.run_for(Duration::from_secs(200));
    lone.host_packets();
    assert_eq!(lone.node.poll_at(), None);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    // After the flood there are free entries, so the node sends no more cookies.
    Peer::open(&mut lone, 7_000);
    assert!(lone.node.tcp_accept(listener).is_some());
    assert_eq!(
        lone.node.counters().syn_cookies_sent,
        counters.syn_cookies_sent
    );
}

#[test]
fn a_failed_connection_is_not_accepted() {
    let (mut lone, listener) = listening();
    let mut peer = Peer::open(&mut lone, 5_000);
    peer.give(&mut lone, RST, b"");
    assert_eq!(lone.node.tcp_accept(listener), None);
    while let Some(event) = lone.node.poll_event() {
        assert!(!matches!(event, NodeEvent::Tcp(_, Event::Failed(_))));
    }
    assert_eq!(open(&lone), 0);
}
