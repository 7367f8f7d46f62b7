//! RFC 6298: the retransmission timer, segment by segment.

use redpoll_tcp::{Config, State};
use redpoll_testkit::{Host, Record, SYN, SYN_ACK, ms, recv, recv_nothing, send};

fn plain() -> Config {
    Config {
        timestamps: false,
        min_rto: ms(1_000),
        mss: 462,
        ..Config::default()
    }
}

/// Returns a configuration in which the minimum of 1 ms does not hide the estimate.
fn low_floor() -> Config {
    Config {
        min_rto: ms(1),
        ..plain()
    }
}

/// Sends one byte, which is acknowledged after `rtt` milliseconds.
fn round_trip(t: &mut Host, seq: u32, rtt: u64) {
    t.write(b"x");
    recv!(t, seq seq, ack 1, data b"x");
    t.wait(rtt);
    send!(t, seq 1, ack seq + 1);
}

/// RFC 6298 §2.1 and §2.4.
#[test]
fn one_second_before_and_at_least_after_the_first_measurement() {
    let mut t = Host::connect(&plain(), 64, 64);
    assert_eq!(t.conn.info().rto, ms(1_000));
    recv!(t, flags SYN, seq 0, mss 462);
    t.wait(50);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    assert_eq!(t.conn.stats().rtt_samples, 1);
    assert_eq!(t.conn.info().rto, ms(1_000));
}

