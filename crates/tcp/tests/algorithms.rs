//! Mechanisms of recovery that a program turns off ([`Algorithms`]).

use redpoll_tcp::{Algorithms, Config, NewReno};
use redpoll_testkit::{Host, Record, ms, send};

#[derive(Clone, Copy, Debug)]
pub struct Other {
    rack: bool,
    tail_probes: bool,
    prr: bool,
    frto: bool,
    new_start: bool,
    rto_margin_ms: u32,
    /// Segments of the initial window; 0 selects the window of RFC 5681.
    segments: u32,
}

impl Algorithms for Other {
    type Congestion = NewReno;

    fn congestion(&self, mss: u32) -> NewReno {
        NewReno::new(mss)
    }

    fn initial_window(&self, mss: u32) -> u32 {
        match self.segments {
            0 => redpoll_tcp::Standard.initial_window(mss),
            segments => segments * mss,
        }
    }

    fn detects_by_time(&self) -> bool {
        self.rack
    }

    fn probes_tails(&self) -> bool {
        self.rack && self.tail_probes
    }

    fn paces_recovery(&self) -> bool {
        self.prr
    }

    fn doubts_timeouts(&self) -> bool {
        self.frto
    }

    fn restarts_estimate(&self) -> bool {
        self.new_start
    }

    fn rto_margin_ms(&self) -> u32 {
        self.rto_margin_ms
    }
}

const ALL: Other = Other {
    rack: true,
    tail_probes: true,
    prr: true,
    frto: true,
    new_start: true,
    rto_margin_ms: 0,
    segments: 0,
};
/// The mechanisms of FreeBSD 10.3.
pub const DUPLICATES: Other = Other {
    prr: false,
    frto: false,
    new_start: false,
    ..NO_RACK
};
pub const NO_RACK: Other = Other { rack: false, ..ALL };
#[cfg(any(feature = "rack-tlp", feature = "gentle-recovery"))]
const NO_PROBES: Other = Other {
    tail_probes: false,
    ..ALL
};

/// Sends four segments of 100 bytes, starting at 1, with SACK on a path of 100 ms.
fn four_segments(recovery: Other) -> Host<Other> {
    let config = Config {
        timestamps: false,
        mss: 462,
        min_rto: ms(1_000),
        ..Config::default()
    }
    .with_algorithms(recovery);
    let answer = Record::new().mss(100).win(60_000).sack_ok(true);
    let mut t = Host::established_by(&config, answer, 100);
    t.write(&[b'x'; 400]);
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    t
}

fn starts(t: &mut Host<Other>) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

/// Two segments beyond a gap indicate a loss by RFC 8985 §6.2, and do not by RFC 6675 §4.
#[test]
#[cfg(feature = "rack-tlp")]
fn without_rack_two_segments_beyond_a_gap_wait_for_the_timer() {
    let cases = [
        (ALL, vec![101]),
        (NO_PROBES, vec![101]),
        (NO_RACK, vec![]),
        (DUPLICATES, vec![]),
    ];
    for (recovery, resent) in cases {
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

/// RFC 8985 §7: a probe follows after a silence of two round trips; without TLP nothing is sent
/// before the timeout.
#[test]
#[cfg(feature = "rack-tlp")]
fn without_tail_loss_probes_only_the_timer_repeats() {
    let cases = [(ALL, 1), (NO_PROBES, 0), (NO_RACK, 0), (DUPLICATES, 0)];
    for (recovery, repeated) in cases {
        let mut t = four_segments(recovery);
        t.wait(100);
        send!(t, seq 1, ack 201, win 60_000);
        t.wait(700);
        assert_eq!(starts(&mut t).len(), repeated, "{recovery:?}");
        t.wait(400);
        assert_eq!(t.conn.stats().rtos, 1 - repeated as u32, "{recovery:?}");
    }
}

/// FreeBSD adds 200 ms to the value of RFC 6298 §2.3, here 300 ms.
#[test]
fn a_margin_is_added_before_the_least_timeout_counts() {
    let due = |margin, min_rto| {
        let config = Config {
            timestamps: false,
            min_rto: ms(min_rto),
            ..Config::default()
        }
        .with_algorithms(Other {
            rto_margin_ms: margin,
            ..DUPLICATES
        });
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

/// RFC 9937 §6.2 compared with RFC 6675 §5: the first of ten segments is lost, and five others have
/// arrived. With PRR, two arrivals release one segment; a window that is reduced at once releases
/// none. RACK detects the loss by the second block.
#[test]
#[cfg(all(feature = "rack-tlp", feature = "gentle-recovery"))]
fn without_rate_reduction_no_new_data_leaves_before_half_has_arrived() {
    let cases = [
        (ALL, vec![1001, 1, 1101]),
        (Other { prr: false, ..ALL }, vec![1001, 1]),
    ];
    for (recovery, leave) in cases {
        let config = Config {
            timestamps: false,
            ..Config::default()
        }
        .with_algorithms(Other {
            segments: 10,
            ..recovery
        });
        let answer = Record::new().mss(100).win(60_000).sack_ok(true);
        let mut t = Host::established_by(&config, answer, 100);
        t.write(&[b'x'; 1_600]);
        assert_eq!(starts(&mut t).len(), 10, "{recovery:?}");
        t.wait(100);
        let mut sent = Vec::new();
        for end in [201, 301, 401, 501, 601] {
            send!(t, seq 1, ack 1, win 60_000, sack [(101, end)]);
            t.wait(30);
            sent.extend(starts(&mut t));
        }
        // The first SACK block releases the eleventh segment by limited transmit (RFC 3042).
        assert_eq!(sent, leave, "{recovery:?}");
    }
}

/// RFC 5682 §2.1: after a timeout, new data answer the first new acknowledgment, because the
/// timeout may be spurious; without F-RTO, retransmissions do.
#[test]
#[cfg(feature = "gentle-recovery")]
fn without_doubts_about_a_timeout_old_data_follows_it() {
    let cases = [
        (NO_PROBES, 401),
        (
            Other {
                frto: false,
                ..NO_PROBES
            },
            101,
        ),
    ];
    for (recovery, next) in cases {
        let mut t = four_segments(recovery);
        t.write(&[b'y'; 400]);
        t.wait(1_100);
        assert_eq!(t.conn.stats().rtos, 1, "{recovery:?}");
        assert_eq!(starts(&mut t), [1]);
        send!(t, seq 1, ack 101, win 60_000);
        assert_eq!(starts(&mut t).first(), Some(&next), "{recovery:?}");
    }
}

/// RFC 6298 §2.3: SRTT of 100 ms, then 180 ms: 0.875 · 100 + 0.125 · 180 = 110.
#[test]
fn first_data_that_is_slower_than_the_handshake_counts_an_eighth_or_all() {
    let cases = [
        (ALL, ms(180)),
        (
            Other {
                new_start: false,
                ..ALL
            },
            ms(110),
        ),
        (DUPLICATES, ms(110)),
    ];
    for (recovery, srtt) in cases {
        let mut t = four_segments(recovery);
        assert_eq!(t.conn.info().srtt, Some(ms(100)));
        t.wait(180);
        send!(t, seq 1, ack 401, win 60_000);
        assert_eq!(t.conn.info().srtt, Some(srtt), "{recovery:?}");
    }
}
