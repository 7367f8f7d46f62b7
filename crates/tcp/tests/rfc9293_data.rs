//! RFC 9293 §3.8: sending and receiving data, segment by segment.

use redpoll_tcp::{Config, Error, Event, IcmpKind, Keepalive, RecvError, State, Trouble};
use redpoll_testkit::{FIN_ACK, Host, ISS, RST, SYN, ms, recv, recv_nothing, send};

fn plain() -> Config {
    Config {
        timestamps: false,
        min_rto: ms(1_000),
        mss: 462,
        ..Config::default()
    }
}

/// Establishes a connection with full-sized segments of 100 bytes and a window of 4096.
fn established() -> Host {
    Host::established(&plain(), 100, 4096)
}

#[test]
fn data_goes_both_ways_across_the_sequence_wrap() {
    let mut t = established();
    // Our sequence numbers wrap after 100 bytes, the peer's after 10.
    t.write(&[b'x'; 250]);
    recv!(t, seq 1, ack 1, len 100);
    recv!(t, seq 101, ack 1, len 100);
    recv!(t, seq 201, ack 1, len 50);
    send!(t, seq 1, ack 251, data b"0123456789abcdef");
    assert_eq!(t.read(99), b"0123456789abcdef");
    assert_eq!(t.conn.unacked(), 0);
    recv!(t, at 200, seq 251, ack 17);
}

#[test]
fn old_and_new_in_one_segment() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"abc");
    send!(t, seq 2, ack 1, data b"bcde");
    recv!(t, seq 1, ack 6);
    assert_eq!(t.read(9), b"abcde");
}

/// RFC 9293 §3.10.7.4, first step: the sequence number is checked.
#[test]
fn an_unacceptable_segment_is_answered() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"abc");
    t.wait(200);
    recv!(t, seq 1, ack 4);
    send!(t, seq 1, ack 1, data b"abc");
    recv!(t, seq 1, ack 4);
    send!(t, seq 9000, ack 1, data b"abc");
    recv!(t, seq 1, ack 4);
    assert_eq!(t.read(9), b"abc");
}

/// Two ends must not answer each other's answers forever.
#[test]
fn answers_to_empty_segments_are_limited() {
    let mut t = established();
    let mut answers = 0;
    for _ in 0..100 {
        send!(t, seq 9000, ack 1);
        answers += t.sent().len();
    }
    assert_eq!(answers, 10);
}

// RFC 9293 §3.8.6.3: the time of acknowledgments.

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"ping");
    recv_nothing!(t, until 199);
    recv!(t, at 200, seq 1, ack 5);
    recv_nothing!(t, until 5000);
}

#[test]
fn every_second_segment_is_acknowledged_at_once() {
    let mut t = established();
    for n in 0..6 {
        send!(t, seq 1 + 100 * n, ack 1, len 100);
        t.read(100);
        if n % 2 == 1 {
            recv!(t, seq 1, ack 101 + 100 * n);
        }
        recv_nothing!(t);
    }
    recv_nothing!(t, until 5000);
}

/// MUST-58 and MUST-59: one ACK acknowledges segments that arrive together.
#[test]
fn a_burst_has_one_acknowledgment() {
    let mut t = established();
    for n in 0..4 {
        send!(t, seq 1 + 100 * n, ack 1, len 100);
    }
    recv!(t, seq 1, ack 401);
    recv_nothing!(t, until 5000);
}

#[test]
fn data_carries_the_acknowledgment() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"ping");
    t.write(b"pong");
    recv!(t, seq 1, ack 5, data b"pong");
    send!(t, seq 5, ack 5);
    recv_nothing!(t, until 5000);
}

