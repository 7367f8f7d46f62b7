//! RFC 5482: the user timeout option.

#![cfg(feature = "more-options")]

use redpoll_base::Duration;
use redpoll_tcp::{Config, Error, Keepalive, UserTimeoutOption};
use redpoll_testkit::{Host, Record, SYN, recv, send};

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Advertises a timeout of 300 s, and adopts at most an hour from the peer.
fn with_option() -> Config {
    Config {
        timestamps: false,
        sack: false,
        mss: 462,
        user_timeout_option: Some(UserTimeoutOption {
            advertise: s(300),
            most: s(3_600),
        }),
        ..Config::default()
    }
}

fn established(config: &Config, theirs: Option<Duration>) -> Host {
    let answer = Record::new().mss(462);
    let answer = theirs.into_iter().fold(answer, Record::uto);
    Host::established_by(config, answer, 0)
}

/// RFC 5482 §3: by default, a node neither sends nor adopts the user timeout option.
#[test]
fn by_default_the_user_timeout_option_is_neither_sent_nor_used() {
    let config = Config::default();
    let mut t = Host::connect(&config, 1024, 1024);
    assert_eq!(t.sent()[0].user_timeout(), None);
    let mut t = established(&config, Some(s(200)));
    assert_eq!(t.conn.user_timeout(), None);
    t.write(b"x");
    assert_eq!(t.sent()[0].user_timeout(), None);
}

/// RFC 5482 §3: the SYN and the first segment after it have the option.
#[test]
fn it_is_on_the_syn_and_on_the_first_segment_after() {
    let mut t = Host::connect(&with_option(), 1024, 1024);
    recv!(t, flags SYN, seq 0, mss 462, uto s(300));
    send!(t, flags redpoll_testkit::SYN_ACK, seq 0, ack 1, mss 462);
    recv!(t, seq 1, ack 1, uto s(300));
    t.write(b"x");
    assert_eq!(t.sent()[0].user_timeout(), None);

    let syn = Record::new().flags(SYN).mss(462);
    let mut t = Host::accept(&with_option(), 1024, 1024, syn);
    assert_eq!(t.sent()[0].user_timeout(), Some(s(300)));
    send!(t, seq 1, ack 1);
    t.write(&[1; 462]);
    let sent = t.sent();
    assert_eq!(sent[0].user_timeout(), Some(s(300)));
    assert_eq!(
        sent[0].payload().len(),
        458,
        "no larger than a segment may be"
    );
    assert_eq!(sent[1].payload().len(), 4);
    send!(t, seq 1, ack 463);
    t.write(&[1; 462]);
    assert_eq!(t.sent()[0].user_timeout(), None);
}

/// RFC 5482 §3.1: `USER_TIMEOUT = min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT))`.
#[test]
fn the_longer_user_timeout_applies_within_the_limits() {
    for (theirs, adopted) in [(1, 300), (299, 300), (1_000, 1_000), (9_999, 3_600)] {
        let t = established(&with_option(), Some(s(theirs)));
        assert_eq!(t.conn.user_timeout(), Some(s(adopted)), "{theirs}");
    }
    assert_eq!(
        established(&with_option(), None).conn.user_timeout(),
        Some(s(300))
    );
    let mut eager = with_option();
    eager.user_timeout_option = Some(UserTimeoutOption {
        advertise: s(1),
        most: s(1),
    });
    let t = established(&eager, Some(s(2)));
    assert_eq!(t.conn.user_timeout(), Some(s(100)), "L_LIMIT");
}

/// RFC 5482 §3.1: "the lower limit (L_LIMIT) MUST be larger than the current retransmission timeout".
/// The peer shortens its timeout while ours has backed off to the configured maximum, below 100 s.
#[test]
fn an_adopted_timeout_is_above_the_retransmission_timeout() {
    for max_rto in [60, 80, 99] {
        let config = Config {
            max_rto: s(max_rto),
            user_timeout_option: Some(UserTimeoutOption {
                advertise: s(1),
                most: s(3_600),
            }),
            ..with_option()
        };
        let mut t = established(&config, Some(s(3_600)));
        t.write(b"x");
        t.wait(1_000_000);
        t.sent();
        let rto = t.conn.info().rto;
        assert!(rto >= s(max_rto - 1) && rto <= s(max_rto), "{rto:?}");
        send!(t, seq 1, ack 1, uto s(1));
        assert_eq!(t.conn.user_timeout(), Some(s(100)), "{max_rto}");
        t.run_until(1_099_000);
        assert!(!t.conn.is_closed(), "{max_rto}");
    }
}

/// The option takes effect on any segment that passes the checks.
#[test]
fn a_later_option_changes_the_timeout() {
    let mut t = established(&with_option(), None);
    send!(t, seq 1, ack 9_999, uto s(900));
    send!(t, seq 9_999, ack 1, uto s(900));
    assert_eq!(t.conn.user_timeout(), Some(s(300)), "they do not pass");
    send!(t, seq 1, ack 1, uto s(900));
    assert_eq!(t.conn.user_timeout(), Some(s(900)));
    // The timeout of 900 s counts, although twelve retries would have ended earlier.
    t.write(b"x");
    t.run_until(899_999);
    assert!(!t.conn.is_closed());
    t.run_until(900_000);
    assert_eq!(t.conn.error(), Some(Error::UserTimeout));
}

