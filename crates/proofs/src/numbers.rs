//! Compares sequence numbers (RFC 9293 §3.4) with integers that do not wrap.
//!
//! A comparison depends only on the distance of two numbers, except for defects at the wrap-around.
//! So the model starts at numbers where the low 16, 31 or 32 bits wrap, and tests many distances
//! from each of them. The short form has all distances within 2^16 of 0, ±2^16 and ±2^31. The long
//! form has all 2^32 distances.

use crate::ahead::Ahead;
use crate::is_deep;
use crate::seq::Low;
use redpoll_wire::tcp::{SeqNum, SeqRange};

/// The operations under test, which a test can replace by faulty ones.
#[derive(Clone, Copy)]
pub struct Arithmetic {
    /// Whether the first number is before the second.
    pub before: fn(SeqNum, SeqNum) -> bool,
    /// Whether the first number is before or equal to the second.
    pub up_to: fn(SeqNum, SeqNum) -> bool,
    /// Distance from the second number to the first; 0 if the first is before the second.
    pub minus: fn(SeqNum, SeqNum) -> u32,
    /// The later of two numbers.
    pub max: fn(SeqNum, SeqNum) -> SeqNum,
    /// The earlier of two numbers.
    pub min: fn(SeqNum, SeqNum) -> SeqNum,
    /// Whether a range contains a number.
    pub contains: fn(&SeqRange, SeqNum) -> bool,
}

/// The operations of `redpoll-wire`.
pub const REAL: Arithmetic = Arithmetic {
    before: |a, b| a < b,
    up_to: |a, b| a <= b,
    minus: |a, b| a - b,
    max: SeqNum::max,
    min: SeqNum::min,
    contains: SeqRange::contains,
};

const HALF: i64 = 1 << 31;
const STARTS: [u32; 7] = [
    0,
    1,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_0000,
    u32::MAX,
];

/// Compares the operations for all pairs, and returns the number of pairs.
///
/// # Errors
/// The first pair for which an operation is wrong.
pub fn pairs(ops: &Arithmetic) -> Result<u64, String> {
    let mut count = 0;
    if is_deep() {
        for start in STARTS {
            for way in -HALF..HALF {
                pair(ops, start, way)?;
            }
            count += 1u64 << 32;
        }
        return Ok(count);
    }
    for start in STARTS {
        for place in [-HALF, -(1 << 16), 0, 1 << 16, HALF] {
            for way in place - (1 << 16)..place + (1 << 16) {
                pair(ops, start, way)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Compares the operations for the numbers `start` and `start + way`.
fn pair(ops: &Arithmetic, start: u32, way: i64) -> Result<(), String> {
    let a = SeqNum(start);
    let b = SeqNum((i64::from(start) + way) as u32);
    // Sequence numbers compare by the shorter distance around the circle. At a distance of exactly
    // half the circle, the numbers are not ordered.
    let way = match way {
        way if way > HALF => way - 2 * HALF,
        way if way < -HALF => way + 2 * HALF,
        way => way,
    };
    let is_opposite = way.abs() == HALF;
    let [later, same] = [way > 0 && !is_opposite, way == 0];
    let expect = |is_right: bool, what: &str| match is_right {
        true => Ok(()),
        false => Err(format!(
            "`{what}` is wrong for {a} and {b}, which is {a} plus {way}"
        )),
    };
    expect((ops.before)(a, b) == later, "<")?;
    expect((ops.up_to)(a, b) == (later || same), "<=")?;
    expect(b.since(a) == b.0.wrapping_sub(a.0), "since")?;
    expect(a + b.since(a) == b && b - b.since(a) == a, "+ and -")?;
    let contained = (ops.contains)(&SeqRange::new(a, b), a);
    expect(contained == later, "contains")?;
    if is_opposite {
        return Ok(());
    }
    expect(i64::from((ops.minus)(b, a)) == way.max(0), "the distance")?;
    expect((ops.max)(a, b) == if later { b } else { a }, "max")?;
    expect((ops.min)(a, b) == if later || same { a } else { b }, "min")?;
    expect(!(ops.contains)(&SeqRange::new(a, b), b), "contains its end")
}

/// Functions that restore a 32-bit number from its lower 16 bits. A test can make one faulty.
#[derive(Clone, Copy)]
pub struct Halves {
    /// Returns the first number, at or after the second argument, whose lower 16 bits are those of
    /// the first argument.
    pub first_from: fn(SeqNum, SeqNum) -> SeqNum,
    /// Returns the last number, at or before the second argument, whose lower 16 bits are those of
    /// the first argument.
    pub last_up_to: fn(SeqNum, SeqNum) -> SeqNum,
    /// Whether the first number equals or follows the second, judged only by their lower halves.
    pub is_at_or_behind: fn(SeqNum, SeqNum) -> bool,
    /// Returns the rest of a distance from SND.UNA after SND.UNA advances by the second argument.
    pub advance: fn(u32, u32) -> u32,
}

/// The functions of `redpoll-tcp`.
pub const REAL_HALVES: Halves = Halves {
    first_from: |number, near| Low::of(number).first_from(near),
    last_up_to: |number, near| Low::of(number).last_up_to(near),
    is_at_or_behind: |a, b| Low::of(a).is_at_or_behind(Low::of(b)),
    advance: |distance, bytes| {
        let mut ahead = Ahead::by(distance);
        ahead.on_advance(bytes);
        ahead.bytes()
    },
};

/// Compares numbers that are restored from 16 bits with the original numbers, for all distances
/// that a window allows. Returns the number of pairs.
///
/// # Errors
/// Describes the first pair for which a function is wrong.
pub fn halves(ops: &Halves) -> Result<u64, String> {
    let mut count = 0;
    for start in STARTS {
        let a = SeqNum(start);
        for way in 0..=0xffff {
            count += 1;
            let b = a + way;
            if (ops.first_from)(b, a) != b || (ops.last_up_to)(a, b) != a {
                return Err(format!(
                    "{a} or {b} is wrong when restored from its lower half"
                ));
            }
            if way < 0x8000
                && (!(ops.is_at_or_behind)(b, a) || way > 0 && (ops.is_at_or_behind)(a, b))
            {
                return Err(format!("{b} follows {a}"));
            }
        }
    }
    let to = |step| (0..=0xffff).step_by(step).chain(0xfffe..=0x1_0001);
    for distance in to(if is_deep() { 1 } else { 97 }) {
        for bytes in to(if is_deep() { 1 } else { 89 }) {
            count += 1;
            let expected = distance.min(0xffff_u32).saturating_sub(bytes);
            let got = (ops.advance)(distance, bytes);
            if got != expected {
                return Err(format!(
                    "{distance} minus {bytes} gave {got} instead of {expected}"
                ));
            }
        }
    }
    Ok(count)
}