/// RFC 5681 §4.2: segments beyond a gap, or that fill it, are acknowledged at once.
#[test]
fn a_gap_is_reported_at_once_and_so_is_its_end() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"ab");
    send!(t, seq 5, ack 1, data b"ef");
    recv!(t, seq 1, ack 3); // the delayed acknowledgment of the first segment
    recv!(t, seq 1, ack 3); // for the second
    send!(t, seq 7, ack 1, data b"gh");
    recv!(t, seq 1, ack 3);
    recv_nothing!(t);
    send!(t, seq 3, ack 1, data b"cd");
    recv!(t, seq 1, ack 9);
    recv_nothing!(t, until 5000);
    assert_eq!(t.read(99), b"abcdefgh");
}

#[test]
fn filling_a_part_of_a_gap_is_acknowledged_at_once() {
    let mut t = established();
    send!(t, seq 9, ack 1, data b"ij");
    recv!(t, seq 1, ack 1);
    send!(t, seq 1, ack 1, data b"abcd");
    recv!(t, seq 1, ack 5);
}

// RFC 9293 §3.7.4 and appendix A.3: Nagle.

#[test]
fn one_small_segment_at_a_time() {
    let mut t = established();
    t.write(b"a");
    recv!(t, seq 1, ack 1, data b"a");
    t.write(b"b");
    t.write(b"c");
    recv_nothing!(t);
    send!(t, seq 1, ack 2);
    recv!(t, seq 2, ack 1, data b"bc");
}

#[test]
fn nagle_can_be_switched_off() {
    let mut t = Host::established(
        &Config {
            nagle: false,
            ..plain()
        },
        100,
        4096,
    );
    for n in 0..3 {
        t.write(b"a");
        recv!(t, seq 1 + n, ack 1, data b"a");
    }
}

#[test]
fn the_tail_of_a_transfer_does_not_wait_for_a_delayed_ack() {
    let mut t = established();
    t.write(&[b'x'; 130]);
    recv!(t, seq 1, ack 1, len 100);
    recv!(t, seq 101, ack 1, len 30);
}

#[test]
fn a_fin_lets_the_last_bytes_go() {
    let mut t = established();
    t.write(b"a");
    recv!(t, seq 1, ack 1, data b"a");
    t.write(b"b");
    recv_nothing!(t);
    t.close();
    recv!(t, flags FIN_ACK, seq 2, ack 1, data b"b");
}

#[test]
fn small_writes_fill_a_segment() {
    let mut t = established();
    t.write(b"a");
    recv!(t, seq 1, ack 1, data b"a");
    for _ in 0..11 {
        t.write(b"0123456789");
    }
    recv!(t, seq 2, ack 1, len 100);
    recv_nothing!(t);
}

/// RFC 9293 §3.9.1.2: the last segment of the available data has PSH.
#[test]
fn the_last_segment_is_pushed() {
    let mut t = established();
    t.write(&[b'x'; 200]);
    let push = |t: &mut Host, seq| {
        recv!(t, seq seq, ack 1, len 100)
            .control()
            .contains(redpoll_wire::tcp::Flags::PSH)
    };
    assert!(!push(&mut t, 1));
    assert!(push(&mut t, 101));
}

// RFC 9293 §3.8.6: the peer's window.

#[test]
fn the_window_is_not_exceeded() {
    let mut t = Host::established(&plain(), 100, 250);
    t.write(&[b'x'; 400]);
    recv!(t, seq 1, ack 1, len 100);
    recv!(t, seq 101, ack 1, len 100);
    // 50 more bytes would fit, but that is a silly window.
    recv_nothing!(t);
    send!(t, seq 1, ack 101, win 250);
    recv!(t, seq 201, ack 1, len 100);
    recv_nothing!(t);
}

/// RFC 9293 §3.8.6.2.1, rule 3: half the largest window seen justifies a segment.
#[test]
fn half_a_small_window_is_used() {
    let mut t = Host::established(&plain(), 100, 60);
    t.write(&[b'x'; 400]);
    recv!(t, seq 1, ack 1, len 60);
    send!(t, seq 1, ack 61, win 29);
    recv_nothing!(t);
    send!(t, seq 1, ack 61, win 30);
    recv!(t, seq 61, ack 1, len 30);
}

