//! What three hops could carry at best, worked out with the radio's times that
//! `docs/model/radio.md` gives: the standard's MAC with a macMinBE of 1, each frame with a backoff, one
//! sender at a time.

use super::scenes::IMAGE;

/// Microseconds of an octet on the air, and over SPI.
const OCTET: f64 = 32.0;
const SPI: f64 = 7.14;
/// Octets before a frame: preamble, delimiter, length.
const SYNC: f64 = 6.0;
/// Mean backoff of none or one period, assessment and turnaround; turnaround and acknowledgement.
const EXCHANGE: f64 = 160.0 + 128.0 + 192.0 + 192.0 + 352.0;
/// Frames of a TCP segment of 487 bytes, and of one of 1,200: check sequences and headers
/// included.
const FIVE_FRAMES: [f64; 5] = [127.0, 124.0, 124.0, 124.0, 98.0];
const TWELVE_FRAMES: [f64; 12] = [
    126.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0,
];
/// Frames of a block of 1,024 bytes with its headers.
const BLOCK_FRAMES: [f64; 11] = [
    120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 30.0,
];
/// The frame of an acknowledgment, a query or an answer.
const SHORT: f64 = 50.0;
/// Hops, and milliseconds between border router and host, there and back.
const HOPS: f64 = 3.0;
const HOST_MS: f64 = 12.0;

/// Milliseconds that a frame takes where a share `lost` of all frames is: a frame and its
/// acknowledgment have to get through.
fn frame_ms(bytes: f64, lost: f64) -> f64 {
    let once = (bytes * SPI + EXCHANGE + (SYNC + bytes) * OCTET) / 1_000.0;
    once / ((1.0 - lost) * (1.0 - lost))
}

/// Milliseconds that a datagram takes over a hop.
fn datagram_ms(frames: &[f64], lost: f64) -> f64 {
    frames.iter().map(|bytes| frame_ms(*bytes, lost)).sum()
}

/// Seconds for the image in segments of five frames, with an acknowledgment for two.
pub fn tcp_s(lost: f64) -> f64 {
    segments_s(&FIVE_FRAMES, 487.0, lost)
}

/// Seconds in segments of 1,200 bytes.
pub fn long_tcp_s(lost: f64) -> f64 {
    segments_s(&TWELVE_FRAMES, 1_200.0, lost)
}

fn segments_s(frames: &[f64], payload: f64, lost: f64) -> f64 {
    let segment = datagram_ms(frames, lost) + frame_ms(SHORT, lost) / 2.0;
    HOPS * segment * (IMAGE / payload) / 1_000.0
}

/// Seconds for the image in blocks of 1,024 bytes, each sent when the one before is answered.
pub fn stop_and_wait_s(lost: f64) -> f64 {
    let block = datagram_ms(&BLOCK_FRAMES, lost) + frame_ms(SHORT, lost);
    (HOPS * block + HOST_MS) * (IMAGE / 1_024.0).ceil() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `docs/studies/ota.md` derives by hand.
    #[test]
    fn the_bounds_are_those_of_the_document() {
        let of = |lost| [tcp_s(lost), long_tcp_s(lost), stop_and_wait_s(lost)].map(f64::round);
        assert_eq!(
            [of(0.0), of(0.05), of(0.1)],
            [[74.0, 70.0, 78.0], [82.0, 78.0, 86.0], [91.0, 87.0, 95.0]]
        );
    }
}
