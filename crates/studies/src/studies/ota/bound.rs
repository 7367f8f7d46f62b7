//! Upper bound of the speed over three hops, calculated from the radio's times in
//! `docs/model/radio.md`: the standard's MAC with a macMinBE of 1, a backoff before each frame, one
//! sender at a time.

use super::scenes::IMAGE;

/// Microseconds per octet on the air, and per byte over SPI.
const OCTET: f64 = 32.0;
const SPI: f64 = 7.14;
/// Octets before a frame: preamble, delimiter, length.
const SYNC: f64 = 6.0;
/// Microseconds of a mean backoff of half a period, assessment and turnaround, then of turnaround
/// and acknowledgment.
const EXCHANGE: f64 = 160.0 + 128.0 + 192.0 + 192.0 + 352.0;
/// Bytes of each frame of a TCP segment of 487 bytes; `TWELVE_FRAMES` is for one of 1,200 bytes.
/// Headers and check sequences are included.
const FIVE_FRAMES: [f64; 5] = [127.0, 124.0, 124.0, 124.0, 98.0];
const TWELVE_FRAMES: [f64; 12] = [
    126.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0,
];
/// Bytes of the frames of a block of 1,024 bytes with its headers.
const BLOCK_FRAMES: [f64; 11] = [
    120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 30.0,
];
/// Bytes of the frame of an acknowledgment, a query or an answer.
const SHORT: f64 = 50.0;
/// Number of hops, and round-trip time between border router and host in milliseconds.
const HOPS: f64 = 3.0;
const HOST_MS: f64 = 12.0;

/// Returns the mean time of a frame in milliseconds, where a share `lost` of all frames is lost.
/// Both the frame and its acknowledgment have to arrive.
fn frame_ms(bytes: f64, lost: f64) -> f64 {
    let once = (bytes * SPI + EXCHANGE + (SYNC + bytes) * OCTET) / 1_000.0;
    once / ((1.0 - lost) * (1.0 - lost))
}

/// Returns the time of a datagram over a hop, in milliseconds.
fn datagram_ms(frames: &[f64], lost: f64) -> f64 {
    frames.iter().map(|bytes| frame_ms(*bytes, lost)).sum()
}

/// Returns the seconds that the image takes in segments of five frames, with an acknowledgment for
/// every second segment.
pub fn tcp_s(lost: f64) -> f64 {
    segments_s(&FIVE_FRAMES, 487.0, lost)
}

/// Returns the seconds that the image takes in segments of 1,200 bytes.
pub fn long_tcp_s(lost: f64) -> f64 {
    segments_s(&TWELVE_FRAMES, 1_200.0, lost)
}

fn segments_s(frames: &[f64], payload: f64, lost: f64) -> f64 {
    let segment = datagram_ms(frames, lost) + frame_ms(SHORT, lost) / 2.0;
    HOPS * segment * (IMAGE / payload) / 1_000.0
}

/// Returns the seconds that the image takes in blocks of 1,024 bytes, each sent after the answer to
/// the previous block.
pub fn stop_and_wait_s(lost: f64) -> f64 {
    let block = datagram_ms(&BLOCK_FRAMES, lost) + frame_ms(SHORT, lost);
    (HOPS * block + HOST_MS) * (IMAGE / 1_024.0).ceil() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/studies/ota.md` derives these numbers by hand.
    #[test]
    fn the_bounds_are_those_of_the_document() {
        let of = |lost| [tcp_s(lost), long_tcp_s(lost), stop_and_wait_s(lost)].map(f64::round);
        assert_eq!(
            [of(0.0), of(0.05), of(0.1)],
            [[74.0, 70.0, 78.0], [82.0, 78.0, 86.0], [91.0, 87.0, 95.0]]
        );
    }
}