/// RFC 9293 §3.8.6.2.1, rule 4: after a timeout a silly window is used nevertheless.
#[test]
fn a_silly_window_is_used_after_the_override_timeout() {
    let mut t = Host::established(&plain(), 100, 250);
    t.write(&[b'x'; 300]);
    t.sent();
    send!(t, seq 1, ack 201, win 20);
    recv_nothing!(t);
    recv!(t, at 500, seq 201, ack 1, len 20);
}

#[test]
fn a_closed_window_is_probed_for_ever_if_the_peer_answers() {
    let mut t = Host::established(&plain(), 100, 200);
    t.write(&[b'x'; 300]);
    t.sent();
    t.wait(10);
    send!(t, seq 1, ack 201, win 0);
    // SHLD-29 and SHLD-30: the probe interval doubles, up to a minute.
    let mut at = 10;
    for interval in [
        1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60,
    ] {
        at += interval * 1000;
        recv!(t, at at, seq 201, ack 1, len 1);
        recv_nothing!(t);
        send!(t, seq 1, ack 201, win 0);
    }
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!(t.conn.stats().retransmissions.total(), 0);
    // The window opens: a full segment follows, starting with the octet of the probe.
    send!(t, seq 1, ack 201, win 200);
    recv!(t, seq 201, ack 1, len 100);
}

#[test]
fn an_acknowledged_window_probe_advances_snd_nxt() {
    let mut t = Host::established(&plain(), 100, 200);
    t.write(&[b'x'; 300]);
    t.sent();
    send!(t, seq 1, ack 201, win 0);
    recv!(t, at 1000, seq 201, ack 1, len 1);
    send!(t, seq 1, ack 202, win 500);
    recv!(t, seq 202, ack 1, len 99);
}

/// RFC 9293 §3.8.6.2.1: "The override timeout should be in the range 0.1 - 1.0 seconds", however
/// long the window was closed before and however late its next probe would be.
#[test]
fn a_small_window_after_a_closed_one_is_used_within_a_second() {
    for probes in 0..8u64 {
        let mut t = established();
        t.write(&[b'x'; 400]);
        t.sent();
        send!(t, seq 1, ack 401, win 0);
        t.write(&[b'y'; 300]);
        // Probes after 1, 3, 7, 15 ... seconds.
        t.run_until(1_000 * ((1 << probes.min(6)) - 1) + 60_000 * probes.saturating_sub(6));
        for _ in t.sent() {
            send!(t, seq 1, ack 401, win 0);
        }
        let opened = t.ms();
        send!(t, seq 1, ack 401, win 30);
        recv_nothing!(t, until opened + 300);
        // A window that grows does not delay the override.
        send!(t, seq 1, ack 401, win 40);
        recv_nothing!(t, until opened + 499);
        recv!(t, at opened + 500, seq 401, ack 1, len 40);
        send!(t, seq 1, ack 441, win 30);
        recv!(t, at opened + 1_000, seq 441, ack 1, len 30);
        // A window for a full-sized segment is used at once.
        send!(t, seq 1, ack 471, win 100);
        recv!(t, seq 471, ack 1, len 100);
    }
}

/// SHLD-29: a window that closes after it was small is probed after the retransmission timeout and
/// not after the override timeout.
#[test]
fn a_small_window_that_closes_is_probed_after_the_retransmission_timeout() {
    let mut t = established();
    t.write(&[b'x'; 400]);
    t.sent();
    send!(t, seq 1, ack 401, win 30);
    t.write(&[b'y'; 300]);
    recv_nothing!(t, until 400);
    send!(t, seq 1, ack 401, win 0);
    recv_nothing!(t, until 1_399);
    recv!(t, at 1_400, seq 401, ack 1, len 1);
    // The opposite change: the probe was refused, and the closed window opens a little.
    send!(t, seq 1, ack 401, win 30);
    recv_nothing!(t, until 1_899);
    recv!(t, at 1_900, seq 401, ack 1, len 30);
    // These data are ordinary data, covered by the retransmission timer.
    recv!(t, at 2_900, seq 401, ack 1, len 30);
}

