//! No state lasts forever: for an orphaned connection, whatever the peer does, each state ends
//! within a limit, and not earlier.

use redpoll_base::Duration;
use redpoll_tcp::{Config, Error, Incoming, IsnGenerator, Recycled, Segment, State};
use redpoll_testkit::{
    FIN_ACK, Host, RST, Record, SYN, SYN_ACK, from_peer, inward, ms, recv, send,
};

/// Default limit of an orphan, in milliseconds.
const ORPHAN_MS: u64 = 180_000;

fn plain() -> Config {
    Config {
        timestamps: false,
        sack: false,
        mss: 462,
        ..Config::default()
    }
}

fn orphan(t: &mut Host) {
    let (now, limit) = (t.now(), Config::default().orphan);
    assert_eq!(limit, ms(ORPHAN_MS));
    t.conn.orphan(now, limit);
}

/// Calls `word`, which makes the peer send, each second until the connection is closed or
/// `limit_ms` has passed. Returns the duration in milliseconds.
fn last_under(t: &mut Host, limit_ms: u64, mut word: impl FnMut(&mut Host)) -> u64 {
    let start = t.ms();
    while !t.conn.is_closed() && t.ms() - start <= limit_ms {
        t.wait(1_000);
        word(t);
        t.read(4096);
    }
    t.ms() - start
}

/// Checks FIN-WAIT-1 with a window that stays closed, while every probe is answered.
#[test]
fn a_peer_that_accepts_no_data_holds_no_orphan() {
    let mut t = Host::established(&plain(), 462, 0);
    t.write(&[1; 900]);
    t.close();
    let deaf = |t: &mut Host| send!(t, seq 1, ack 1, win 0);
    // RFC 9293 §3.8.6.1, MUST-37: a closed window ends no connection that the application holds.
    last_under(&mut t, 3_600_000, deaf);
    assert_eq!(t.conn.state(), State::FinWait1);
    orphan(&mut t);
    t.sent();
    assert_eq!(last_under(&mut t, 300_000, deaf), ORPHAN_MS);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
    let last = t.sent().pop().unwrap();
    assert!(last.control().contains(RST), "the peer is told");
}

/// Checks LAST-ACK with a closed window: the limit is the same, but no reset is sent.
#[test]
fn last_ack_behind_a_closed_window_ends() {
    let mut t = Host::established(&plain(), 462, 0);
    t.write(&[1; 10]);
    send!(t, flags FIN_ACK, seq 1, ack 1, win 0);
    t.close();
    orphan(&mut t);
    let deaf = |t: &mut Host| send!(t, seq 2, ack 1, win 0);
    assert_eq!(t.conn.state(), State::LastAck);
    assert_eq!(last_under(&mut t, 300_000, deaf), ORPHAN_MS);
}

/// Checks CLOSING, after a simultaneous close: the limit is the same.
#[test]
fn closing_behind_a_peer_that_never_acknowledges_the_fin_ends() {
    let mut t = Host::established(&plain(), 462, 4096);
    t.close();
    t.sent();
    send!(t, flags FIN_ACK, seq 1, ack 1);
    orphan(&mut t);
    assert_eq!(t.conn.state(), State::Closing);
    let deaf = |t: &mut Host| send!(t, seq 2, ack 1);
    let lasted = last_under(&mut t, 300_000, deaf);
    assert!(lasted <= ORPHAN_MS, "{lasted}");
    assert!(t.conn.is_closed());
}

/// A peer that accepts a byte per minute makes progress, but has limited time.
#[test]
fn an_orphan_with_slow_progress_has_a_time_limit() {
    let mut t = Host::established(&plain(), 462, 1);
    t.write(&[1; 900]);
    t.close();
    orphan(&mut t);
    let mut acked = 1;
    let mut seconds = 0;
    let lasted = last_under(&mut t, 300_000, |t| {
        seconds += 1;
        acked += u32::from(seconds % 60 == 0 && t.conn.unacked() > 800);
        send!(t, seq 1, ack acked, win 1);
    });
    assert_eq!(lasted, ORPHAN_MS);
    assert!(acked > 1);
}

#[test]
fn a_peer_that_keeps_sending_does_not_hold_an_orphan_in_fin_wait_2() {
    let talk = |t: &mut Host| send!(t, seq 1, ack 2);
    // Without orphaning, the connection receives without a limit.
    let mut t = Host::established(&plain(), 462, 4096);
    t.close();
    t.sent();
    talk(&mut t);
    assert_eq!(t.conn.state(), State::FinWait2);
    last_under(&mut t, 3_600_000, talk);
    assert_eq!(t.conn.state(), State::FinWait2);
    // After orphaning, the connection's time is limited.
    orphan(&mut t);
    assert_eq!(last_under(&mut t, 300_000, talk), ORPHAN_MS);
}

#[test]
fn fin_wait_2_does_not_outlast_the_orphan() {
    let mut t = Host::established(&plain(), 462, 0);
    t.write(b"x");
    t.close();
    orphan(&mut t);
    for _ in 0..150 {
        t.wait(1_000);
        send!(t, seq 1, ack 1, win 0);
    }
    send!(t, seq 1, ack 1, win 100);
    t.sent();
    send!(t, seq 1, ack 3, win 100);
    assert_eq!(t.conn.state(), State::FinWait2);
    t.run_until(ORPHAN_MS - 1);
    assert!(!t.conn.is_closed());
    t.run_until(ORPHAN_MS);
    assert!(t.conn.is_closed());
}

