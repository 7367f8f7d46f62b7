//! RFC 3168: explicit congestion notification, with the response of RFC 8511.

use redpoll_base::{Duration, Ecn};
use redpoll_tcp::{Config, Connection, EcnUse};
use redpoll_testkit::{Host, Record, SYN, SYN_ACK, ms, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

const ACK: Flags = Flags::ACK;
const ACK_ECE: Flags = Flags::ACK.with(Flags::ECE);
const SETUP_SYN: Flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
const SETUP_SYN_ACK: Flags = SYN_ACK.with(Flags::ECE);

fn plain() -> Config {
    Config {
        timestamps: false,
        mss: 462,
        min_rto: ms(1_000),
        ..Config::default()
    }
}

/// Establishes a connection with ECN and SACK, segments of 100 bytes, and 2000 bytes to send.
fn capable() -> Host {
    let mut t = Host::connect(&plain(), 4096, 4096);
    recv!(t, flags SETUP_SYN, seq 0, mss 462);
    t.wait(100);
    send!(t, flags SETUP_SYN_ACK, seq 0, ack 1, mss 100, sack_ok true);
    recv!(t, seq 1, ack 1);
    t.write(&[b'x'; 2000]);
    t
}

fn has(record: &Record, flags: Flags) -> bool {
    record.control().contains(flags)
}

/// RFC 3168 §6.1.1: both ends must offer ECN with the right flags.
#[test]
fn negotiation() {
    let mut t = capable();
    assert_eq!(t.sent()[0].codepoint(), Ecn::Ect0);
    // An answer that reflects both flags, or has neither, does not accept ECN.
    for answer in [SYN_ACK, SETUP_SYN_ACK.with(Flags::CWR)] {
        let mut t = Host::connect(&plain(), 4096, 4096);
        t.sent();
        send!(t, flags answer, seq 0, ack 1, mss 100);
        t.write(b"x");
        assert!(t.sent().iter().all(|r| r.codepoint() == Ecn::NotEct));
    }
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SETUP_SYN));
    let answer = recv!(t, flags SETUP_SYN_ACK, seq 0, ack 1, mss 462);
    assert_eq!(answer.codepoint(), Ecn::NotEct, "§6.1.1: no ECT on a SYN");
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SYN));
    let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert!(!has(&answer, Flags::ECE));
}

#[test]
fn ecn_can_be_switched_off() {
    let config = Config {
        ecn: EcnUse::Off,
        ..plain()
    };
    let mut t = Host::connect(&config, 64, 64);
    let syn = recv!(t, flags SYN, seq 0, mss 462);
    assert!(!has(&syn, Flags::ECE) && !has(&syn, Flags::CWR));
    let mut t = Host::accept(&config, 64, 64, Record::new().flags(SETUP_SYN));
    let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert!(!has(&answer, Flags::ECE));
}

#[test]
fn ecn_can_be_accepted_without_being_requested() {
    let config = Config {
        ecn: EcnUse::Agreed,
        ..plain()
    };
    let mut t = Host::connect(&config, 64, 64);
    let syn = recv!(t, flags SYN, seq 0, mss 462);
    assert!(!has(&syn, Flags::ECE) && !has(&syn, Flags::CWR));
    // An answer that accepts ECN without a request has no effect.
    send!(t, flags SETUP_SYN_ACK, seq 0, ack 1);
    t.write(b"x");
    assert!(t.sent().iter().all(|r| r.codepoint() == Ecn::NotEct));
    let mut t = Host::accept(&config, 64, 64, Record::new().flags(SETUP_SYN));
    recv!(t, flags SETUP_SYN_ACK, seq 0, ack 1, mss 462);
    send!(t, seq 1, ack 1);
    t.write(b"x");
    assert_eq!(t.sent()[0].codepoint(), Ecn::Ect0);
}

/// RFC 3168 §6.1.1.1: a SYN that was lost twice is retransmitted without the flags; a single loss
/// may be due to the radio link.
#[test]
fn a_lost_syn_is_repeated_without() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SETUP_SYN, seq 0, mss 462);
    recv!(t, at 1000, flags SETUP_SYN, seq 0, mss 462);
    let again = recv!(t, at 3000, flags SYN, seq 0, mss 462);
    assert!(!has(&again, Flags::ECE) && !has(&again, Flags::CWR));
    send!(t, flags SETUP_SYN_ACK, seq 0, ack 1);
    t.write(b"x");
    assert!(t.sent().iter().all(|r| r.codepoint() == Ecn::NotEct));
}

/// RFC 3168 §6.1.1: our answer was lost, and the peer retries without the flags. An end that
/// received such a SYN does not send ECT.
#[test]
fn a_syn_that_comes_again_without_the_flags_refuses() {
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SETUP_SYN));
    recv!(t, flags SETUP_SYN_ACK, seq 0, ack 1, mss 462);
    t.wait(500);
    send!(t, flags SYN, seq 0);
    let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert!(!has(&answer, Flags::ECE));
    // A third SYN that offers ECN again is too late.
    send!(t, flags SETUP_SYN, seq 0);
    let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert!(!has(&answer, Flags::ECE));
    send!(t, flags ACK, seq 1, ack 1, len 10, ecn Ecn::Ce);
    t.write(b"x");
    let sent = t.sent();
    assert_eq!(sent[0].codepoint(), Ecn::NotEct);
    assert!(!has(&sent[0], Flags::ECE));
}

