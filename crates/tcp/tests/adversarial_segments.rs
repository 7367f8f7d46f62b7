//! Invalid segments of a peer or of a forger cause no panic, no stall, no negative window and no
//! wrong byte. Each section covers one kind.

use redpoll_base::Duration;
use redpoll_tcp::{Config, Event, State};
use redpoll_testkit::{FIN_ACK, Host, RST, Record, SYN, SYN_ACK, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

const MSS: u16 = 100;

fn plain() -> Config {
    Config {
        timestamps: false,
        sack: false,
        mss: 462,
        ..Config::default()
    }
}

fn established() -> Host {
    Host::established(&plain(), MSS, 4096)
}

fn with_sack() -> Host {
    let config = Config {
        sack: true,
        ..plain()
    };
    Host::established_by(&config, Record::new().mss(MSS).sack_ok(true), 50)
}

fn with_timestamps() -> Host {
    let config = Config {
        timestamps: true,
        ..plain()
    };
    Host::established_by(&config, Record::new().mss(112).ts((500, 1_000)), 0)
}

/// Acknowledges everything correctly from now on, and checks that all written data arrive. `acked`
/// is the last acknowledgment.
fn all_arrives(t: &mut Host, mut acked: u32, end: u32) {
    for _ in 0..2_000 {
        for record in t.sent() {
            let first = record.seq_number();
            if first <= acked {
                acked = acked.max(first + record.payload().len() as u32);
            }
        }
        send!(t, seq 1, ack acked, win 4096);
        if acked >= end {
            t.wait(1);
            assert_eq!(t.conn.unacked(), 0);
            return;
        }
        t.wait(100);
    }
    panic!("a stall at {acked}: {:?}", t.conn);
}

// ---- repeated and overlapping segments ----

#[test]
fn replayed_segments_are_delivered_once() {
    let mut t = established();
    let words: Vec<Record> = (0..20u8)
        .map(|n| Record::new().seq(1 + u32::from(n) * 3).ack(1).data(&[n; 3]))
        .collect();
    for (i, word) in words.iter().enumerate() {
        for old in words.iter().take(i) {
            t.send(old.clone());
        }
        t.send(word.clone());
        t.send(word.clone());
    }
    let expected: Vec<u8> = (0..20u8).flat_map(|n| [n; 3]).collect();
    assert_eq!(t.read(4096), expected);
}

/// Data received in order remain, whatever follows. Beyond a gap, either version may remain.
#[test]
fn other_bytes_do_not_replace_data_in_order() {
    let mut t = established();
    send!(t, seq 1, ack 1, data b"AB");
    send!(t, seq 1, ack 1, data b"!!CD");
    send!(t, seq 7, ack 1, data b"GH");
    send!(t, seq 1, ack 1, data b"!!!!EF??IJ");
    send!(t, seq 1, ack 1, data b"!!!!!!!!!!");
    let got = t.read(64);
    assert_eq!(
        (got.len(), &got[..6], &got[8..]),
        (10, &b"ABCDEF"[..], &b"IJ"[..])
    );
    assert!(&got[6..8] == b"GH" || &got[6..8] == b"??");
    send!(t, seq 1, ack 1, data b"!!!!!!!!!!new");
    assert_eq!(t.read(64), b"new");
}

// ---- false SACK blocks ----

#[test]
fn impossible_blocks_are_ignored() {
    for block in [
        (10_001, 10_101),
        (401, 101),
        (u32::MAX - 1_000, u32::MAX - 900),
        (0, 1 << 31),
        (201, 1 << 30),
        (1, 1),
        (301, 501),
    ] {
        let mut t = with_sack();
        t.write(&[1; 300]);
        assert_eq!(t.sent().len(), 3);
        let cwnd = t.conn.info().cwnd;
        for _ in 0..5 {
            send!(t, seq 1, ack 1, sack [block]);
        }
        assert!(t.conn.info().cwnd <= cwnd, "{block:?}");
        assert_eq!(t.conn.unacked(), 300, "{block:?}");
        all_arrives(&mut t, 1, 301);
    }
}

/// RFC 2018 §8: a peer may drop data that it reported.
#[test]
fn a_peer_that_reneges_gets_it_again() {
    let mut t = with_sack();
    t.write(&[1; 400]);
    t.sent();
    send!(t, seq 1, ack 1, sack [(101, 401)]);
    t.sent();
    // The peer holds only the first segment now.
    send!(t, seq 1, ack 101);
    all_arrives(&mut t, 101, 401);
}

/// The peer reports blocks that it never received. In two cases the block includes the first
/// segment.
#[test]
fn falsely_sacked_data_is_retransmitted() {
    for block in [(1, 101), (101, 201), (1, 401), (301, 401)] {
        let mut t = with_sack();
        t.write(&[1; 400]);
        t.sent();
        for _ in 0..4 {
            send!(t, seq 1, ack 1, sack [block]);
        }
        t.sent();
        all_arrives(&mut t, 1, 401);
    }
}

/// False reports of duplicates: the window grows at most to its previous size; no data are lost.
#[test]
fn false_reports_of_duplicates_do_not_enlarge_the_window() {
    let mut t = with_sack();
    t.write(&[1; 400]);
    t.sent();
    let before = t.conn.info().cwnd;
    for n in 0..50u32 {
        send!(t, seq 1, ack 1, sack [(1, 1), (101, 401)]);
        t.wait(400);
        t.sent();
        send!(t, seq 1, ack 1, sack [(n.wrapping_sub(500), 1), (101, 401)]);
        t.sent();
    }
    assert!(
        t.conn.info().cwnd <= before + u32::from(MSS),
        "{}",
        t.conn.info().cwnd
    );
    all_arrives(&mut t, 1, 401);
}

/// A false report undoes a timeout while a window that shrank to zero is closed: the retransmission
/// timer runs again.
#[test]
fn a_timeout_taken_back_behind_a_closed_window_leaves_a_timer() {
    let mut t = with_sack();
    t.write(&[1; 200]);
    t.sent();
    t.wait(350);
    t.sent();
    send!(t, seq 1, ack 1, win 0);
    t.wait(1_000);
    t.sent();
    for _ in 0..3 {
        send!(t, seq 1, ack 1, win 0, sack [(0u32.wrapping_sub(2_000), 1)]);
        t.sent();
        send!(t, seq 1, ack 1, win 4096, sack [(0u32.wrapping_sub(2_000), 1)]);
    }
    assert!(t.conn.poll_at().is_some(), "nothing would ever happen");
    all_arrives(&mut t, 1, 201);
}

// ---- unusual windows ----

#[test]
fn a_window_that_shrinks_to_zero_and_reopens_does_not_stall() {
    for shrunk in [0, 1, 7, 99, 100] {
        let mut t = established();
        t.write(&[1; 1_000]);
        t.sent();
        send!(t, seq 1, ack 101, win shrunk);
        t.wait(5_000);
        for record in t.sent() {
            assert!(record.payload().len() <= usize::from(MSS));
        }
        all_arrives(&mut t, 101, 1_001);
    }
}

/// An empty segment with a closed window, and a sequence number that the peer has not reached yet,
/// must not make all later windows of a silent peer look old.
#[test]
fn a_forged_window_of_the_future_does_not_last() {
    let mut t = established();
    t.write(&[1; 300]);
    t.sent();
    send!(t, seq 3_000, ack 1, win 0);
    send!(t, seq 1, ack 301, win 4096);
    t.write(&[2; 300]);
    recv!(t, seq 301, ack 1, len 100);
    all_arrives(&mut t, 401, 601);
}

/// A closed window in a final ACK with seq 900 must not make later windows look old.
#[test]
fn a_forged_window_in_the_final_ack_does_not_last() {
    let syn = Record::new().flags(SYN).mss(MSS);
    let mut t = Host::accept(&plain(), 1_000, 1_000, syn);
    t.sent();
    send!(t, seq 900, ack 1, win 0);
    t.write(&[1; 100]);
    send!(t, seq 1, ack 1, win 4096);
    all_arrives(&mut t, 1, 101);
}

#[test]
fn silly_windows_cause_few_segments() {
    let mut t = established();
    t.write(&[1; 2_000]);
    let mut acked = 1;
    for _ in 0..100 {
        t.sent();
        send!(t, seq 1, ack acked, win 1);
        t.wait(100);
        for record in t.sent() {
            acked = acked.max(record.seq_number() + record.payload().len() as u32);
        }
    }
    assert!(t.conn.stats().data_segments_sent < 100);
    all_arrives(&mut t, acked, 2_001);
}

// ---- false timestamps ----

/// With echoes of later times, of zero or of old times, the timeout stays within its limits.
#[test]
fn false_timestamp_echoes_keep_the_timeout_within_limits() {
    for echo in [0, 1, u32::MAX, 1 << 31, 999, 100_000] {
        let mut t = with_timestamps();
        for n in 0..20u32 {
            t.write(&[1; 10]);
            t.sent();
            send!(t, seq 1, ack 11 + n * 10, ts (600 + n, echo));
        }
        assert!(t.conn.info().rto >= Duration::from_millis(300), "{echo}");
        assert!(t.conn.info().rto <= Duration::from_secs(60), "{echo}");
        assert_eq!(t.conn.unacked(), 0);
    }
}

/// A segment that fails the checks does not change TS.Recent.
#[test]
fn a_forged_clock_needs_more_than_a_number() {
    let mut t = with_timestamps();
    let far = 500 + (1 << 30);
    send!(t, seq 9_000, ack 1, ts (far, 0));
    send!(t, seq 1, ack 9_000, ts (far, 0));
    send!(t, flags RST, seq 700, ts (far, 0));
    send!(t, flags SYN, seq 1, ts (far, 0));
    send!(t, flags Flags::PSH, seq 1, ts (far, 0), data b"x");
    t.sent();
    send!(t, seq 1, ack 1, ts (501, 0), data b"genuine");
    assert_eq!(t.read(64), b"genuine");
}

// ---- acknowledgments ----

/// RFC 5961 §5.2: acknowledgments of data that were never sent have no effect.
#[test]
fn acknowledgments_of_data_never_sent_have_no_effect() {
    let mut t = established();
    t.write(&[1; 100]);
    t.sent();
    let cwnd = t.conn.info().cwnd;
    for ack in [102, 5_000, 1 << 30, 1 << 31, u32::MAX - 5_000] {
        send!(t, seq 1, ack ack);
        assert_eq!((t.conn.unacked(), t.conn.info().cwnd), (100, cwnd), "{ack}");
    }
    all_arrives(&mut t, 1, 101);
}

/// RFC 3465 §2: a segment acknowledged in a hundred pieces enlarges the window by one segment and
/// not by a hundred.
#[test]
fn split_acknowledgments_open_the_window_no_faster() {
    let grown = |pieces: u32| {
        let mut t = established();
        t.write(&[1; 400]);
        t.sent();
        let before = t.conn.info().cwnd;
        for n in 1..=pieces {
            send!(t, seq 1, ack 1 + n * 100 / pieces);
        }
        t.conn.info().cwnd - before
    };
    assert_eq!(grown(1), 100);
    for pieces in [2, 10, 100] {
        assert!(grown(pieces) <= 100, "{pieces}");
    }
}

#[test]
fn duplicates_beyond_the_flight_send_nothing() {
    for mut t in [established(), with_sack()] {
        t.write(&[1; 3_000]);
        let flight = t.sent().len() as u32;
        let before = t.conn.stats().data_segments_sent;
        for _ in 0..100 {
            send!(t, seq 1, ack 1);
        }
        t.sent();
        let more = t.conn.stats().data_segments_sent - before;
        assert!(more <= flight, "{more} of {flight}");
    }
}

/// A peer acknowledges data before they arrive. The sender keeps within the peer's window, and the
/// peer misses data.
#[test]
fn an_optimistic_peer_gets_no_more_than_its_window() {
    let mut t = Host::established_with(&plain(), MSS, 500, 4096, 4096);
    let mut acked = 1;
    for _ in 0..200 {
        let room = t.conn.send_room().min(1_000);
        t.write(&vec![1; room]);
        let sent = t.sent();
        let bytes: usize = sent.iter().map(|record| record.payload().len()).sum();
        assert!(bytes <= 500);
        acked += bytes as u32;
        send!(t, seq 1, ack acked, win 500);
        t.wait(1);
    }
    assert_eq!(t.conn.state(), State::Established);
}

// ---- blind attacks ----

/// A segment of an attacker that does not know the sequence numbers is accepted with a probability
/// of window / 2^32. With data, the probability is the product of two such factors.
#[test]
fn blind_segments_over_the_whole_space_have_no_effect() {
    let mut t = established();
    t.write(&[1; 10]);
    t.sent();
    let step = 1 << 21;
    for n in 1..(u32::MAX / step) {
        let at = 1 + n * step;
        send!(t, flags RST, seq at);
        send!(t, flags SYN, seq at);
        send!(t, flags SYN_ACK, seq at, ack at);
        send!(t, flags FIN_ACK, seq at, ack at);
        send!(t, seq at, ack at, data b"evil");
        send!(t, seq 1, ack 1 + n.max(3) * step, data b"evil");
    }
    assert_eq!(t.conn.state(), State::Established);
    assert_eq!((t.conn.recv_queue(), t.conn.unacked()), (0, 10));
    assert!(
        t.sent().len() <= 2_100,
        "no more than one answer for text each"
    );
}

// ---- several FINs ----

/// Covers a second FIN elsewhere, text after the FIN, and a FIN below received data.
#[test]
fn only_the_first_fin_counts() {
    let mut t = established();
    send!(t, flags FIN_ACK, seq 11, ack 1);
    send!(t, flags FIN_ACK, seq 6, ack 1);
    send!(t, flags FIN_ACK, seq 500, ack 1);
    t.events();
    send!(t, seq 1, ack 1, data b"0123456789abcdef");
    assert_eq!(t.read(64).len() % 5, 0, "up to the FIN and no further");
    assert_eq!(t.conn.state(), State::CloseWait);
    assert_eq!(
        t.events()
            .iter()
            .filter(|e| **e == Event::PeerClosed)
            .count(),
        1
    );
    t.sent();
    send!(t, seq 12, ack 1, data b"more");
    send!(t, flags FIN_ACK, seq 16, ack 1);
    assert_eq!((t.conn.recv_queue(), t.conn.state()), (0, State::CloseWait));
}

#[test]
fn a_fin_must_leave_before_it_is_acknowledged() {
    let mut t = Host::established(&plain(), MSS, 0);
    t.write(b"held back");
    t.close();
    recv_nothing!(t);
    for ack in [1, 2, 10, 11, 12] {
        send!(t, seq 1, ack ack, win 0);
        assert_eq!(t.conn.state(), State::FinWait1, "{ack}");
    }
}

// ---- urgent data ----

#[test]
fn urgent_data_is_delivered_in_order() {
    let mut t = established();
    let urgent = Flags::URG.with(Flags::ACK);
    send!(t, flags urgent, seq 1, ack 1, data b"now");
    send!(t, flags urgent, seq 4, ack 1);
    assert_eq!(t.read(64), b"now");
    t.write(b"fine");
    recv!(t, seq 1, ack 4, data b"fine");
}

// ---- MSS ----

#[test]
fn an_absurd_mss_does_not_make_absurd_segments() {
    for mss in [0, 1, 2, 63] {
        let mut t = Host::established(&plain(), mss, 4096);
        t.write(&[1; 256]);
        for record in t.sent() {
            assert_eq!(record.payload().len(), 64, "{mss}");
        }
        send!(t, seq 1, ack 1, mss 1);
        assert_eq!(
            t.conn.info().eff_snd_mss,
            64,
            "and none behind the handshake"
        );
        all_arrives(&mut t, 257, 257);
    }
}
