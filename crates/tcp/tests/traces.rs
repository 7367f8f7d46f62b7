//! The window by time in each case of loss: a snapshot to look at when it
//! changes. `BLESS=1 cargo test -p redpoll-tcp --test traces` writes it anew.

use std::fmt::Write as _;

use redpoll_base::Duration;
use redpoll_tcp::{Config, Flags};
use redpoll_testkit::{Host, Record, SYN_ACK, ms};

const RTT: u64 = 100;
const MSS: usize = 100;

/// A sender with eight segments of buffer, and a peer that acknowledges each
/// segment one round trip after it was sent, unless it is one of `lost`, by
/// number of data segment sent.
fn trace(name: &str, sack: bool, lost: &[usize]) -> String {
    let config = Config {
        timestamps: false,
        delayed_ack: ms(200),
        sack,
        min_rto: Duration::from_millis(300),
        ..Config::default()
    };
    let answer = Record::new()
        .flags(SYN_ACK)
        .mss(MSS as u16)
        .win(800)
        .sack_ok(sack);
    let mut t = Host::established_by(&config, answer, RTT);
    let mut text = format!("{name}\n   ms  event              cwnd ssthresh\n");
    let total = 2400u32;
    t.write(&vec![b'x'; total as usize]);
    let mut flight: Vec<(u64, u32, u32)> = Vec::new();
    let (mut has, mut una, mut number) = (vec![false; total as usize + 2], 1u32, 0);
    has[0] = true;
    while una <= total && t.ms() < 20_000 {
        for record in t.sent() {
            let (seq, len) = (record.seq_number(), record.payload().len() as u32);
            let is_lost = lost.contains(&number);
            note(
                &mut text,
                &t,
                &format!("{} {seq}{}", number, if is_lost { " lost" } else { "" }),
            );
            if !is_lost {
                flight.push((t.ms() + RTT, seq, seq + len));
            }
            number += 1;
        }
        let next = flight.iter().map(|(at, ..)| *at).min().unwrap_or(u64::MAX);
        let timer = t
            .conn
            .poll_at()
            .map_or(u64::MAX, |wake| wake.at.as_millis() - 1_000);
        t.run_until(next.min(timer.max(t.ms())));
        let now = t.ms();
        let (due, rest): (Vec<_>, Vec<_>) = flight.into_iter().partition(|(at, ..)| *at <= now);
        flight = rest;
        for (_, start, end) in due {
            has[start as usize..end as usize].fill(true);
            una = has.iter().position(|got| !got).unwrap() as u32;
            let mut ack = Record::new().flags(Flags::ACK).seq(1).ack(una).win(800);
            if start > una && sack {
                let to = (start as usize..has.len()).find(|at| !has[*at]).unwrap() as u32;
                let from = (0..start as usize).rev().find(|at| !has[*at]).unwrap() as u32 + 1;
                ack = ack.sack([(from, to)]);
            }
            t.send(ack);
            note(&mut text, &t, &format!("ack {una}"));
            t.drain();
        }
    }
    let stats = t.conn.stats();
    let _ = writeln!(
        text,
        "{} timeouts, {:?}\n",
        stats.rtos, stats.retransmissions
    );
    text
}

fn note(text: &mut String, t: &Host, event: &str) {
    let ssthresh = match t.conn.ssthresh() {
        u32::MAX => "-".to_owned(),
        bytes => bytes.to_string(),
    };
    let _ = writeln!(
        text,
        "{:5}  {event:16} {:6} {ssthresh:>8}",
        t.ms(),
        t.conn.cwnd()
    );
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
            text += &trace(&format!("{kind}: {name}"), sack, lost);
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
