//! Numbered lines as test data, which a user can also generate in a shell to check a transfer.

const LINE: u64 = 8;
/// Number of lines after which the numbers start again from 0.
const LINES: u64 = 10_000_000;

/// Fills `out` with numbered lines from byte `offset` on: seven digits and a line feed each, the
/// output of `seq -f %07.0f 0 9999999`.
pub fn counting_lines(offset: u64, out: &mut [u8]) {
    for (at, byte) in (offset..).zip(out) {
        let line = at / LINE % LINES;
        *byte = match at % LINE {
            7 => b'\n',
            digit => {
                // The most significant digit comes first.
                let power = 10u64.pow((6 - digit) as u32);
                b'0' + (line / power % 10) as u8
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_any_offset() {
        let mut text = [0; 24];
        counting_lines(0, &mut text);
        assert_eq!(&text, b"0000000\n0000001\n0000002\n");
        let mut part = [0; 11];
        counting_lines(8 * 1_234_567 + 5, &mut part);
        assert_eq!(&part, b"67\n1234568\n");
        counting_lines(8 * 9_999_999, &mut text);
        assert_eq!(&text, b"9999999\n0000000\n0000001\n");
    }
}