/// RFC 3168 §6.1.2, with RFC 8511 §3: marks reduce cwnd once per window, less than a loss does. The
/// first new data have CWR.
#[test]
fn an_echo_reduces_once_a_window() {
    let mut t = capable();
    t.sent();
    send!(t, flags ACK, seq 1, ack 401);
    t.sent();
    let (cwnd, out) = (t.conn.info().cwnd, 600);
    t.wait(100);
    send!(t, flags ACK_ECE, seq 1, ack 501);
    assert_eq!(t.conn.info().ssthresh, (out - 100) / 5 * 4);
    assert_eq!(t.conn.info().cwnd, t.conn.info().ssthresh);
    assert!(t.conn.info().cwnd > cwnd / 2 && t.conn.info().cwnd < cwnd);
    t.sent();
    for ack in [601, 701, 801, 901] {
        send!(t, flags ACK_ECE, seq 1, ack ack);
    }
    assert_eq!(t.conn.stats().ecn_reductions, 1);
    let sent = t.sent();
    let told: Vec<bool> = sent.iter().map(|r| has(r, Flags::CWR)).collect();
    assert!(told[0] && !told[1..].contains(&true), "{told:?}");
    send!(t, flags ACK, seq 1, ack 1101);
    t.sent();
    send!(t, flags ACK_ECE, seq 1, ack 1201);
    assert_eq!(t.conn.stats().ecn_reductions, 2);
}

/// RFC 3168 §6.1.2: "The sending TCP SHOULD NOT increase the congestion window in response to the
/// receipt of an ECN-Echo ACK packet", even without a further reduction.
#[test]
fn the_window_does_not_grow_by_an_echo() {
    let mut t = capable();
    t.sent();
    let before = t.conn.info().cwnd;
    send!(t, flags ACK_ECE, seq 1, ack 101);
    let reduced = t.conn.info().cwnd;
    assert!(reduced < before);
    t.sent();
    for ack in [201, 301, 401] {
        send!(t, flags ACK_ECE, seq 1, ack ack);
        t.sent();
        assert_eq!(t.conn.info().cwnd, reduced);
    }
    while t.conn.info().cwnd == reduced {
        let una = t.conn.stats().bytes_acked + 1;
        send!(t, flags ACK, seq 1, ack una + 100);
        assert!(!t.sent().is_empty());
    }
}

/// RFC 3168 §6.1.2: losses and marks of one window are one sign of congestion.
#[test]
fn an_echo_in_recovery_reduces_no_further() {
    let mut t = capable();
    t.sent();
    t.wait(100);
    send!(t, flags ACK, seq 1, ack 1, sack [(101, 401)]);
    let ssthresh = t.conn.info().ssthresh;
    let sent = t.sent();
    assert_eq!(sent[0].seq_number(), 1);
    assert_eq!(sent[0].codepoint(), Ecn::NotEct, "§6.1.5: sent again");
    send!(t, flags ACK_ECE, seq 1, ack 401);
    assert_eq!(t.conn.info().ssthresh, ssthresh);
    assert_eq!(t.conn.stats().ecn_reductions, 0);
    // New data have CWR although a loss, not the mark, caused the reduction.
    let sent: Vec<Record> = sent.into_iter().chain(t.sent()).collect();
    let new = sent.iter().find(|r| r.seq_number() >= 401).unwrap();
    assert!(has(new, Flags::CWR));
}

/// RFC 3168 §6.1.3: every ACK echoes a mark on data until CWR arrives.
#[test]
fn marks_are_echoed_until_the_peer_knows() {
    let mut t = capable();
    t.sent();
    send!(t, flags ACK, seq 1, ack 1, len 10, ecn Ecn::Ce);
    send!(t, flags ACK, seq 11, ack 1, len 10, ecn Ecn::Ect0);
    assert!(t.sent().iter().all(|r| has(r, Flags::ECE)));
    send!(t, flags ACK, seq 21, ack 1, len 10, ecn Ecn::Ect0);
    send!(t, flags ACK, seq 31, ack 1, len 10, ecn Ecn::Ect0);
    assert!(t.sent().iter().all(|r| has(r, Flags::ECE)));
    send!(t, flags ACK.with(Flags::CWR), seq 41, ack 1, len 10, ecn Ecn::Ect0);
    send!(t, flags ACK, seq 51, ack 1, len 10, ecn Ecn::Ect0);
    assert!(t.sent().iter().all(|r| !has(r, Flags::ECE)));
}

