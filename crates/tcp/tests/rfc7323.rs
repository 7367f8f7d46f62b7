//! RFC 7323: timestamps and PAWS, segment by segment.

use redpoll_base::{Addr, Instant};
use redpoll_tcp::{Config, Endpoint, IsnGenerator, State};
use redpoll_testkit::{Host, RST, Record, SYN, SYN_ACK, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

fn with_timestamps() -> Config {
    Config {
        mss: 462,
        ..Config::default()
    }
}

/// Establishes a connection with timestamps; the peer's clock is at 500, ours at 1000 plus the time
/// since the start.
fn established() -> Host {
    let mut t = Host::connect(&with_timestamps(), 4096, 4096);
    recv!(t, flags SYN, seq 0, mss 462, ts (1_000, 0));
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 112, ts (500, 1_000));
    recv!(t, seq 1, ack 1, ts (1_000, 500));
    t
}

/// RFC 7323 §3.2: the option is offered, answered, and then present in every segment.
#[test]
fn negotiated_when_both_sides_offer() {
    let mut t = Host::accept(
        &with_timestamps(),
        64,
        64,
        Record::new().flags(SYN).ts((7, 0)),
    );
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462, ts (1_000, 7));
    send!(t, seq 1, ack 1, ts (8, 1_000));
    t.write(b"x");
    recv!(t, seq 1, ack 1, data b"x", ts (1_000, 8));
}

#[test]
fn not_used_when_the_peer_does_not_offer() {
    let mut t = Host::accept(&with_timestamps(), 64, 64, Record::new().flags(SYN));
    let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert_eq!(answer.timestamps(), None);
    // An option on a later segment is ignored.
    send!(t, seq 1, ack 1, ts (1, 1));
    send!(t, seq 1, ack 1, ts (0, 0), data b"x");
    assert_eq!(t.conn.recv_queue(), 1);
}

#[test]
fn not_used_when_switched_off() {
    let config = Config {
        timestamps: false,
        ..with_timestamps()
    };
    let mut t = Host::accept(&config, 64, 64, Record::new().flags(SYN).ts((7, 0)));
    assert_eq!(
        recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462).timestamps(),
        None
    );
}

/// RFC 7323 §3.2: a segment without the option is dropped silently, except a reset.
#[test]
fn a_segment_without_the_option_is_dropped() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"x");
    recv_nothing!(t, until 1000);
    assert_eq!(t.conn.recv_queue(), 0);
    send!(t, flags RST, seq 1);
    assert_eq!(t.conn.state(), State::Closed);
}

/// RFC 7323 §4.3, the first example: delayed ACKs echo the oldest segment.
#[test]
fn a_delayed_ack_echoes_the_first_segment_that_it_covers() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"a", ts (601, 1_000));
    t.wait(10);
    send!(t, seq 2, ack 1, data b"b", ts (611, 1_000));
    recv!(t, seq 1, ack 3, ts (1_010, 601));
}

/// RFC 7323 §4.3, the second example: echoes while the sequence space has a hole.
#[test]
fn around_a_hole_the_segment_that_advanced_the_edge_is_echoed() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"a", ts (601, 1_000));
    recv!(t, at 200, seq 1, ack 2, ts (1_200, 601));
    send!(t, seq 3, ack 1, data b"c", ts (603, 1_000));
    recv!(t, seq 1, ack 2, ts (1_200, 601));
    send!(t, seq 2, ack 1, data b"b", ts (602, 1_000));
    recv!(t, seq 1, ack 4, ts (1_200, 602));
    send!(t, seq 5, ack 1, data b"e", ts (605, 1_000));
    recv!(t, seq 1, ack 4, ts (1_200, 602));
    send!(t, seq 4, ack 1, data b"d", ts (604, 1_000));
    recv!(t, seq 1, ack 6, ts (1_200, 604));
}

/// RFC 7323 §5.3, R1: an old duplicate is answered and dropped, although its sequence number is
/// acceptable.
#[test]
fn paws_rejects_an_old_duplicate() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"a", ts (600, 1_000));
    t.wait(200);
    t.sent();
    send!(t, seq 2, ack 1, data b"old", ts (599, 1_000));
    recv!(t, seq 1, ack 2);
    assert_eq!(t.conn.recv_queue(), 1);
    assert_eq!(t.conn.stats().bad_segments, 1);
    send!(t, seq 2, ack 1, data b"new", ts (600, 1_000));
    assert_eq!(t.conn.recv_queue(), 4);
}

/// RFC 7323 §5.2: the timestamp clock wraps.
#[test]
fn the_peers_clock_may_wrap() {
    let mut t = Host::accept(
        &with_timestamps(),
        64,
        64,
        Record::new().flags(SYN).ts((u32::MAX - 1, 0)),
    );
    t.sent();
    send!(t, seq 1, ack 1, ts (u32::MAX, 1_000));
    send!(t, seq 1, ack 1, ts (3, 1_000), data b"x");
    assert_eq!(t.conn.recv_queue(), 1);
    send!(t, seq 2, ack 1, ts (u32::MAX, 1_000), data b"x");
    assert_eq!(t.conn.recv_queue(), 1);
}

