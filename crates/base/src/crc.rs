//! Cyclic redundancy checks, a byte at a time, without tables, which would take flash.

/// Adds a byte to a CRC-16 of ITU-T: x^16 + x^12 + x^5 + 1, the bits of a byte in order of
/// transmission. IEEE 802.15.4 starts from 0, RFC 1662 from 0xffff.
pub const fn crc16(sum: u16, byte: u8) -> u16 {
    // The polynomial has only three terms below x^16, so the eight steps fold into a few shifts.
    let [low, _] = sum.to_le_bytes();
    let mut x = low ^ byte;
    x ^= x << 4;
    let x = x as u16;
    (sum >> 8) ^ (x << 8) ^ (x << 3) ^ (x >> 4)
}

/// Adds a byte to a CRC-32 of IEEE 802.3, the bits of a byte in order of transmission. It
/// starts from 0xffff_ffff and is sent inverted.
pub const fn crc32(sum: u32, byte: u8) -> u32 {
    let mut sum = sum ^ byte as u32;
    let mut bit = 0u8;
    while bit < 8 {
        // The lowest bit is the coefficient of the highest power.
        sum = match sum & 1 {
            0 => sum >> 1,
            _ => sum >> 1 ^ 0xedb8_8320,
        };
        bit = bit.wrapping_add(1);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of CRC-16/KERMIT, CRC-16/X-25 and CRC-32 in the CRC catalogues.
    #[test]
    fn check_values_of_the_catalogues() {
        let sum16 = |start| {
            b"123456789"
                .iter()
                .fold(start, |sum, byte| crc16(sum, *byte))
        };
        assert_eq!(sum16(0), 0x2189);
        assert_eq!(!sum16(0xffff), 0x906e);
        let sum32 = b"123456789"
            .iter()
            .fold(u32::MAX, |sum, byte| crc32(sum, *byte));
        assert_eq!(!sum32, 0xcbf4_3926);
    }
}
