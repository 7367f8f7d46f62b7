//! RFC 3168 over 6LoWPAN: a mark made at any hop survives the compression and fragmentation of the
//! following hops, and its echo returns.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{Line, endpoint};
use redpoll_base::{Duration, Ecn};
use redpoll_wire::sixlowpan::iphc;

/// The length of the MAC header with short addresses, before a first fragment (RFC 4944 §5.3).
const MAC_LEN: usize = 9;
const FRAG1: u8 = 0b1100_0000;
const FRAG1_LEN: usize = 4;

/// Returns the compressed IPv6 header in a frame, if it has one.
fn packet(frame: &mut [u8]) -> Option<&mut [u8]> {
    let payload = frame.get_mut(MAC_LEN..)?;
    let is_first = payload.first()? & 0b1111_1000 == FRAG1;
    let packet = payload.get_mut(if is_first { FRAG1_LEN } else { 0 }..)?;
    iphc::ecn(packet).is_some().then_some(packet)
}

/// Numbers of marked packets in one transfer over three hops.
#[derive(Default)]
struct Seen {
    marked: u32,
    /// Fragmented packets with a mark on the last hop.
    arrived: u32,
}

/// Node 1 sends to node 4. The node with index `marker` (from 0) marks up to `marks` packets that
/// may be marked. Returns the counts of marked packets, and how often the sender reduced its
/// window.
fn transfer(marker: usize, marks: u32) -> (Seen, u32) {
    let mut line = Line::new(4, 1848);
    let listener = line.nodes[3].tcp_listen(80).unwrap();
    let client = line.nodes[0]
        .tcp_connect(line.now, endpoint(4, 80))
        .unwrap();
    line.run_for(Duration::from_secs(1));
    let server = line.nodes[3].tcp_accept(listener).unwrap();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let notes = seen.clone();
    line.rewrite = Box::new(move |from, frame| {
        let is_first = frame
            .get(MAC_LEN)
            .is_some_and(|byte| byte & 0b1111_1000 == FRAG1);
        let Some(packet) = packet(frame) else { return };
        let mut notes = notes.borrow_mut();
        if from == marker && notes.marked < marks && iphc::mark_ce(packet) {
            notes.marked += 1;
        }
        if from == 2 && is_first && iphc::ecn(packet) == Some(Ecn::Ce) {
            notes.arrived += 1;
        }
    });
    let (mut sent, mut received) = (0, 0);
    while received < 10_000 {
        let now = line.now;
        let chunk = [b'x'; 924];
        sent += line.nodes[0]
            .tcp_send(now, client, &chunk[..chunk.len().min(10_000 - sent)])
            .unwrap_or(0);
        let mut out = [0; 1848];
        received += line.nodes[3].tcp_recv(now, server, &mut out).unwrap_or(0);
        line.run_for(Duration::from_millis(10));
        assert!(now.as_millis() < 120_000, "{received} of {sent} bytes");
    }
    let stats = line.nodes[0].tcp_connection(client).unwrap().stats();
    assert_eq!(stats.retransmissions.total(), 0);
    let reductions = stats.ecn_reductions;
    (seen.take(), reductions)
}

#[test]
fn a_mark_at_any_hop_comes_back_as_an_echo() {
    for marker in 0..3 {
        let (seen, reductions) = transfer(marker, 1);
        assert_eq!((seen.marked, seen.arrived), (1, 1), "by node {marker}");
        assert_eq!(reductions, 1, "by node {marker}");
    }
}

#[test]
fn every_mark_comes_through() {
    let (seen, reductions) = transfer(1, u32::MAX);
    assert!(seen.marked >= 10_000 / 474, "{}", seen.marked);
    assert_eq!(seen.arrived, seen.marked);
    assert!((2..seen.marked).contains(&reductions), "once a window");
}

#[test]
fn without_a_mark_there_is_no_echo() {
    let (seen, reductions) = transfer(1, 0);
    assert_eq!((seen.marked, seen.arrived, reductions), (0, 0, 0));
}
