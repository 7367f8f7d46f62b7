//! The calls in Thumb code: BL and B of ARMv6-M (Architecture Reference Manual, A6.7.13 and
//! A6.7.12). Constants between the instructions may look like calls, so the caller checks their
//! targets.

/// Returns the source and target addresses of every call and unconditional jump in `code`.
pub fn calls(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    let words: Vec<u16> = code
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    let mut found = Vec::new();
    for (i, &word) in words.iter().enumerate() {
        let here = address + 2 * i as u64;
        let next = words.get(i + 1).copied().unwrap_or(0);
        let offset = bl(word, next).or_else(|| b(word));
        if let Some(offset) = offset {
            // The program counter reads as four bytes ahead.
            found.push((here, (here + 4).wrapping_add_signed(offset)));
        }
    }
    found
}

/// Returns the offset of a BL, which is two halfwords long.
pub fn bl(first: u16, second: u16) -> Option<i64> {
    if first & 0xf800 != 0xf000 || second & 0xd000 != 0xd000 {
        return None;
    }
    let (first, second) = (u32::from(first), u32::from(second));
    let s = first >> 10 & 1;
    let i1 = !((second >> 13) ^ s) & 1;
    let i2 = !((second >> 11) ^ s) & 1;
    let bits = s << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
    Some(sign_extended(bits, 25))
}

/// Returns the offset of a B without a condition.
fn b(word: u16) -> Option<i64> {
    (word & 0xf800 == 0xe000).then(|| sign_extended(u32::from(word & 0x7ff) << 1, 12))
}

fn sign_extended(bits: u32, width: u32) -> i64 {
    let shift = 32 - width;
    i64::from((bits << shift) as i32 >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are those of `arm-none-eabi-objdump`.
    #[test]
    fn calls_lead_where_a_disassembler_says() {
        // 467e: f7ff fff9  bl 4674
        assert_eq!(calls(&[0xff, 0xf7, 0xf9, 0xff], 0x467e), [(0x467e, 0x4674)]);
        // 400c: f000 fb35  bl 467a
        assert_eq!(calls(&[0x00, 0xf0, 0x35, 0xfb], 0x400c), [(0x400c, 0x467a)]);
        // 4678: e7fe  b.n 4678
        assert_eq!(calls(&[0xfe, 0xe7], 0x4678), [(0x4678, 0x4678)]);
    }

    #[test]
    fn other_instructions_are_no_calls() {
        // push {r4, lr}; ldr r0, [pc, #4]; bx lr; and half a BL at the end.
        let code = [0x10, 0xb5, 0x01, 0x48, 0x70, 0x47, 0xff, 0xf7];
        assert_eq!(calls(&code, 0), []);
    }
}