/// The update that opens the window is lost: the answer to the next probe reports the window.
#[test]
fn a_lost_window_update_is_no_deadlock() {
    let mut t = Host::established(&plain(), 100, 100);
    t.write(&[b'x'; 200]);
    recv!(t, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 101, win 0);
    recv!(t, at 1000, seq 101, ack 1, len 1);
    send!(t, seq 1, ack 102, win 100);
    recv!(t, seq 102, ack 1, len 99);
}

#[test]
fn a_peer_that_does_not_answer_probes_is_given_up() {
    let mut t = Host::established(
        &Config {
            max_retries: 3,
            ..plain()
        },
        100,
        200,
    );
    t.write(&[b'x'; 300]);
    t.sent();
    send!(t, seq 1, ack 201, win 0);
    for at in [1000, 3000, 7000] {
        recv!(t, at at, seq 201, ack 1, len 1);
    }
    recv!(t, at 15_000, flags RST, seq 201);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
}

#[test]
fn a_fin_is_probed_with_too() {
    let mut t = Host::established(&plain(), 100, 100);
    t.write(&[b'x'; 100]);
    t.close();
    recv!(t, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 101, win 0);
    recv!(t, at 1000, flags FIN_ACK, seq 101, ack 1);
    send!(t, seq 1, ack 101, win 0);
    recv!(t, at 3000, flags FIN_ACK, seq 101, ack 1);
    send!(t, seq 1, ack 102, win 0);
    assert_eq!(t.conn.state(), State::FinWait2);
}

/// RFC 9293 §3.8.6, MUST-34 and MUST-35: a window that shrinks to zero over outstanding data is
/// probed, and does not end the connection.
#[test]
fn a_window_that_shrinks_to_zero_is_probed() {
    let mut t = Host::established(
        &Config {
            max_retries: 2,
            ..plain()
        },
        100,
        400,
    );
    t.write(&[b'x'; 300]);
    t.sent();
    send!(t, seq 1, ack 1, win 0);
    let mut at = 1000;
    for interval in [2, 4, 8, 16, 32] {
        recv_nothing!(t, until at);
        at += interval * 1000;
        recv!(t, at at, seq 1, ack 1, len 1);
        send!(t, seq 1, ack 1, win 0);
    }
    assert_eq!(t.conn.state(), State::Established);
    send!(t, seq 1, ack 1, win 400);
    recv!(t, seq 1, ack 1, len 100);
}

/// SHLD-15: no new data while the usable window is negative.
#[test]
fn a_window_that_shrinks_stops_new_data() {
    let mut t = Host::established(&plain(), 100, 300);
    t.write(&[b'x'; 400]);
    t.sent();
    send!(t, seq 1, ack 101, win 100);
    recv_nothing!(t);
    send!(t, seq 1, ack 301, win 100);
    recv!(t, seq 301, ack 1, len 100);
}

// RFC 9293 §3.8.6.2.2: our window.

#[test]
fn our_window_shrinks_with_unread_data_and_opens_in_steps() {
    let mut t = Host::established_with(&plain(), 462, 4096, 64, 400);
    send!(t, seq 1, ack 1, len 200);
    send!(t, seq 201, ack 1, len 200);
    recv!(t, seq 1, ack 401, win 0);
    assert_eq!(t.read(100).len(), 100);
    recv_nothing!(t, until 10_000);
    assert_eq!(t.read(100).len(), 100);
    recv!(t, seq 1, ack 401, win 200);
    assert_eq!(t.read(200).len(), 200);
    recv!(t, seq 1, ack 401, win 400);
}

#[test]
fn a_probe_of_our_closed_window_is_answered_and_not_taken() {
    let mut t = Host::established_with(&plain(), 462, 4096, 64, 100);
    send!(t, seq 1, ack 1, len 100);
    recv!(t, at 200, seq 1, ack 101, win 0);
    send!(t, seq 101, ack 1, len 1);
    recv!(t, seq 1, ack 101, win 0);
    assert_eq!(t.conn.recv_queue(), 100);
}

