//! Memory: the size of a flow, replacement of flows, and the effect of a flood of forged flows.

use proptest::prelude::*;
use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Params};
use redpoll_base::{Duration, Instant};

use crate::packets::{ACK, Conn, SYN, Tcp, engine, ms};

#[test]
fn a_flow_and_eight_waiting_packets_take_less_than_a_kibibyte() {
    let flow = size_of::<FlowSlot>() + 4 * size_of::<u32>() + size_of::<u32>();
    let packets = 8 * size_of::<HeldSlot<u32>>();
    assert!(flow + packets <= 1_024, "{flow} + {packets}");
}

/// Returns the first packet of a handshake that is never finished, of flow `n`.
fn forged(n: u32) -> Vec<u8> {
    let port = (n & 0xffff) as u16;
    let mut packet = Tcp {
        from: (7, port),
        to: (200, 80),
        seq: n,
        ack: n,
        flags: if n.is_multiple_of(2) { SYN } else { ACK },
        len: 1,
    }
    .packet();
    packet[16..20].copy_from_slice(&n.to_be_bytes());
    packet
}

#[test]
fn a_million_forged_flows_pass_at_once_and_no_confirmed_flow_goes_for_them() {
    let mut engine = engine(Params::default(), 64, 64);
    let mut conns: Vec<Conn> = (1..=48).map(Conn::of).collect();
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    assert_eq!(engine.flow_counts(), (0, 48));
    for n in 0..1_000_000 {
        assert_eq!(engine.input(ms(1), &forged(n), 5), Input::Pass(5));
    }
    assert_eq!(engine.flow_counts(), (16, 48));
    assert_eq!(engine.counters().evicted, 0);
    assert_eq!(engine.waiting_packets(), 0);
    for conn in &mut conns {
        assert_eq!(engine.input(ms(2), &conn.data(3), 9), Input::Wait);
    }
}

#[test]
fn the_flow_that_is_idle_for_longest_goes_first_and_one_that_waits_never() {
    // At most three flows are confirmed.
    let mut engine = engine(Params::default(), 4, 64);
    let mut conns: Vec<Conn> = (1..=5).map(Conn::of).collect();
    for (at, conn) in conns[..3].iter_mut().enumerate() {
        conn.open(&mut engine, ms(at as u64));
    }
    let here = |engine: &crate::packets::Engine, n: u8| {
        let mut flows = engine.flows().filter(|flow| flow.is_confirmed);
        flows.any(|flow| flow.ends.lower.addr.0[15] == n)
    };
    // The first flow waits; of the other two flows, the second has been idle for longer.
    assert_eq!(engine.input(ms(9), &conns[0].data(1), 1), Input::Wait);
    assert_eq!(engine.input(ms(9), &conns[0].data(1), 2), Input::Wait);
    let now = ms(10);
    for packet in conns[3].handshake() {
        engine.input(now, &packet, 3);
    }
    assert!(here(&engine, 1) && !here(&engine, 2) && here(&engine, 3) && here(&engine, 4));
    // Now all flows have waiting packets. There is no room for another flow, so its packets pass.
    assert_eq!(engine.input(now, &conns[2].data(1), 4), Input::Wait);
    for packet in conns[4].handshake() {
        assert_eq!(engine.input(now, &packet, 5), Input::Pass(5));
    }
    assert_eq!(engine.input(now, &conns[4].data(1), 6), Input::Pass(6));
    assert!(engine.counters().untracked > 0);
    assert!(here(&engine, 1) && here(&engine, 3) && here(&engine, 4) && !here(&engine, 5));
}

#[test]
fn too_many_packets_of_a_flow_push_its_own_first_one_out() {
    let params = Params {
        flow_packets: 2,
        ..Params::default()
    };
    let mut engine = engine(params, 8, 64);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    assert_eq!(engine.input(ms(1), &conn.data(1), 1), Input::Wait);
    assert_eq!(engine.input(ms(1), &conn.data(1), 2), Input::Wait);
    assert_eq!(engine.input(ms(1), &conn.data(1), 3), Input::WaitInstead(1));
    assert_eq!(engine.counters().pushed_out, 1);
}

#[test]
fn a_full_queue_releases_the_next_packet_at_once() {
    let mut engine = engine(Params::default(), 8, 2);
    let mut conns = [Conn::of(1), Conn::of(2), Conn::of(3)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    assert_eq!(engine.input(ms(1), &conns[0].data(1), 1), Input::Wait);
    assert_eq!(engine.input(ms(1), &conns[1].data(1), 2), Input::Wait);
    let third = engine.input(ms(1), &conns[2].data(1), 3);
    assert_eq!(third, Input::WaitInstead(1));
}

#[test]
fn no_packet_waits_longer_than_max_wait() {
    let params = Params {
        initial_delay: Duration::from_secs(5),
        max_wait: Some(Duration::from_millis(200)),
        ..Params::default()
    };
    let mut engine = engine(params, 8, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    for handle in 0..3 {
        engine.input(ms(1_000 + handle as u64 * 10), &conn.data(1), handle);
    }
    assert_eq!(engine.poll(ms(1_030)).map(|packet| packet.handle), Some(0));
    assert_eq!(engine.poll(ms(1_209)), None);
    assert_eq!(engine.poll_at().map(|wake| wake.at), Some(ms(1_210)));
    assert_eq!(engine.poll(ms(1_210)).map(|packet| packet.handle), Some(1));
    assert_eq!(engine.poll(ms(1_220)).map(|packet| packet.handle), Some(2));
    assert_eq!(engine.counters().overdue, 2);
}

#[test]
fn without_memory_every_packet_passes() {
    for (flows, packets) in [(0, 0), (0, 4), (1, 0), (4, 0)] {
        let mut engine = engine(Params::default(), flows, packets);
        let mut conn = Conn::of(1);
        for packet in conn.handshake() {
            assert_eq!(engine.input(ms(0), &packet, 1), Input::Pass(1));
        }
        assert_eq!(engine.input(ms(0), &conn.data(5), 2), Input::Pass(2));
        assert_eq!(engine.poll(ms(0)), None);
    }
}

proptest! {
    /// Headers cut anywhere and changed anywhere.
    #[test]
    fn random_bytes_cause_no_panic(
        at in 0usize..80,
        cut in 0usize..80,
        byte: u8,
        tail in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut engine = engine(Params::default(), 8, 8);
        let mut conn = Conn::of(1);
        conn.open(&mut engine, Instant::ZERO);
        let mut packet = conn.data(20);
        packet[at] = byte;
        packet.truncate(cut);
        engine.input(Instant::ZERO, &packet, 1);
        packet.extend(tail);
        engine.input(Instant::ZERO, &packet, 2);
        while engine.take(Instant::ZERO).is_some() {}
        prop_assert_eq!(engine.waiting_packets(), 0);
    }
}
