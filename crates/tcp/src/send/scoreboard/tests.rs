extern crate std;
use std::vec::Vec;

use redpoll_base::Rng;

use super::*;

fn span(start: u32, end: u32) -> Span {
    Span::new(start, end)
}

fn sack(board: &mut Scoreboard, block: Span) -> Vec<(u32, u32)> {
    let walk = board.walk(block);
    let news = walk.filter_map(|(at, stretch)| {
        let is_news = block.covers(at) && stretch.arrive();
        is_news.then_some((at.start, at.end))
    });
    news.collect()
}

fn at(ms: u64) -> Tick {
    Tick::of_ms(ms as u32)
}

/// Sends segments of 100 bytes, starting at 0, at intervals of one millisecond.
fn sent(segments: u32) -> Scoreboard {
    let mut board = Scoreboard::new();
    for n in 0..segments {
        board.on_made(span(n * 100, n * 100 + 100), at(u64::from(n)));
    }
    board
}

fn listed(board: &Scoreboard) -> Vec<(u32, u32, Fate)> {
    board
        .spans()
        .filter(|(span, _)| !span.is_empty())
        .map(|(span, stretch)| (span.start, span.end, stretch.fate))
        .collect()
}

#[test]
fn blocks_split_and_join() {
    use Fate::*;
    let mut board = sent(2);
    let news = sack(&mut board, span(50, 150));
    assert_eq!(news, [(50, 100), (100, 150)]);
    let expected = [
        (0, 50, InFlight),
        (50, 100, Arrived),
        (100, 150, Arrived),
        (150, 200, InFlight),
    ];
    assert_eq!(listed(&board), expected);
    assert_eq!((board.in_flight(), board.arrived()), (100, 100));
    assert_eq!(sack(&mut board, span(60, 140)), []);
    assert_eq!((board.in_flight(), board.arrived()), (100, 100));
}

#[test]
fn invalid_sack_blocks_change_nothing() {
    let mut board = sent(3);
    let before = listed(&board);
    for lie in [span(0, 301), span(400, 500), span(400, u32::MAX)] {
        assert!(!board.holds(lie));
    }
    for lie in [span(250, 200), span(100, 100), span(u32::MAX - 9, 0)] {
        assert_eq!(sack(&mut board, lie), []);
        assert_eq!(listed(&board), before);
    }
}

#[test]
fn a_lost_run_stays_lost_until_it_is_retransmitted() {
    let mut board = sent(4);
    assert_eq!(board.lose(span(100, 300)), 200);
    assert_eq!(board.lose(span(100, 300)), 0);
    assert_eq!((board.in_flight(), board.lost()), (200, 200));
    assert_eq!(board.first_lost(|run| run), span(100, 300));
    board.on_made(span(100, 150), at(9));
    assert_eq!(board.first_lost(|run| run), span(150, 300));
    assert_eq!(board.lost(), 150);
    board.take_back();
    assert!(!board.has_lost());
    assert!(board.first_lost(|run| run).is_empty());
}

#[test]
fn the_first_lost_run_that_is_free_comes_first() {
    let mut board = sent(5);
    board.lose(span(0, 100));
    board.lose(span(200, 300));
    let not_the_first = |run: Span| span(run.start.max(100), run.end);
    assert_eq!(board.first_lost(not_the_first), span(200, 300));
    assert!(board.first_lost(|_| span(0, 0)).is_empty());
}

#[test]
fn an_acknowledgment_takes_from_the_front() {
    let mut board = sent(3);
    assert_eq!(sack(&mut board, span(100, 200)), [(100, 200)]);
    assert_eq!(sack(&mut board, span(0, 250)), [(0, 100), (200, 250)]);
    board.on_ack(250);
    assert_eq!(listed(&board), [(0, 50, Fate::InFlight)]);
    board.on_ack(20);
    assert_eq!(listed(&board), [(0, 30, Fate::InFlight)]);
    board.on_ack(30);
    assert!(board.is_empty());
}