/// Appendix A.2: both windows are closed and both ends probe. The acknowledgments and windows of
/// the probes must be processed.
#[test]
fn simultaneous_window_probes_do_not_block_each_other() {
    let mut t = Host::established_with(&plain(), 462, 100, 400, 100);
    t.write(&[b'x'; 200]);
    recv!(t, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 101, win 0, len 100);
    recv!(t, at 200, seq 101, ack 101, win 0);
    recv!(t, at 1000, seq 101, ack 101, win 0, len 1);
    // The probe of the peer reports that its window has opened.
    send!(t, seq 101, ack 101, win 100, len 1);
    recv!(t, seq 101, ack 101, len 100);
}

/// RFC 5681 §4.2 and RFC 9293 §3.8.6.3: every second segment of a window of four gets an ACK.
#[test]
fn reading_late_does_not_double_the_acknowledgments() {
    let mut t = Host::established_with(&plain(), 462, 4096, 64, 1848);
    let mut acks = 0;
    for n in 0..100 {
        send!(t, seq 1 + 462 * n, ack 1, len 462);
        t.read(462);
        acks += t.sent().len();
        t.wait(5);
    }
    assert_eq!(acks, 50);
}

// RFC 9293 §3.8.4: keep-alive.

#[test]
fn keepalive_is_off_by_default() {
    let mut t = established();
    recv_nothing!(t, until 100_000_000);
    assert_eq!(t.conn.poll_at(), None);
}

#[test]
fn an_idle_connection_is_probed_and_an_answer_suffices() {
    let keepalive = Keepalive {
        idle: ms(10_000),
        interval: ms(1_000),
        count: 3,
    };
    let mut t = Host::established(
        &Config {
            keepalive: Some(keepalive),
            ..plain()
        },
        100,
        4096,
    );
    recv!(t, at 10_000, seq 0, ack 1);
    send!(t, seq 1, ack 1);
    recv!(t, at 20_000, seq 0, ack 1);
    recv!(t, at 21_000, seq 0, ack 1);
    send!(t, seq 1, ack 1);
    for at in [31_000, 32_000, 33_000] {
        recv!(t, at at, seq 0, ack 1);
    }
    recv!(t, at 34_000, flags RST, seq 1);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
}

#[test]
fn our_side_answers_keepalive_probes() {
    let mut t = established();
    send!(t, seq 0, ack 1);
    recv!(t, seq 1, ack 1);
    send!(t, seq 0, ack 1, len 1);
    recv!(t, seq 1, ack 1);
    assert_eq!(t.conn.recv_queue(), 0);
}

// RFC 9293 §3.8.3: the end of retries.

#[test]
fn silence_is_reported_and_then_ends_the_connection() {
    let mut t = Host::established(
        &Config {
            max_retries: 4,
            ..plain()
        },
        100,
        4096,
    );
    t.write(b"anybody?");
    recv!(t, seq 1, ack 1, data b"anybody?");
    for at in [1000, 3000] {
        recv!(t, at at, seq 1, ack 1, data b"anybody?");
    }
    assert_eq!(t.events(), []);
    recv!(t, at 7000, seq 1, ack 1, data b"anybody?");
    assert_eq!(t.events(), [Event::Trouble(Trouble::NoAnswer)]);
    recv!(t, at 15_000, seq 1, ack 1, data b"anybody?");
    recv!(t, at 31_000, flags RST, seq 9);
    assert_eq!(t.events(), [Event::Failed(Error::TimedOut)]);
}

/// SHLD-11: by default R2 is more than 100 seconds.
#[test]
fn by_default_data_is_tried_for_more_than_100_seconds() {
    let mut t = established();
    t.write(b"anybody?");
    t.run_until(300_000);
    assert_eq!(t.conn.state(), State::Established);
    t.run_until(1_000_000);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
}