/// RFC 3168 §6.1.5 and §6.1.4: a mark on a segment outside the window, or on a pure ACK, has no
/// effect.
#[test]
fn some_marks_mean_nothing() {
    let mut t = capable();
    t.sent();
    send!(t, flags ACK, seq 60_000, ack 1, len 10, ecn Ecn::Ce);
    send!(t, flags ACK, seq 1, ack 1, ecn Ecn::Ce);
    send!(t, flags ACK, seq 1, ack 1, len 10, ecn Ecn::Ect0);
    send!(t, flags ACK, seq 11, ack 1, len 10, ecn Ecn::Ect0);
    let sent = t.sent();
    assert!(!sent.is_empty() && sent.iter().all(|r| !has(r, Flags::ECE)));
}

/// RFC 3168 §6.1.4 to §6.1.6: ECT only on new data, not on ACKs, probes or retransmissions.
#[test]
fn only_new_data_is_capable() {
    let mut t = capable();
    t.sent();
    send!(t, flags ACK, seq 1, ack 1, len 10);
    send!(t, flags ACK, seq 11, ack 1, len 10);
    assert_eq!(t.sent()[0].codepoint(), Ecn::NotEct);
    send!(t, flags ACK, seq 21, ack 401, win 0);
    t.wait(3_000);
    let probe = t.sent().pop().unwrap();
    assert_eq!((probe.payload().len(), probe.codepoint()), (1, Ecn::NotEct));
    recv_nothing!(t);
}

#[test]
fn undoing_a_spurious_recovery_keeps_the_response_to_a_mark() {
    let mut t = capable();
    assert_eq!(t.sent().len(), 4);
    t.wait(100);
    send!(t, seq 1, ack 1, sack [(101, 401)]);
    recv!(t, seq 1, ack 1, len 100);
    t.wait(100);
    send!(t, seq 1, ack 401);
    assert!(!t.sent().is_empty());
    t.wait(100);
    send!(t, flags ACK_ECE, seq 1, ack 501);
    assert_eq!(t.conn.stats().ecn_reductions, 1);
    let window = (t.conn.info().cwnd, t.conn.info().ssthresh);
    send!(t, seq 1, ack 501, sack [(1, 101)]);
    assert_eq!(t.conn.stats().undone_reductions, 0);
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), window);
}

/// A recovery that left a cwnd of one byte is undone, but cwnd is not restored because of the mark.
/// A segment must still fit in cwnd, otherwise the connection would stall.
#[test]
#[cfg(all(feature = "gentle-recovery", feature = "rack-tlp"))]
fn after_an_undo_without_restoration_a_segment_fits_in_cwnd() {
    let mut t = capable();
    let mut acked = 1;
    while acked < 2_001 {
        t.wait(100);
        let out = t.sent();
        assert!(!out.is_empty());
        for record in out {
            acked = record.seq_number() + 100;
            send!(t, seq 1, ack acked);
        }
    }
    t.write(&[b'x'; 1_000]);
    assert_eq!(t.sent().len(), 10);
    t.wait(30);
    t.write(b"x");
    assert_eq!(t.sent().len(), 1);
    t.wait(100);
    send!(t, seq 1, ack 2_001, sack [(3_001, 3_002)]);
    recv!(t, seq 2_001, ack 1, len 100);
    recv_nothing!(t);
    assert_eq!(t.conn.info().cwnd, 1);
    t.wait(100);
    send!(t, flags ACK_ECE, seq 1, ack 3_002, sack [(2_001, 2_101)]);
    assert_eq!(t.conn.stats().undone_reductions, 1);
    t.write(&[b'x'; 100]);
    recv!(t, seq 3_002, ack 1, len 100);
}

/// A thawed connection echoes a mark until the peer reports its reduction, and echoes none that did
/// not arrive.
#[test]
fn a_freeze_keeps_the_echo_of_a_mark() {
    for mark in [Ecn::Ce, Ecn::Ect0] {
        let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SETUP_SYN));
        t.sent();
        send!(t, flags ACK, seq 1, ack 1);
        send!(t, flags ACK, seq 1, ack 1, len 10, ecn mark);
        t.wait(300);
        let echoes = |t: &mut Host| t.sent().iter().any(|it| has(it, Flags::ECE));
        assert_eq!(echoes(&mut t), mark == Ecn::Ce);
        t.read(10);
        let now = t.now();
        let mut frozen = vec![0; t.conn.frozen_len()];
        t.conn.freeze(now, &mut frozen).unwrap();
        let buffer = || vec![0; 64];
        let config = plain();
        let slept = Duration::ZERO;
        let thawed = Connection::thaw(now, &config, slept, &mut frozen, buffer(), buffer());
        t.conn = thawed.map_err(|(error, ..)| error).unwrap();
        send!(t, flags ACK, seq 11, ack 1, len 10, ecn Ecn::Ect0);
        t.wait(300);
        assert_eq!(echoes(&mut t), mark == Ecn::Ce, "{mark:?}");
        send!(t, flags ACK.with(Flags::CWR), seq 21, ack 1, len 10, ecn Ecn::Ect0);
        t.wait(300);
        assert!(!echoes(&mut t));
    }
}