#[test]
fn an_orphan_ends_normally_and_keeps_its_time_wait() {
    let mut t = Host::established(&plain(), 462, 4096);
    t.write(b"the last words");
    t.close();
    orphan(&mut t);
    recv!(t, flags FIN_ACK, seq 1, ack 1, data b"the last words");
    send!(t, seq 1, ack 16);
    send!(t, flags FIN_ACK, seq 1, ack 16);
    assert_eq!(t.conn.state(), State::TimeWait);
    orphan(&mut t);
    t.run_until(59_999);
    assert_eq!(t.conn.state(), State::TimeWait);
    t.run_until(60_000);
    assert_eq!((t.conn.state(), t.conn.error()), (State::Closed, None));
}

/// TIME-WAIT: repeated FINs extend it only a limited number of times.
#[test]
fn a_fin_without_end_does_not_hold_time_wait() {
    let mut t = Host::established(&plain(), 462, 4096);
    t.close();
    t.sent();
    send!(t, flags FIN_ACK, seq 1, ack 2);
    assert_eq!(t.conn.state(), State::TimeWait);
    let again = |t: &mut Host| send!(t, flags FIN_ACK, seq 1, ack 2);
    let lasted = last_under(&mut t, 3_600_000, again);
    assert_eq!(lasted, 12_000 + 60_000, "twelve times, as often as we try");
}

/// SYN-SENT and SYN-RECEIVED without an answer: seven retransmissions, three minutes.
#[test]
fn half_open_connections_end() {
    let syn = Record::new().flags(SYN).mss(462);
    for mut t in [
        Host::connect(&plain(), 1024, 1024),
        Host::accept(&plain(), 1024, 1024, syn),
    ] {
        t.run_until(179_000);
        assert!(!t.conn.is_closed());
        t.run_until(256_000);
        assert_eq!(t.conn.error(), Some(Error::TimedOut));
    }
}

/// SYN-RECEIVED and a peer that repeats its SYN and never acknowledges ours.
#[test]
fn a_syn_without_end_does_not_hold_syn_received() {
    let syn = || Record::new().flags(SYN).mss(462);
    let mut t = Host::accept(&plain(), 1024, 1024, syn());
    t.drain();
    let lasted = last_under(&mut t, 3_600_000, |t| t.send(syn()));
    assert!(lasted <= 256_000, "{lasted}");
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
}

/// SYN-SENT and a peer that answers with unacceptable segments.
#[test]
fn nonsense_does_not_hold_syn_sent() {
    let mut t = Host::connect(&plain(), 1024, 1024);
    t.drain();
    let lasted = last_under(&mut t, 3_600_000, |t| {
        send!(t, flags SYN_ACK, seq 0, ack 7);
        send!(t, seq 0, ack 1);
        send!(t, flags FIN_ACK, seq 5, ack 1);
    });
    assert!(lasted <= 256_000, "{lasted}");
}

/// A close before the handshake is complete, followed by silence.
#[test]
fn an_orphan_in_syn_received_ends() {
    let syn = || Record::new().flags(SYN).mss(462);
    let mut t = Host::accept(&plain(), 1024, 1024, syn());
    t.drain();
    t.close();
    orphan(&mut t);
    let lasted = last_under(&mut t, 300_000, |t| t.send(syn()));
    assert_eq!(lasted, ORPHAN_MS);
}

#[test]
fn a_user_timeout_ends_a_closed_window() {
    let config = Config {
        user_timeout: Some(Duration::from_secs(600)),
        ..plain()
    };
    let mut t = Host::established(&config, 462, 0);
    t.write(b"data");
    let deaf = |t: &mut Host| send!(t, seq 1, ack 1, win 0);
    assert_eq!(last_under(&mut t, 3_600_000, deaf), 600_000);
    assert_eq!(t.conn.error(), Some(Error::UserTimeout));
}

/// An orphan in FIN-WAIT-2 yields its memory to another connection once its peer had seven seconds
/// for its FIN. A connection that the application holds does not.
#[test]
fn an_orphan_in_fin_wait_2_yields_after_seven_seconds() {
    for is_orphan in [false, true] {
        let mut t = Host::established(&plain(), 462, 4_096);
        t.close();
        t.sent();
        send!(t, seq 1, ack 2);
        assert_eq!(t.conn.state(), State::FinWait2);
        if is_orphan {
            orphan(&mut t);
        }
        t.wait(6_900);
        assert_eq!(t.conn.spare_turn(), None);
        t.wait(300);
        assert_eq!(t.conn.spare_turn().is_some(), is_orphan);
    }
}

/// If a connection had to leave TIME-WAIT for another one, the node still answers the FIN that the
/// peer repeats. RFC 9293 §3.10.7.1: a reset is not answered. §3.10.7.4: neither is a SYN.
#[test]
fn a_repeated_fin_is_answered_after_time_wait_and_other_controls_are_not() {
    let mut t = Host::established(&plain(), 462, 4_096);
    t.close();
    t.sent();
    send!(t, flags FIN_ACK, seq 1, ack 2);
    assert_eq!(t.conn.state(), State::TimeWait);
    let isn = IsnGenerator::new([7; 16]);
    let mut recycled = Recycled::default();
    recycled.remember(&isn, &t.conn);
    for (flags, is_answered) in [
        (FIN_ACK, true),
        (FIN_ACK.with(RST), false),
        (FIN_ACK.with(SYN), false),
    ] {
        let bytes = from_peer(&Record::new().flags(flags).seq(1).ack(2));
        let meta = inward();
        let seg = Segment::parse(&meta, &bytes).unwrap();
        let incoming = Incoming {
            now: t.now(),
            local: 0,
            meta: &meta,
            seg: &seg,
        };
        let answer = recycled.answer(&isn, &incoming);
        assert_eq!(answer.is_some(), is_answered, "{flags:?}");
    }
}
