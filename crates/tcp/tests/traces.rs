//! The congestion window over time in several cases of loss, compared with a snapshot. `BLESS=1
//! cargo test -p redpoll-tcp --test all traces` writes the snapshot.
#![cfg(all(feature = "rack-tlp", feature = "gentle-recovery"))]

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use redpoll_base::Duration;
use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, SYN_ACK, ms};
use redpoll_wire::tcp::Flags;

const RTT: u64 = 100;
const MSS: usize = 100;

/// A case: the TCP options in use, and the numbers of the lost, late and marked segments.
#[derive(Clone, Default)]
struct Case {
    sack: bool,
    timestamps: bool,
    lost: &'static [usize],
    acks_lost: &'static [usize],
    /// Numbers of delayed segments, and their additional delay in milliseconds.
    late: Option<(RangeInclusive<usize>, u64)>,
    /// Numbers of segments that a queue marks (RFC 3168).
    marked: &'static [usize],
}

struct Flight {
    at: u64,
    start: u32,
    end: u32,
    ts: Option<(u32, u32)>,
    is_marked: bool,
    is_reduced: bool,
}

/// Runs a sender with a buffer of eight segments. The peer acknowledges each segment one round trip
/// after its transmission, unless the case changes that.
fn trace(name: &str, case: Case) -> String {
    let config = Config {
        timestamps: case.timestamps,
        delayed_ack: ms(200),
        sack: case.sack,
        min_rto: Duration::from_millis(300),
        ..Config::default()
    };
    let mut answer = Record::new().mss(MSS as u16).win(800).sack_ok(case.sack);
    if case.timestamps {
        answer = answer.ts((7, 1_000));
    }
    if !case.marked.is_empty() {
        answer = answer.flags(SYN_ACK.with(Flags::ECE));
    }
    let mut t = Host::established_by(&config, answer, RTT);
    let mut text = format!("{name}\n   ms  event              cwnd ssthresh\n");
    let total = 2400u32;
    t.write(&vec![b'x'; total as usize]);
    let mut flight: Vec<Flight> = Vec::new();
    let (mut has, mut una) = (vec![false; total as usize + 2], 1u32);
    let (mut number, mut acks, mut echo) = (0, 0, false);
    has[0] = true;
    while una <= total && t.ms() < 20_000 {
        for record in t.sent() {
            let (seq, len) = (record.seq_number(), record.payload().len() as u32);
            let fate = Fate::of(&case, number);
            note(&mut text, &t, &format!("{number} {seq}{}", fate.name()));
            if fate != Fate::Lost {
                flight.push(Flight {
                    at: t.ms() + RTT + fate.delay(),
                    start: seq,
                    end: seq + len,
                    ts: record.timestamps().map(|(value, _)| (8, value)),
                    is_marked: fate == Fate::Marked,
                    is_reduced: record.control().contains(Flags::CWR),
                });
            }
            number += 1;
        }
        let next = flight.iter().map(|it| it.at).min().unwrap_or(u64::MAX);
        let timer = t
            .conn
            .poll_at()
            .map_or(u64::MAX, |wake| wake.at.as_millis() - 1_000);
        t.run_until(next.min(timer.max(t.ms())));
        let now = t.ms();
        let (due, rest): (Vec<_>, Vec<_>) = flight.into_iter().partition(|it| it.at <= now);
        flight = rest;
        for it in due {
            let (start, end) = (it.start, it.end);
            has[start as usize..end as usize].fill(true);
            una = has.iter().position(|got| !got).unwrap() as u32;
            echo = it.is_marked || echo && !it.is_reduced;
            let mut ack = Record::new().flags(Flags::ACK).seq(1).ack(una).win(800);
            if echo {
                ack = ack.flags(Flags::ACK.with(Flags::ECE));
            }
            if let Some(ts) = it.ts {
                ack = ack.ts(ts);
            }
            if start > una && case.sack {
                let to = (start as usize..has.len()).find(|at| !has[*at]).unwrap() as u32;
                let from = (0..start as usize).rev().find(|at| !has[*at]).unwrap() as u32 + 1;
                ack = ack.sack([(from, to)]);
            }
            let is_lost = case.acks_lost.contains(&acks);
            acks += 1;
            if !is_lost {
                t.send(ack);
            }
            let name = [format!("ack {una}"), format!("ack {una} lost")];
            note(&mut text, &t, &name[usize::from(is_lost)]);
            t.drain();
        }
    }
    let stats = t.conn.stats();
    let _ = writeln!(
        text,
        "{} timeouts, {} taken back, {} for marks, {:?}\n",
        stats.rtos, stats.undone_reductions, stats.ecn_reductions, stats.retransmissions
    );
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    Lost,
    Late(u64),
    Marked,
}

