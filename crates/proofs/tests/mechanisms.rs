//! Sequence numbers, rings, ranges, the scoreboard, cursors and frame counters.

use redpoll_proofs::counters::{self, CounterModel};
use redpoll_proofs::recv::{Defect, InboxModel, RangesModel};
use redpoll_proofs::send::{self, ScoreboardModel};
use redpoll_proofs::{Bounds, cursor, explore, is_deep, numbers, ring};

#[test]
fn sequence_numbers_compare_as_integers_do() {
    let pairs = numbers::pairs(&numbers::REAL).unwrap();
    println!("sequence numbers: {pairs} pairs");
    let halves = numbers::halves(&numbers::REAL_HALVES).unwrap();
    println!("lower halves: {halves} pairs");
}

#[test]
fn wrong_comparisons_are_found() {
    let wrong = [
        numbers::Arithmetic {
            before: |a, b| a.0 < b.0,
            ..numbers::REAL
        },
        numbers::Arithmetic {
            up_to: |a, b| a < b,
            ..numbers::REAL
        },
        numbers::Arithmetic {
            minus: |a, b| a.since(b),
            ..numbers::REAL
        },
        numbers::Arithmetic {
            max: |a, b| if a.0 < b.0 { b } else { a },
            ..numbers::REAL
        },
        numbers::Arithmetic {
            min: |a, _| a,
            ..numbers::REAL
        },
        numbers::Arithmetic {
            contains: |range, seq| range.start <= seq && seq <= range.end,
            ..numbers::REAL
        },
    ];
    for ops in wrong {
        println!("{}", numbers::pairs(&ops).unwrap_err());
    }
    let wrong = [
        numbers::Halves {
            first_from: |number, near| near + (number.0 & 0x7fff),
            ..numbers::REAL_HALVES
        },
        numbers::Halves {
            last_up_to: |_, near| near,
            ..numbers::REAL_HALVES
        },
        numbers::Halves {
            is_at_or_behind: |a, b| a.0 as u16 >= b.0 as u16,
            ..numbers::REAL_HALVES
        },
        numbers::Halves {
            advance: |distance, bytes| distance.saturating_sub(bytes) & 0xffff,
            ..numbers::REAL_HALVES
        },
    ];
    for ops in wrong {
        println!("{}", numbers::halves(&ops).unwrap_err());
    }
}

#[test]
fn a_ring_is_a_queue_with_a_writable_end() {
    explore(&ring::REAL, Bounds::ALL).expect_sound("ring");
    let wrong = ring::RingModel {
        write_at: |ring, offset, bytes| {
            let count = ring.write_at(offset, bytes);
            if offset + count == 5 && offset > 0 {
                ring.write_at(0, &bytes[..count.min(1)]);
            }
            count
        },
    };
    explore(&wrong, Bounds::ALL).expect_defect("ring with a wrong wrap");
}

#[test]
fn ranges_are_sets_of_positions() {
    explore(&RangesModel::default(), Bounds::ALL).expect_sound("ranges");
    explore(&RangesModel { defect: true }, Bounds::ALL).expect_defect("ranges that grow");
}

#[test]
fn a_stream_is_reassembled_from_any_segments() {
    let bounds = match is_deep() {
        true => Bounds::ALL,
        false => Bounds::depth(5),
    };
    explore(&InboxModel::default(), bounds).expect_sound("inbox");
    for defect in [Defect::WideWindow, Defect::Shifted] {
        let model = InboxModel {
            defect: Some(defect),
        };
        explore(&model, bounds).expect_defect(&format!("inbox, {defect:?}"));
    }
}

#[test]
fn a_scoreboard_knows_the_fate_of_each_byte() {
    let model = |window, begun, defect| ScoreboardModel {
        window,
        begun,
        defect,
    };
    let exact = if is_deep() { 6 } else { 4 };
    explore(&model(exact, 0, None), Bounds::ALL).expect_sound("scoreboard");
    let depth = if is_deep() { 3 } else { 2 };
    explore(&model(14, 13, None), Bounds::depth(depth)).expect_sound("full scoreboard");
    for defect in [send::Defect::WideBlock, send::Defect::SentIgnored] {
        let outcome = explore(&model(4, 0, Some(defect)), Bounds::ALL);
        outcome.expect_defect(&format!("scoreboard, {defect:?}"));
    }
}

#[test]
fn every_operation_of_a_cursor_is_checked() {
    explore(&cursor::REAL, Bounds::ALL).expect_sound("cursor");
    let wrong = cursor::CursorModel {
        patch: |out, position, value| {
            let is_inside = position < out.position();
            let _ = out.patch_u16(position, value);
            is_inside
        },
    };
    explore(&wrong, Bounds::ALL).expect_defect("cursor that patches past its position");
}

/// Starts near the largest 32-bit counter, so that the exploration ends.
#[test]
fn no_frame_counter_is_used_twice() {
    let most = if is_deep() { 40 } else { 12 };
    for stretch in 0..8 {
        let model = |defect| CounterModel {
            first: u32::MAX - most,
            stretch,
            defect,
        };
        let name = format!("frame counter, {stretch} at a time");
        explore(&model(None), Bounds::ALL).expect_sound(&name);
        for defect in [counters::Defect::EarlyReport, counters::Defect::OldValue] {
            let outcome = explore(&model(Some(defect)), Bounds::ALL);
            outcome.expect_defect(&format!("{name}, {defect:?}"));
        }
    }
}