#[test]
fn new_data_may_follow_old_data_in_one_segment() {
    let mut board = sent(1);
    board.lose(span(0, 100));
    board.on_made(span(50, 150), at(5));
    let again = [0, 1, 2].map(|index| board.list[index].was_sent_again());
    assert_eq!(again, [false, true, false]);
    assert_eq!((board.lost(), board.in_flight()), (50, 100));
}

#[test]
#[cfg(feature = "rack-tlp")]
fn the_clock_starts_when_the_link_has_sent() {
    let mut board = sent(1);
    board.lose(span(0, 100));
    board.on_made(span(0, 100), at(1_000));
    board.on_sent(span(0, 100), true, at(1_100));
    let stretch = board.front();
    assert_eq!(stretch.at(), at(1_100));
    let made = at(1_000).since(stretch.made_at());
    assert!(made <= 2 * WAIT_STEP_MS, "{made}");
}

/// The later one of two transmissions within a millisecond has the later recorded time or, at equal
/// times, the higher sequence number.
#[test]
#[cfg(feature = "rack-tlp")]
fn old_data_sent_behind_new_data_is_the_later() {
    let mut board = sent(2);
    for part in [span(100, 200), span(200, 300), span(0, 100), span(300, 400)] {
        board.on_made(part, at(50));
        board.on_sent(part, part.start < 200, at(50));
    }
    let moments = [0, 1, 2, 3].map(|index| board.list[index].at());
    assert!(moments[0].is_after(moments[2]) && moments[2].since(moments[1]) == 0);
    assert!(moments[3] == moments[0]);
    board.on_made(span(400, 500), at(60));
    board.on_sent(span(400, 500), false, at(60));
    assert_eq!(board.list[4].at(), at(60));
}

#[test]
fn ticks_wrap() {
    let early = at(65_530);
    let late = at(65_540);
    assert!(late.is_after(early) && !early.is_after(late));
    assert_eq!((late.since(early), early.since(late)), (10, 0));
}

/// Compares the scoreboard with a list that has an entry for each byte. The sums are correct, and
/// even a full scoreboard reports no byte as arrived that has not arrived.
#[test]
fn a_full_table_claims_no_more_than_is_true() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut board = Scoreboard::new();
        let mut arrived = Vec::new();
        for step in 0..300 {
            let out = arrived.len() as u32;
            let mut some = || rng.below(400).min(out);
            let (a, b) = (some(), some());
            let part = span(a.min(b), a.max(b));
            let bytes = part.start as usize..part.end as usize;
            match step % 5 {
                0 | 1 if out < 600 => {
                    let end = out + 1 + rng.below(60);
                    board.on_made(span(out, end), at(step));
                    arrived.resize(end as usize, false);
                }
                2 => {
                    sack(&mut board, part);
                    arrived[bytes].fill(true);
                }
                3 => drop(board.lose(part)),
                4 if rng.below(3) == 0 => {
                    board.on_ack(part.start);
                    arrived.drain(..bytes.start);
                }
                _ => board.on_made(board.first_lost(|run| run), at(step)),
            }
            let out = arrived.len() as u32;
            assert_eq!(board.end(), out);
            assert_eq!(board.in_flight() + board.arrived() + board.lost(), out);
            for (at, stretch) in board.spans() {
                let bytes = &arrived[at.start as usize..at.end as usize];
                assert!(stretch.fate != Fate::Arrived || bytes.iter().all(|byte| *byte));
            }
        }
    }
}

#[test]
fn a_window_of_many_segments_is_out_as_a_whole() {
    let mut board = sent(60);
    assert_eq!(board.in_flight(), 6_000);
    assert_eq!(sack(&mut board, span(5_900, 6_000)), [(5_900, 6_000)]);
    assert_eq!((board.in_flight(), board.arrived()), (5_900, 100));
    assert_eq!(board.lose(Span::ALL), 5_900);
    assert_eq!(board.first_lost(|run| run), span(0, 5_900));
}