/// RFC 9293 §3.10.8: USER TIMEOUT.
#[test]
fn the_user_timeout_counts_from_the_last_progress() {
    let config = Config {
        user_timeout: Some(ms(5_000)),
        ..plain()
    };
    let mut t = Host::established(&config, 100, 4096);
    t.run_until(20_000);
    t.write(b"ab");
    t.run_until(24_000);
    send!(t, seq 1, ack 2);
    t.run_until(28_999);
    assert_eq!(t.conn.state(), State::Established);
    t.run_until(29_000);
    assert_eq!(t.conn.error(), Some(Error::UserTimeout));
}

// RFC 9293 §3.9.2.2: ICMP.

#[test]
fn a_hard_error_ends_an_attempt_to_connect() {
    for (kind, error) in [
        (IcmpKind::PortUnreachable, Error::Refused),
        (IcmpKind::Prohibited, Error::Unreachable),
    ] {
        let mut t = Host::connect(&plain(), 64, 64);
        recv!(t, flags SYN, seq 0, mss 462);
        let now = t.now();
        t.conn.on_icmp(now, kind, ISS + 5);
        assert_eq!(t.conn.state(), State::SynSent, "not our sequence number");
        t.conn.on_icmp(now, kind, ISS);
        assert_eq!(t.conn.error(), Some(error));
    }
}

#[test]
fn soft_errors_and_errors_on_a_live_connection_are_reported_only() {
    let mut t = Host::connect(&plain(), 64, 64);
    t.sent();
    let now = t.now();
    t.conn.on_icmp(now, IcmpKind::NoRoute, ISS);
    assert_eq!(t.events(), [Event::Trouble(Trouble::Icmp)]);
    assert_eq!(t.conn.state(), State::SynSent);

    let mut t = established();
    t.write(b"x");
    t.sent();
    let now = t.now();
    t.conn.on_icmp(now, IcmpKind::PortUnreachable, ISS + 1);
    assert_eq!(t.events(), [Event::Trouble(Trouble::Icmp)]);
    assert_eq!(t.conn.state(), State::Established);
}

// The application's calls.

#[test]
fn a_full_buffer_takes_no_data_and_reports_room() {
    let mut t = Host::established_with(&plain(), 100, 4096, 150, 64);
    let now = t.now();
    assert_eq!(t.conn.send(now, &[b'x'; 200]), Ok(150));
    assert_eq!(t.conn.send(now, b"x"), Ok(0));
    t.sent();
    assert_eq!(t.events(), []);
    send!(t, seq 1, ack 101);
    assert_eq!(t.events(), [Event::Writable]);
    assert_eq!(t.conn.send_room(), 100);
}

#[test]
fn reading_nothing_blocks() {
    let mut t = established();
    let now = t.now();
    assert_eq!(t.conn.recv(now, &mut [0; 1]), Err(RecvError::WouldBlock));
    assert_eq!(t.conn.recv(now, &mut []), Ok(0));
    send!(t, seq 1, ack 1, data b"ab");
    send!(t, seq 3, ack 1, data b"cd");
    assert_eq!(t.events(), [Event::Readable]);
    assert_eq!(t.read(3), b"abc");
    assert_eq!(t.read(3), b"d");
    assert_eq!(t.conn.recv(now, &mut [0; 1]), Err(RecvError::WouldBlock));
}

/// RFC 9293 §3.10.7.4: "special allowance should be made to accept valid ACKs". Our acknowledgment
/// of the peer's probe was lost, so the peer's next segment starts one sequence number below
/// RCV.NXT. Our window is closed.
#[test]
fn an_acknowledgment_is_heard_from_one_below_a_closed_window() {
    let mut t = Host::established_with(&plain(), 100, 200, 4096, 100);
    t.write(&[b'x'; 300]);
    t.sent();
    send!(t, seq 1, ack 201, win 0, len 100);
    t.sent();
    send!(t, seq 100, ack 201, win 500);
    recv!(t, seq 201, ack 101, len 100);
}
