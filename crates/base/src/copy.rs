//! Copy functions that cannot panic, and are fast on a small processor.

use core::ops::Range;

use bytemuck::{pod_align_to, pod_align_to_mut};

/// Copies as many bytes of `from` as fit to the start of `to`; returns their number.
/// `copy_from_slice` panics if the lengths differ, and the optimiser often cannot remove that code.
pub fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
        match cfg!(target_arch = "arm") && differ_by_a_half(from, to) {
            true => copy_halves(from, to),
            false => to.copy_from_slice(from),
        }
    }
    len
}

/// Moves the bytes `from` within `bytes` to `to`, as far as there is room; both ranges may overlap.
/// Returns the number of moved bytes. `copy_within` panics if not all bytes fit, and takes more
/// than a kilobyte of code.
pub fn move_within(bytes: &mut [u8], from: Range<usize>, to: usize) -> usize {
    let end = from.end.min(bytes.len());
    let room = bytes.len().saturating_sub(to);
    let count = end.saturating_sub(from.start).min(room);
    let mut one = |at: usize| {
        let byte = bytes.get(from.start.saturating_add(at)).copied();
        if let Some((byte, place)) = byte.zip(bytes.get_mut(to.saturating_add(at))) {
            *place = byte;
        }
    };
    // Towards a higher address the copy runs backwards, so that each byte is read before it is
    // overwritten.
    match to <= from.start {
        true => (0..count).for_each(&mut one),
        false => (0..count).rev().for_each(&mut one),
    }
    count
}

/// Returns whether `from` has at least 16 bytes, and the two addresses differ by an odd number of
/// halfwords.
fn differ_by_a_half(from: &[u8], to: &[u8]) -> bool {
    from.len() >= 16 && (from.as_ptr().addr() ^ to.as_ptr().addr()) % 4 == 2
}

/// Copies slices of one length, both at even or both at odd addresses, two bytes at a time: one and
/// a half instructions per byte on a Cortex-M0. `memcpy` takes one instruction per byte if source
/// and destination are aligned alike, otherwise five, because the processor loads only aligned
/// words.
fn copy_halves(from: &[u8], to: &mut [u8]) {
    let (from_head, from_halves, from_tail) = pod_align_to::<u8, [u16; 8]>(from);
    let (to_head, to_halves, to_tail) = pod_align_to_mut::<u8, [u16; 8]>(to);
    copy_bytes(from_head, to_head);
    for ([a, b, c, d, e, f, g, h], to) in from_halves.iter().zip(to_halves) {
        let [to_a, to_b, to_c, to_d, to_e, to_f, to_g, to_h] = to;
        (*to_a, *to_b, *to_c, *to_d) = (*a, *b, *c, *d);
        (*to_e, *to_f, *to_g, *to_h) = (*e, *f, *g, *h);
    }
    copy_bytes(from_tail, to_tail);
}

fn copy_bytes(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.iter().zip(to) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::{copy, copy_halves, differ_by_a_half, move_within};

    /// Tests the variant for small processors (`copy_halves`) at every alignment and length.
    #[test]
    fn halves_are_copied_wherever_they_begin() {
        let from: [u8; 80] = core::array::from_fn(|i| i as u8 + 1);
        for at in 0..8 {
            for len in 0..64 {
                for to_at in (at % 2..8).step_by(2) {
                    let mut to = [0; 80];
                    let copied = to_at..to_at + len;
                    copy_halves(&from[at..at + len], &mut to[copied.clone()]);
                    assert_eq!(to[copied.clone()], from[at..at + len]);
                    let around = to.iter().filter(|byte| **byte == 0).count();
                    assert_eq!(around, 80 - len, "no other byte is written");
                }
            }
        }
    }

    #[test]
    fn ranges_that_fit_are_moved_even_if_they_overlap() {
        for from in 0..9 {
            for until in 0..12 {
                for to in 0..12 {
                    let mut bytes = *b"01234567";
                    let before = bytes;
                    let count = move_within(&mut bytes, from..until, to);
                    let end = until.min(8);
                    assert_eq!(
                        count,
                        end.saturating_sub(from).min(8_usize.saturating_sub(to))
                    );
                    let mut expected = before;
                    if count > 0 {
                        expected.copy_within(from..from + count, to);
                    }
                    assert_eq!(bytes, expected, "{from}..{until} to {to}");
                }
            }
        }
    }

    #[test]
    fn ranges_that_fit_are_copied() {
        let mut to = [0; 3];
        assert_eq!((copy(&[1, 2, 3, 4], &mut to), to), (3, [1, 2, 3]));
        assert_eq!((copy(&[9], &mut to), to), (1, [9, 2, 3]));
        assert_eq!((copy(&[], &mut to), copy(&[7], &mut [])), (0, 0));
    }

    /// `copy_halves` is used only for at least 16 bytes, and only if the two addresses differ by an
    /// odd number of halfwords.
    #[test]
    fn halves_are_used_if_words_do_not_line_up() {
        let bytes = [0; 64];
        for from in 0..8 {
            for to in 0..8_usize {
                let half_apart = to.abs_diff(from) % 4 == 2;
                let differ = |len| differ_by_a_half(&bytes[from..from + len], &bytes[to..]);
                assert_eq!(differ(16), half_apart, "{from} {to}");
                assert!(!differ(15), "{from} {to}");
            }
        }
    }
}
