//! `delaytime` over time.

use redpoll_assist::taim::Params;

use crate::packets::{Conn, engine, ms};

/// Returns `delaytime` in µs after two flows have sent `lens` bytes per second for `minutes`.
fn after(minutes: u64, lens: [usize; 2]) -> u64 {
    let mut engine = engine(Params::default(), 16, 64);
    let mut conns = [Conn::of(1), Conn::of(2)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    for second in 0..=minutes * 60 {
        let now = ms(second * 1_000);
        for (conn, len) in conns.iter_mut().zip(lens) {
            for packet in [conn.data(len), conn.ack()] {
                engine.input(now, &packet, 0);
            }
        }
        for at in 0..20 {
            engine.poll(ms(second * 1_000 + at * 50));
        }
    }
    engine.delay_ns() / 1_000
}

#[test]
fn the_delay_grows_while_one_flow_has_more_than_twice_the_throughput() {
    assert_eq!(after(1, [100, 10]), 51_000);
    assert_eq!(after(2, [100, 10]), 52_020);
    assert_eq!(after(1, [100, 60]), 47_500);
    assert_eq!(after(2, [100, 60]), 45_125);
}

#[test]
fn flows_idle_for_three_minutes_are_not_counted() {
    let mut engine = engine(Params::default(), 16, 64);
    let mut conns = [Conn::of(1), Conn::of(2), Conn::of(3)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    let mut delays = Vec::new();
    for second in 0..=8 * 60 {
        let now = ms(second * 1_000);
        // The third flow sends for two and a half minutes only.
        let senders = if second <= 150 { 3 } else { 2 };
        for conn in &mut conns[..senders] {
            engine.input(now, &conn.data(100), 0);
        }
        for at in 0..20 {
            engine.poll(ms(second * 1_000 + at * 50));
        }
        if second % 60 == 0 {
            delays.push(engine.delay_ns() / 1_000);
        }
    }
    let trend: Vec<_> = delays
        .windows(2)
        .map(|pair| pair[1].cmp(&pair[0]))
        .collect();
    use std::cmp::Ordering::{Greater, Less};
    // The flow's throughput falls by a quarter per minute, so it is below half in the fifth minute.
    assert_eq!(trend, [Less, Less, Less, Less, Greater, Less, Less, Less]);
}
