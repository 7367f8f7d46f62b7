//! The frame check sequence (IEEE 802.15.4-2015 §7.2.10).

use redpoll_base::crc::crc16;

/// Returns the check sequence of a frame's header and payload. Its low byte is sent first.
pub fn fcs(frame: &[u8]) -> u16 {
    frame.iter().fold(0, |crc, byte| crc16(crc, *byte))
}