/// RFC 7323 §5.5: after 24 days TS.Recent is invalid.
#[test]
fn after_weeks_of_silence_any_timestamp_is_believed() {
    for (days, taken) in [(23, 0), (25, 1)] {
        let mut t = established();
        t.run_until(days * 24 * 3600 * 1000);
        send!(t, seq 1, ack 1, ts (499, 1_000), data b"x");
        assert_eq!(t.conn.recv_queue(), taken);
    }
}

/// RFC 7323 §5.2: a reset is not subject to PAWS, and carries our timestamps.
#[test]
fn resets_pass_and_carry_timestamps() {
    let mut t = established();
    t.abort();
    recv!(t, flags RST, seq 1, ts (1_000, 0));
    send!(t, seq 1, ack 1, ts (777, 1_000), data b"late");
    recv!(t, flags RST, seq 1, ts (0, 777));

    let mut t = established();
    send!(t, flags RST, seq 1, ts (1, 1));
    assert_eq!(t.conn.state(), State::Closed);
}

/// RFC 7323 §4.1, the RTTM rule: only an ACK that advances SND.UNA is measured.
#[test]
fn only_new_acknowledgments_measure() {
    let mut t = established();
    let samples = t.conn.stats().rtt_samples;
    t.run_until(60_000);
    send!(t, seq 1, ack 1, ts (60_500, 1_000), data b"x");
    assert_eq!(t.conn.stats().rtt_samples, samples);
    t.write(b"y");
    t.drain();
    t.wait(30);
    send!(t, seq 2, ack 2, ts (60_530, 61_000));
    assert_eq!(t.conn.stats().rtt_samples, samples + 1);
    assert_eq!(t.conn.stats().last_rtt.as_millis(), 30);
}

/// Appendix A: the option takes twelve bytes of each segment (RFC 6691).
#[test]
fn the_option_comes_off_the_segment() {
    let mut t = established();
    assert_eq!(t.conn.info().eff_snd_mss, 100);
    t.write(&[b'x'; 250]);
    recv!(t, seq 1, ack 1, len 100);
}

#[test]
fn probes_carry_timestamps() {
    let mut t = established();
    send!(t, seq 0, ack 1, ts (700, 1_000));
    recv!(t, seq 1, ack 1, ts (1_000, 500));
    assert_eq!(Flags::ACK.0, 16);
}

/// RFC 7323 §7.1: the clock starts at a random offset, which is subtracted from echoes.
#[test]
fn the_clock_has_an_offset_of_its_own() {
    // The clock wraps soon.
    let mut t = Host::connect(&with_timestamps(), 4096, 4096);
    t.conn.set_timestamp_offset(u32::MAX - 1_050);
    let first = u32::MAX - 50;
    recv!(t, flags SYN, seq 0, mss 462, ts (first, 0));
    t.wait(40);
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 112, ts (500, first));
    recv!(t, seq 1, ack 1, ts (first + 40, 500));
    assert_eq!(t.conn.stats().last_rtt.as_millis(), 40);
    t.write(&[1; 300]);
    t.sent();
    t.wait(60);
    send!(t, seq 1, ack 101, ts (560, first + 40));
    assert_eq!(t.conn.stats().last_rtt.as_millis(), 60);
    // The reset of an abort shows the same clock.
    t.sent();
    t.abort();
    recv!(t, flags RST, seq 301, ts (49, 0));
}

/// RFC 7323 §7.1: the offset differs between connections and is constant for the same ends. It
/// reveals nothing about the initial sequence number.
#[test]
fn the_offset_depends_on_the_ends_and_the_secret() {
    let end = |n: u8, port| Endpoint::new(Addr([n; 16]), port);
    let (a, b) = (end(1, 80), end(2, 49_152));
    let generator = IsnGenerator::new([7; 16]);
    let offset = generator.timestamp_offset(&a, &b);
    assert_eq!(offset, generator.timestamp_offset(&a, &b));
    assert_ne!(offset, generator.timestamp_offset(&a, &end(2, 49_153)));
    assert_ne!(offset, generator.timestamp_offset(&end(3, 80), &b));
    let other = IsnGenerator::new([8; 16]);
    assert_ne!(offset, other.timestamp_offset(&a, &b));
    let isn = generator.isn(Instant::ZERO, &a, &b);
    assert_ne!(offset, isn.0);
}

/// Eifel detection (RFC 3522) works with a timestamp offset.
#[test]
fn a_spurious_timeout_is_undone_in_spite_of_the_offset() {
    let mut t = Host::connect(&with_timestamps(), 4096, 4096);
    t.conn.set_timestamp_offset(0x8000_0000);
    t.sent();
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 112, ts (500, 0x8000_03e8));
    t.sent();
    t.write(&[1; 200]);
    let first = t.sent()[0].timestamps().unwrap().0;
    t.wait(1_500);
    assert!(!t.sent().is_empty(), "sent again");
    send!(t, seq 1, ack 101, ts (600, first));
    assert_eq!(t.conn.stats().undone_reductions, 1);
}
