extern crate std;
use std::vec::Vec;

use redpoll_base::Rng;

use super::*;

fn range(start: u32, end: u32) -> SeqRange {
    SeqRange::new(SeqNum(start), SeqNum(end))
}

fn at(ms: u64) -> Tick {
    Tick::of_ms(ms as u32)
}

/// Segments of 100 bytes from 0 on, sent a millisecond apart.
fn sent(segments: u32) -> Scoreboard {
    let mut board = Scoreboard::new(SeqNum(0));
    for n in 0..segments {
        board.on_made(range(n * 100, n * 100 + 100), at(u64::from(n)));
    }
    board
}

fn listed(board: &Scoreboard) -> Vec<(u32, u32, Fate)> {
    board
        .iter()
        .map(|(range, stretch)| (range.start.0, range.end.0, stretch.fate))
        .collect()
}

#[test]
fn blocks_split_and_join() {
    use Fate::*;
    let mut board = sent(2);
    let mut news = Vec::new();
    board.on_sack(range(50, 150), |range, _| {
        news.push((range.start.0, range.end.0))
    });
    assert_eq!(news, [(50, 100), (100, 150)]);
    let expected = [(0, 50, InFlight), (50, 150, Arrived), (150, 200, InFlight)];
    assert_eq!(listed(&board), expected);
    assert_eq!((board.in_flight(), board.arrived()), (100, 100));
    board.on_sack(range(60, 140), |_, _| panic!("nothing new"));
    assert_eq!(listed(&board), expected);
}

#[test]
fn lies_change_nothing() {
    let mut board = sent(3);
    let before = listed(&board);
    for (start, end) in [
        (0, 301),
        (250, 200),
        (100, 100),
        (400, 500),
        (u32::MAX - 9, 0),
    ] {
        board.on_sack(range(start, end), |_, _| panic!("{start}..{end}"));
        assert_eq!(listed(&board), before);
    }
}

#[test]
fn lost_is_lost_until_it_is_sent_again() {
    let mut board = sent(4);
    assert_eq!(board.lose(range(100, 300)), 200);
    assert_eq!(board.lose(range(100, 300)), 0);
    assert_eq!((board.in_flight(), board.lost()), (200, 200));
    assert_eq!(board.first_lost(|run| run), range(100, 300));
    board.on_made(range(100, 150), at(9));
    assert_eq!(board.first_lost(|run| run), range(150, 300));
    assert_eq!(board.lost(), 150);
    board.take_back();
    assert!(!board.has_lost());
    assert!(board.first_lost(|run| run).is_empty());
}

#[test]
fn the_first_lost_run_that_is_free_comes_first() {
    let mut board = sent(5);
    board.lose(range(0, 100));
    board.lose(range(200, 300));
    let not_the_first = |run: SeqRange| SeqRange::new(run.start.max(SeqNum(100)), run.end);
    assert_eq!(board.first_lost(not_the_first), range(200, 300));
    assert!(board.first_lost(|_| range(0, 0)).is_empty());
}

#[test]
fn an_acknowledgment_takes_from_the_front() {
    let mut board = sent(3);
    board.on_sack(range(100, 200), |_, _| {});
    let mut news = Vec::new();
    board.on_ack(SeqNum(250), |range, _| {
        news.push((range.start.0, range.end.0))
    });
    assert_eq!(news, [(0, 100), (200, 250)]);
    assert_eq!(listed(&board), [(250, 300, Fate::InFlight)]);
    board.on_ack(SeqNum(300), |_, _| {});
    assert_eq!(board.in_flight(), 0);
}

#[test]
fn new_data_may_follow_old_data_in_one_segment() {
    let mut board = sent(1);
    board.lose(range(0, 100));
    board.on_made(range(50, 150), at(5));
    let again: Vec<bool> = board
        .iter()
        .map(|(_, stretch)| stretch.was_sent_again())
        .collect();
    assert_eq!(again, [false, true, false]);
    assert_eq!((board.lost(), board.in_flight()), (50, 100));
}

#[test]
fn the_clock_starts_when_the_link_has_sent() {
    let mut board = sent(1);
    board.lose(range(0, 100));
    board.on_made(range(0, 100), at(1_000));
    board.on_sent(range(0, 100), at(1_100));
    let (_, stretch) = board.iter().next().unwrap();
    assert_eq!(stretch.at(), at(1_100));
    let made = at(1_000).since(stretch.made_at());
    assert!(made <= 2 * WAIT_STEP_MS, "{made}");
}

/// Whatever leaves within a millisecond, what left later has the later moment
/// or, among equals, the higher number.
#[test]
fn old_data_sent_behind_new_data_is_the_later() {
    let mut board = sent(2);
    for part in [
        range(100, 200),
        range(200, 300),
        range(0, 100),
        range(300, 400),
    ] {
        board.on_made(part, at(50));
        board.on_sent(part, at(50));
    }
    let moments: Vec<Tick> = board.iter().map(|(_, stretch)| stretch.at()).collect();
    assert!(moments[0].is_after(moments[2]) && moments[2].since(moments[1]) == 0);
    assert!(moments[3] == moments[0]);
    board.on_made(range(400, 500), at(60));
    board.on_sent(range(400, 500), at(60));
    assert_eq!(board.iter().last().unwrap().1.at(), at(60));
}

#[test]
fn ticks_wrap() {
    let early = at(65_530);
    let late = at(65_540);
    assert!(late.is_after(early) && !early.is_after(late));
    assert_eq!((late.since(early), early.since(late)), (10, 0));
}

/// Against a table of single bytes: the sums are right, nothing is claimed to
/// have arrived that has not, however full the table is.
#[test]
fn a_full_table_claims_no_more_than_is_true() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut board = Scoreboard::new(SeqNum(0));
        let mut arrived = Vec::new();
        let mut una = 0;
        for step in 0..300 {
            let out = arrived.len() as u32;
            let mut some = |span: u32| (una + rng.below(span.max(1))).min(out);
            let (a, b) = (some(400), some(400));
            let part = range(a.min(b), a.max(b));
            match step % 5 {
                0 | 1 if out - una < 600 => {
                    let end = out + 1 + rng.below(60);
                    board.on_made(range(out, end), at(step));
                    arrived.resize(end as usize, false);
                }
                2 if !part.is_empty() => {
                    board.on_sack(part, |_, _| {});
                    arrived[part.start.0 as usize..part.end.0 as usize].fill(true);
                }
                3 => drop(board.lose(part)),
                4 if rng.below(3) == 0 => {
                    una = part.start.0.max(una);
                    board.on_ack(SeqNum(una), |_, _| {});
                    arrived[..una as usize].fill(true);
                }
                _ => board.on_made(board.first_lost(|run| run), at(step)),
            }
            let out = arrived.len() as u32;
            assert_eq!(board.end(), SeqNum(out));
            assert_eq!(
                board.in_flight() + board.arrived() + board.lost(),
                out - una
            );
            for (range, stretch) in board.iter() {
                let bytes = &arrived[range.start.0 as usize..range.end.0 as usize];
                assert!(!range.is_empty());
                assert!(stretch.fate != Fate::Arrived || bytes.iter().all(|byte| *byte));
            }
        }
    }
}
