//! The frame check sequence (IEEE 802.15.4-2015 §7.2.10).

/// The check sequence over a frame's header and payload. It follows them over
/// the air, low byte first.
///
/// CRC-16 of ITU-T, x^16 + x^12 + x^5 + 1, bits in order of transmission,
/// starting from zero.
pub fn fcs(frame: &[u8]) -> u16 {
    frame.iter().fold(0, |crc, byte| {
        // A byte at a time without a table: the polynomial has only three
        // terms below x^16, so the eight steps fold into a few shifts.
        let [low, _] = crc.to_le_bytes();
        let mut x = low ^ byte;
        x ^= x << 4;
        let x = u16::from(x);
        (crc >> 8) ^ (x << 8) ^ (x << 3) ^ (x >> 4)
    })
}