/// RFC 6298 §2.2 and §2.3, by the formulas.
#[test]
fn the_estimate_follows_the_formulas() {
    let mut t = Host::connect(&low_floor(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    t.wait(80);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    t.drain();
    t.sent();
    assert_eq!(t.conn.info().rto, ms(80 + 4 * 40));
    // The first data take longer than the handshake, so §2.2 applies again.
    round_trip(&mut t, 1, 120);
    assert_eq!(t.conn.info().rto, ms(120 + 4 * 60));
    round_trip(&mut t, 2, 160);
    // RTTVAR = 3/4·60 + 1/4·|120 - 160| = 55; SRTT = 7/8·120 + 1/8·160 = 125.
    assert_eq!(t.conn.info().rto, ms(125 + 4 * 55));
}

/// First data that take no longer than the handshake are an ordinary measurement (RFC 6298 §2.3).
#[test]
fn first_data_that_is_faster_is_one_measurement_of_many() {
    let mut t = Host::connect(&low_floor(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    t.wait(80);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    t.drain();
    t.sent();
    round_trip(&mut t, 1, 40);
    // RTTVAR = 3/4·40 + 1/4·|80 - 40| = 40; SRTT = 7/8·80 + 1/8·40 = 75.
    assert_eq!(t.conn.info().rto, ms(75 + 4 * 40));
}

/// RFC 6298 §4: the variance term is at least the clock granularity.
#[test]
fn a_steady_path_keeps_a_margin_of_g() {
    let mut t = Host::connect(&low_floor(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    t.wait(100);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    t.drain();
    t.sent();
    for n in 0..100 {
        round_trip(&mut t, 1 + n, 100);
    }
    assert!(
        t.conn.info().rto > ms(100) && t.conn.info().rto <= ms(102),
        "{:?}",
        t.conn.info().rto
    );
}

/// RFC 6298 §5.1: the first segment starts the timer, and later ones do not restart it; §5.2: it
/// stops when all data are acknowledged.
#[test]
fn the_timer_runs_from_the_first_segment_until_all_is_acknowledged() {
    let mut t = Host::established(&plain(), 100, 4096);
    t.write(&[b'x'; 100]);
    t.drain();
    t.wait(500);
    t.write(&[b'x'; 100]);
    t.drain();
    t.sent();
    recv!(t, at 1000, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 201);
    assert_eq!(t.conn.poll_at(), None);
}

/// RFC 6298 §5.3: an acknowledgment of new data restarts the timer.
#[test]
fn new_data_acknowledged_restarts_the_timer() {
    let mut t = Host::established(&plain(), 100, 4096);
    t.write(&[b'x'; 200]);
    t.drain();
    t.sent();
    t.run_until(900);
    send!(t, seq 1, ack 101);
    let at = t.conn.poll_at().unwrap().at;
    assert_eq!(at.since(t.now()), t.conn.info().rto);
    let due = 900 + t.conn.info().rto.as_millis();
    recv_nothing!(t, until due - 1);
    recv!(t, at due, seq 101, ack 1, len 100);
}

#[test]
fn an_old_acknowledgment_does_not_restart_the_timer() {
    let mut t = Host::established(&plain(), 100, 4096);
    t.write(&[b'x'; 100]);
    t.drain();
    t.sent();
    t.run_until(900);
    send!(t, seq 1, ack 1);
    recv!(t, at 1000, seq 1, ack 1, len 100);
}

/// RFC 6298 §5.4 to §5.6: the earliest segment is retransmitted, and the timeout doubles up to the
/// limit of §2.5.
#[test]
fn the_timer_backs_off() {
    let mut t = Host::established(&plain(), 100, 4096);
    t.write(&[b'x'; 300]);
    t.drain();
    t.sent();
    let mut at = 0;
    for interval in [1, 2, 4, 8, 16, 32, 60, 60] {
        at += interval * 1000;
        recv!(t, at at, seq 1, ack 1, len 100);
        recv_nothing!(t);
    }
}

/// RFC 6298 §3, Karn: the acknowledgment of a retransmission is not measured; §5: the backoff
/// persists until a round trip is measured.
#[test]
fn the_backoff_stays_until_a_segment_is_measured() {
    let mut t = Host::established(&plain(), 100, 4096);
    t.write(b"a");
    recv!(t, seq 1, ack 1, data b"a");
    recv!(t, at 1000, seq 1, ack 1, data b"a");
    let samples = t.conn.stats().rtt_samples;
    send!(t, seq 1, ack 2);
    assert_eq!(t.conn.stats().rtt_samples, samples);
    assert_eq!(t.conn.info().rto, ms(2_000));
    round_trip(&mut t, 2, 30);
    assert_eq!(t.conn.stats().rtt_samples, samples + 1);
    assert_eq!(t.conn.info().rto, ms(1_000));
}

/// RFC 6298 §3 and §5: with timestamps, the ACK of a retransmission gives an RTT sample and ends
/// the backoff, although another retransmission is outstanding. The ACK of an earlier transmission
/// gives no sample.
#[test]
fn an_ack_of_a_retransmission_ends_the_backoff() {
    for (echo, rto) in [(2_040, 2_000), (3_040, 1_000)] {
        let config = Config {
            timestamps: true,
            sack: false,
            ..plain()
        };
        let request = Record::new().flags(SYN).mss(100).ts((500, 0));
        let mut t = Host::accept(&config, 4096, 64, request);
        t.sent();
        send!(t, seq 1, ack 1, win 4_000, ts (500, 1_000));
        t.write(&[b'x'; 352]);
        assert_eq!(t.sent().len(), 4);
        t.run_until(1_000);
        recv!(t, seq 1, ack 1, len 88, ts (2_000, 500));
        t.wait(40);
        send!(t, seq 1, ack 89, win 4_000, ts (501, 2_000));
        assert_eq!(t.conn.info().rto, ms(1_000));
        recv!(t, seq 89, ack 1, len 88, ts (2_040, 501));
        recv!(t, seq 177, ack 1, len 88, ts (2_040, 501));
        // The two segments are lost.
        t.run_until(2_040);
        recv!(t, seq 89, ack 1, len 88, ts (3_040, 501));
        assert_eq!(t.conn.info().rto, ms(2_000));
        t.wait(40);
        send!(t, seq 1, ack 177, win 4_000, ts (502, echo));
        assert_eq!(t.conn.info().rto, ms(rto), "echo {echo}");
    }
}

/// RFC 6298 §5.7: after a lost SYN the timeout is 3 s when data transfer starts.
#[test]
fn three_seconds_after_a_lost_syn() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462);
    recv!(t, at 1000, flags SYN, seq 0, mss 462);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    recv!(t, seq 1, ack 1);
    t.write(b"x");
    recv!(t, seq 1, ack 1, data b"x");
    recv!(t, at 4000, seq 1, ack 1, data b"x");
}

#[test]
fn three_seconds_after_a_lost_syn_ack() {
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SYN));
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    recv!(t, at 1000, flags SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, seq 1, ack 1);
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.conn.info().rto, ms(3_000));
}

/// RFC 6298 §3: one sample per round trip, from the first segment of a flight.
#[test]
fn one_measurement_per_round_trip() {
    let mut t = Host::established(&plain(), 100, 4096);
    let before = t.conn.stats().rtt_samples;
    t.write(&[b'x'; 400]);
    t.drain();
    t.wait(100);
    for n in 1..=4 {
        send!(t, seq 1, ack 1 + 100 * n);
        t.wait(7);
    }
    assert_eq!(t.conn.stats().rtt_samples, before + 1);
    assert_eq!(t.conn.stats().last_rtt, ms(100));
}

#[test]
fn timestamps_measure_retransmissions() {
    let config = Config {
        timestamps: true,
        ..plain()
    };
    let mut t = Host::connect(&config, 64, 64);
    recv!(t, flags SYN, seq 0, mss 462, ts (1_000, 0));
    send!(t, flags SYN_ACK, seq 0, ack 1, ts (500, 1_000));
    recv!(t, seq 1, ack 1, ts (1_000, 500));
    t.write(b"x");
    recv!(t, seq 1, ack 1, data b"x", ts (1_000, 500));
    recv!(t, at 1000, seq 1, ack 1, data b"x", ts (2_000, 500));
    t.wait(40);
    send!(t, seq 1, ack 2, ts (1_500, 2_000));
    assert_eq!(t.conn.stats().last_rtt, ms(40));
    assert_eq!(t.conn.info().rto, ms(1_000));
}