/// RFC 5482 §3.1: a peer does not change the timeout that the application has set.
#[test]
fn the_timeout_of_the_application_stays() {
    let mut fixed = with_option();
    fixed.user_timeout = Some(s(120));
    let mut t = established(&fixed, Some(s(1_000)));
    send!(t, seq 1, ack 1, uto s(1_000));
    assert_eq!(t.conn.user_timeout(), Some(s(120)));

    let mut t = established(&with_option(), None);
    t.conn.set_user_timeout(t.now(), Some(s(50)));
    send!(t, seq 1, ack 1, uto s(1_000));
    assert_eq!(t.conn.user_timeout(), Some(s(50)));
    // RFC 5482 §3: the next segment advertises the new timeout to the peer.
    t.write(b"x");
    recv!(t, seq 1, ack 1, data b"x", uto s(50));
    t.run_until(50_000);
    assert_eq!(t.conn.error(), Some(Error::UserTimeout));
}

/// RFC 5482 §3.3: the option does not apply to the handshake, which has the usual limits.
#[test]
fn the_option_does_not_limit_the_handshake() {
    let mut t = Host::connect(&with_option(), 1024, 1024);
    t.run_until(256_000);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
}

#[test]
fn sack_blocks_go_first() {
    let config = Config {
        sack: true,
        ..with_option()
    };
    let mut t = Host::established_by(&config, Record::new().mss(462).sack_ok(true), 0);
    t.conn.set_user_timeout(t.now(), Some(s(50)));
    send!(t, seq 11, ack 1, data b"behind a gap");
    let ack = t.sent().remove(0);
    assert_eq!(ack.user_timeout(), None);
    send!(t, seq 1, ack 1, data b"0123456789");
    assert_eq!(t.sent()[0].user_timeout(), Some(s(50)));
}

/// RFC 5482 §4.2: keep-alive does not end a connection before the user timeout.
#[test]
fn keepalives_begin_after_the_user_timeout() {
    let config = Config {
        keepalive: Some(Keepalive {
            idle: s(60),
            ..Keepalive::default()
        }),
        ..with_option()
    };
    let mut t = established(&config, Some(s(1_000)));
    send!(t, seq 1, ack 1);
    t.run_until(1_000_000);
    t.recv_nothing();
    t.run_until(1_001_000);
    recv!(t, seq 0, ack 1);
}

/// RFC 5482 §4.2: keep-alive also waits for a timeout of hours that is rounded up, here to the next
/// ten seconds.
#[test]
fn keepalives_begin_after_a_rounded_user_timeout() {
    let config = Config {
        keepalive: Some(Keepalive::default()),
        user_timeout_option: Some(UserTimeoutOption {
            advertise: s(300),
            most: s(12 * 3_600),
        }),
        ..with_option()
    };
    let mut t = established(&config, Some(s(8_195)));
    assert_eq!(t.conn.user_timeout(), Some(s(8_200)));
    send!(t, seq 1, ack 1);
    t.run_until(8_200_000);
    t.recv_nothing();
    t.run_until(8_210_000);
    recv!(t, seq 0, ack 1);
}

/// RFC 5482 §3.1: a timeout of hours is respected, although more retransmissions occur than the
/// counter holds. This also applies while the window is closed.
#[test]
fn hours_are_kept() {
    for window in [4_000, 0] {
        let config = Config {
            timestamps: false,
            user_timeout: Some(s(12 * 3_600)),
            ..Config::default()
        };
        let answer = Record::new().mss(462).win(window);
        let mut t = Host::established_by(&config, answer, 0);
        t.write(b"x");
        t.run_until(12 * 3_600_000 - 1);
        assert_eq!(t.conn.error(), None);
        t.run_until(12 * 3_600_000);
        assert_eq!(t.conn.error(), Some(Error::UserTimeout));
    }
}

/// A time of more than 2^32 - 1 ms, about 49 days, is shortened to this limit.
#[test]
fn months_become_49_days() {
    let config = Config {
        user_timeout: Some(s(60 * 86_400)),
        ..Config::default()
    };
    let t = Host::connect(&config, 64, 64);
    let limit = Duration::from_millis(u32::MAX.into());
    assert_eq!(t.conn.user_timeout(), Some(limit));
}

/// A connection counts at most 127 unanswered probes, whatever its configuration says.
#[test]
fn a_silent_peer_gets_at_most_127_probes() {
    let config = Config {
        timestamps: false,
        keepalive: Some(Keepalive {
            idle: s(10),
            interval: s(1),
            count: u8::MAX,
        }),
        ..Config::default()
    };
    let mut t = Host::established(&config, 100, 4_096);
    t.run_until(200_000);
    assert_eq!(t.conn.error(), Some(Error::TimedOut));
    let sent = t.sent();
    let probes = sent.iter().filter(|it| it.seq_number() == 0);
    assert_eq!(probes.count(), 127);
}
