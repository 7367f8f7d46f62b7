//! Throughput, round-trip time and timeout, estimated from the sequence numbers of segments.

use redpoll_assist::taim::{FlowView, Params};
use redpoll_base::Duration;

use crate::packets::{ACK, Conn, Engine, FIN, SYN, Tcp, engine, ms};

fn only(engine: &Engine) -> FlowView {
    let mut flows = engine.flows();
    let flow = flows.next().expect("the engine has a flow");
    assert!(flows.next().is_none());
    flow
}

fn give(engine: &mut Engine, at: u64, packet: &[u8]) {
    engine.input(ms(at), packet, 0);
    while engine.take(ms(at)).is_some() {}
}

#[test]
fn the_round_trip_is_both_ways_from_the_border_together() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    let [syn, syn_ack, ack] = conn.handshake();
    give(&mut engine, 0, &syn);
    give(&mut engine, 30, &syn_ack);
    assert_eq!(only(&engine).rtt, None);
    give(&mut engine, 430, &ack);
    let flow = only(&engine);
    assert_eq!(flow.rtt, Some(Duration::from_millis(430)));
    // RFC 6298 §2.2: RTTVAR = R/2, for each half of the round trip; the timeout is at least 1 s.
    assert_eq!(flow.rto, Some(Duration::from_millis(430 + 4 * 215)));
}

#[test]
fn single_upstream_segments_measure_the_round_trip_to_the_node() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    // The handshake took no time; the following round trips exceed the timeout derived from it.
    let mut at = 0;
    for _ in 0..100 {
        give(&mut engine, at, &conn.data(38));
        give(&mut engine, at + 10, &conn.ack());
        at += 10 + 300;
    }
    let rtt = only(&engine).rtt;
    // TAiM assumes that the node was idle for the 300 ms, and ignores them.
    assert!(
        rtt.is_some_and(|rtt| rtt < Duration::from_millis(20)),
        "{rtt:?}"
    );

    // This engine has not seen the handshake, so it measures only these round trips.
    let mut engine = self::engine(Params::default(), 16, 16);
    for _ in 0..100 {
        give(&mut engine, at, &conn.data(38));
        give(&mut engine, at + 10, &conn.ack());
        at += 10 + 300;
    }
    let rtt = only(&engine).rtt.expect("the round-trip time is known");
    assert!(rtt.as_millis().abs_diff(310) <= 1, "{rtt:?}");
}

#[test]
fn repeated_bytes_count_once_and_repeated_segments_are_not_timed() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    let segment = conn.data(100);
    give(&mut engine, 100, &segment);
    give(&mut engine, 3_100, &segment);
    give(&mut engine, 3_110, &conn.ack());
    let flow = only(&engine);
    assert_eq!(flow.counters.bytes, 100);
    assert!(flow.rtt.is_some_and(|rtt| rtt < Duration::from_millis(1)));
}

#[test]
fn throughput_is_new_bytes_a_second_of_whole_periods_smoothed() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    conn.open(&mut engine, ms(0));
    let mut seen = Vec::new();
    for second in 0..=240 {
        engine.poll(ms(second * 1_000));
        if second % 60 == 0 {
            seen.push(only(&engine).throughput);
        }
        let len = if second < 120 { 100 } else { 20 };
        give(&mut engine, second * 1_000, &conn.data(len));
    }
    // The estimate moves by a quarter of the difference to the throughput of the latest minute.
    assert_eq!(seen, [0, 100, 100, 80, 65]);
}

#[test]
fn false_sequence_numbers_do_not_change_the_estimates() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    give(&mut engine, 10, &conn.data(50));
    let lie = Tcp {
        from: conn.node,
        to: conn.host,
        seq: conn.up.wrapping_add(0x4000_0000),
        ack: 0,
        flags: ACK,
        len: 1_000,
    };
    for _ in 0..5 {
        give(&mut engine, 20, &lie.packet());
    }
    let reset = Tcp {
        flags: 4 | ACK,
        ..lie
    };
    give(&mut engine, 20, &reset.packet());
    give(&mut engine, 30, &conn.data(50));
    let flow = only(&engine);
    assert_eq!(flow.counters.bytes, 100);
    assert!(!flow.is_over);
    assert_eq!(engine.counters().nonsense, 6);
}

#[test]
fn a_jump_of_sequence_numbers_is_accepted_once_it_persists() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    conn.up = conn.up.wrapping_add(0x0800_0000);
    give(&mut engine, 10, &conn.data(50));
    assert_eq!(only(&engine).counters.bytes, 0);
    give(&mut engine, 20, &conn.data(50));
    give(&mut engine, 30, &conn.data(50));
    assert_eq!(only(&engine).counters.bytes, 100);
}

#[test]
fn a_flow_is_over_after_both_fins_and_its_ports_may_be_used_again() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    conn.open(&mut engine, ms(0));
    let fin = conn.flags_up(FIN | ACK);
    give(&mut engine, 10, &fin);
    assert!(!only(&engine).is_over);
    let fin = conn.flags_down(FIN | ACK);
    give(&mut engine, 20, &fin);
    assert!(only(&engine).is_over);
    conn.up = conn.up.wrapping_add(1 << 24);
    let syn = conn.flags_up(SYN);
    give(&mut engine, 30, &syn);
    assert!(!only(&engine).is_over);
}