impl Fate {
    fn of(case: &Case, number: usize) -> Fate {
        let late = case.late.as_ref().filter(|late| late.0.contains(&number));
        match late {
            _ if case.lost.contains(&number) => Fate::Lost,
            _ if case.marked.contains(&number) => Fate::Marked,
            Some((_, ms)) => Fate::Late(*ms),
            None => Fate::Arrives,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Fate::Arrives => "",
            Fate::Lost => " lost",
            Fate::Late(_) => " late",
            Fate::Marked => " marked",
        }
    }

    fn delay(self) -> u64 {
        match self {
            Fate::Late(ms) => ms,
            _ => 0,
        }
    }
}

fn note(text: &mut String, t: &Host, event: &str) {
    let ssthresh = match t.conn.info().ssthresh {
        65_535 => "-".to_owned(),
        bytes => bytes.to_string(),
    };
    let _ = writeln!(
        text,
        "{:5}  {event:16} {:6} {ssthresh:>8}",
        t.ms(),
        t.conn.info().cwnd
    );
}

/// Returns cases other than lost data.
fn others() -> [(&'static str, Case); 8] {
    let with = |late| Case {
        timestamps: true,
        late: Some(late),
        ..Case::default()
    };
    [
        (
            "two acknowledgments are lost",
            Case {
                acks_lost: &[5, 6],
                ..Case::default()
            },
        ),
        (
            "all acknowledgments of a window are lost",
            Case {
                acks_lost: &[4, 5, 6, 7, 8, 9, 10, 11],
                ..Case::default()
            },
        ),
        (
            "the last acknowledgment is lost",
            Case {
                acks_lost: &[23],
                ..Case::default()
            },
        ),
        (
            "a segment is overtaken by three",
            Case {
                late: Some((8..=8, 5)),
                ..Case::default()
            },
        ),
        ("a segment is late, with timestamps", with((9..=9, 90))),
        ("a window is late, with timestamps", with((4..=11, 250))),
        (
            "a window is later and what follows lost, with timestamps",
            Case {
                lost: &[12],
                ..with((4..=11, 450))
            },
        ),
        (
            "two segments of a window are marked",
            Case {
                marked: &[8, 10],
                ..Case::default()
            },
        ),
    ]
}

#[test]
fn the_window_by_time() {
    let mut text = String::new();
    for sack in [true, false] {
        let kind = if sack { "SACK" } else { "without SACK" };
        for (name, lost) in [
            ("nothing is lost", &[][..]),
            ("the first of a window is lost", &[8]),
            ("the last but one is lost", &[22]),
            ("the last is lost", &[23]),
            ("two of a window are lost", &[8, 10]),
            ("a retransmission is lost, too", &[8, 14, 15, 16]),
            ("a whole window is lost", &[4, 5, 6, 7, 8, 9, 10, 11]),
        ] {
            let case = Case {
                sack,
                lost,
                ..Case::default()
            };
            text += &trace(&format!("{kind}: {name}"), case);
        }
        for (name, case) in others() {
            text += &trace(&format!("{kind}: {name}"), Case { sack, ..case });
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    for (number, (got, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "line {}", number + 1);
    }
    assert_eq!(text.len(), expected.len());
}
