//! RFC 5961: resets, SYNs and data of a blind attacker.

use redpoll_tcp::{Config, State};
use redpoll_testkit::{FIN_ACK, Host, RST, SYN, SYN_ACK, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

fn established() -> Host {
    let config = Config {
        timestamps: false,
        mss: 462,
        ..Config::default()
    };
    let mut t = Host::established_with(&config, 462, 1000, 2000, 2000);
    send!(t, seq 1, ack 1, data b"ab");
    t.wait(200);
    t.sent();
    t
}

/// RFC 5961 §3.2, 1: a reset outside the window is silently dropped.
#[test]
fn a_reset_outside_the_window_is_dropped() {
    for seq in [0, 1, 2, 2001, 3000, 1 << 31] {
        let mut t = established();
        send!(t, flags RST, seq seq);
        recv_nothing!(t);
        assert_eq!(t.conn.state(), State::Established, "{seq}");
    }
}

/// RFC 5961 §3.2, 2: a reset exactly at RCV.NXT is accepted.
#[test]
fn a_reset_at_rcv_nxt_is_obeyed() {
    let mut t = established();
    send!(t, flags RST, seq 3);
    assert_eq!(t.conn.state(), State::Closed);
}

/// RFC 5961 §3.2, 3: a reset elsewhere in the window is challenged; the peer repeats it at RCV.NXT.
#[test]
fn a_reset_elsewhere_in_the_window_is_challenged() {
    for seq in [4, 1000, 2000] {
        let mut t = established();
        send!(t, flags RST, seq seq);
        recv!(t, seq 1, ack 3);
        assert_eq!(t.conn.state(), State::Established);
        assert_eq!(t.conn.stats().challenge_acks, 1);
        send!(t, flags RST, seq 3);
        assert_eq!(t.conn.state(), State::Closed);
    }
}

#[test]
fn data_of_a_reset_does_not_make_it_acceptable() {
    let mut t = established();
    send!(t, flags RST, seq 0, len 100);
    recv_nothing!(t);
    assert_eq!(t.conn.state(), State::Established);
}

/// RFC 5961 §4.2: a SYN is challenged, whatever its sequence number.
#[test]
fn a_syn_is_challenged() {
    for seq in [0, 3, 100, 5000, 1 << 31] {
        for flags in [SYN, SYN_ACK] {
            let mut t = established();
            send!(t, flags flags, seq seq, ack 1);
            recv!(t, seq 1, ack 3);
            assert_eq!(t.conn.state(), State::Established, "{seq}");
        }
    }
}

/// RFC 5961 §5.2: data with an implausible ACK are dropped.
#[test]
fn data_needs_a_plausible_ack() {
    // Acceptable: from SND.UNA - MAX.SND.WND up to SND.NXT. The peer's largest window was 4096.
    let una = 1u32;
    for (ack, taken) in [
        (una, true),
        (una.wrapping_sub(4096), true),
        (una.wrapping_sub(4097), false),
        (una + 1, false),
        (una + (1 << 30), false),
        (una.wrapping_sub(1 << 30), false),
    ] {
        let mut t = established();
        send!(t, seq 3, ack ack, data b"evil");
        assert_eq!(t.conn.recv_queue() == 6, taken, "{ack}");
        if !taken {
            recv!(t, seq 1, ack 3);
        }
    }
}

/// RFC 9293 §3.10.7.4: an ACK of data that were not sent has no effect.
#[test]
fn an_ack_of_unsent_data_moves_no_variable() {
    let mut t = established();
    t.write(b"data");
    t.sent();
    send!(t, seq 3, ack 6);
    recv!(t, seq 5, ack 3);
    assert_eq!(t.conn.unacked(), 4);
    send!(t, seq 3, ack 5);
    assert_eq!(t.conn.unacked(), 0);
}

/// RFC 5961 §7: at most ten challenge ACKs are sent in five seconds.
#[test]
fn challenges_are_limited() {
    let mut t = established();
    let mut answers = 0;
    for n in 0..100 {
        send!(t, flags SYN, seq n);
        answers += t.sent().len();
        t.wait(10);
    }
    assert_eq!(answers, 10);
    t.wait(5_000);
    send!(t, flags SYN, seq 9);
    recv!(t, seq 1, ack 3);
}

/// RFC 5961 §7: ACKs answer old text and old FINs at a limited rate, because our earlier
/// acknowledgments may have been lost.
#[test]
fn answers_to_old_text_are_limited() {
    for flags in [Flags::ACK, FIN_ACK] {
        let mut t = established();
        let mut answers = 0;
        for _ in 0..1_000 {
            send!(t, flags flags, seq 0, ack 1, data b"xa");
            answers += t.sent().len();
            t.wait(4);
        }
        // At most forty answers are sent in five seconds. Two periods of five seconds start here.
        assert!((20..=80).contains(&answers), "{answers}");
        t.wait(5_000);
        send!(t, seq 1, ack 1, data b"ab");
        recv!(t, seq 1, ack 3);
    }
}

/// RFC 5961 §7: resets for unexpected segments are limited as well.
#[test]
fn resets_are_limited() {
    let mut t = Host::connect(&Config::default(), 64, 64);
    t.sent();
    let mut answers = 0;
    for n in 0..1_000 {
        send!(t, seq 9, ack 1_000 + n);
        answers += t.sent().len();
    }
    assert_eq!(answers, 10);
    send!(t, flags SYN_ACK, seq 0, ack 1);
    assert_eq!(t.conn.state(), State::Established);
}
