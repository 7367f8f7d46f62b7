//! Recovery as another engine has it ([`RecoveryChoice`]).
#![cfg(feature = "other-engines")]

use redpoll_base::Duration;
use redpoll_tcp::{Config, RecoveryChoice};
use redpoll_testkit::{Host, Record, ms, send};

/// SACK, segments of 100 bytes, a path of 100 ms, four segments out from 1 on.
fn four_segments(recovery: RecoveryChoice) -> Host {
    let config = Config {
        timestamps: false,
        mss: 462,
        min_rto: ms(1_000),
        recovery,
        ..Config::default()
    };
    let answer = Record::new().mss(100).win(60_000).sack_ok(true);
    let mut t = Host::established_by(&config, answer, 100);
    t.write(&[b'x'; 400]);
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    t
}

fn starts(t: &mut Host) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

const DUPLICATES: RecoveryChoice = RecoveryChoice::ALL.by_duplicates();

/// RFC 8985 §6.2 against RFC 6675 §4: two segments beyond a gap.
#[test]
#[cfg(feature = "rack-tlp")]
fn without_rack_two_segments_beyond_a_gap_wait_for_the_timer() {
    for (recovery, resent) in [(RecoveryChoice::default(), vec![101]), (DUPLICATES, vec![])] {
        let mut t = four_segments(recovery);
        t.wait(100);
        send!(t, seq 1, ack 101, win 60_000, sack [(201, 401)]);
        t.wait(60);
        assert_eq!(starts(&mut t), resent, "{recovery:?}");
    }
}

#[test]
fn three_segments_beyond_a_gap_are_a_loss() {
    let mut t = four_segments(DUPLICATES);
    t.wait(100);
    send!(t, seq 1, ack 1, win 60_000, sack [(101, 401)]);
    assert_eq!(starts(&mut t), [1]);
}

/// RFC 8985 §7: silence after two round trips brings a probe; without TLP
/// nothing comes before the timeout.
#[test]
#[cfg(feature = "rack-tlp")]
fn without_tail_loss_probes_only_the_timer_repeats() {
    for (recovery, repeated) in [(RecoveryChoice::default(), 1), (DUPLICATES, 0)] {
        let mut t = four_segments(recovery);
        t.wait(100);
        send!(t, seq 1, ack 201, win 60_000);
        t.wait(700);
        assert_eq!(starts(&mut t).len(), repeated, "{recovery:?}");
        t.wait(400);
        assert_eq!(t.conn.stats().rtos, 1 - repeated as u32, "{recovery:?}");
    }
}

/// FreeBSD adds 200 ms to what RFC 6298 §2.3 gives, here 300 ms.
#[test]
fn a_margin_is_added_before_the_least_timeout_counts() {
    let due = |margin, min_rto| {
        let config = Config {
            timestamps: false,
            min_rto: ms(min_rto),
            recovery: DUPLICATES.with_rto_margin(Duration::from_millis(margin)),
            ..Config::default()
        };
        let answer = Record::new().mss(100).win(60_000).sack_ok(true);
        let mut t = Host::established_by(&config, answer, 100);
        t.write(&[b'x'; 100]);
        t.sent();
        let mut waited = 0;
        while t.conn.stats().rtos == 0 && waited < 5_000 {
            t.wait(10);
            waited += 10;
        }
        waited
    };
    assert_eq!(due(0, 30), 300);
    assert_eq!(due(200, 30), 500);
    assert_eq!(due(200, 400), 500);
    assert_eq!(due(200, 1_000), 1_000);
}
