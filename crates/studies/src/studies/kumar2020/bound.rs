//! What one hop could carry at best: the paper's chain of bounds (§6.3), worked
//! out with the radio's times that `docs/model/radio.md` gives.

/// Microseconds of an octet on the air.
const OCTET: f64 = 32.0;
/// Octets before a frame: preamble, delimiter, length.
const SYNC: f64 = 6.0;
/// Loading a byte over SPI.
const SPI: f64 = 7.14;
/// Mean backoff, assessment and turnaround; turnaround and acknowledgement.
const EXCHANGE: f64 = 1_120.0 + 128.0 + 192.0 + 192.0 + 352.0;
/// The longest frame.
const FULL: f64 = 127.0;
/// Frames of a segment of 462 bytes with timestamps, check sequences and the 15 bytes
/// of the profile's MAC headers included.
const SEGMENT: [f64; 5] = [127.0, 124.0, 124.0, 124.0, 98.0];
/// The frame of its acknowledgment.
const ACKNOWLEDGMENT: f64 = 50.0;
/// Payload of the segment, and its TCP header with options.
const PAYLOAD: f64 = 462.0;
const TCP_HEADER: f64 = 32.0;

/// Milliseconds that a frame takes in all.
pub fn frame_ms(bytes: f64) -> f64 {
    (bytes * SPI + EXCHANGE + (SYNC + bytes) * OCTET) / 1_000.0
}

/// kb/s of full frames, headers and all.
pub fn radio_kbps() -> f64 {
    FULL * 8.0 / frame_ms(FULL)
}

/// kb/s of TCP's segments, headers and all, in their frames, without
/// acknowledgments.
pub fn unused_kbps() -> f64 {
    let ms: f64 = SEGMENT.iter().map(|bytes| frame_ms(*bytes)).sum();
    (PAYLOAD + TCP_HEADER) * 8.0 / ms
}

/// What a segment of five full frames could carry where nothing is lost, in kbit/s.
pub fn unused_of_full_kbps() -> f64 {
    (PAYLOAD + TCP_HEADER) * 8.0 / (SEGMENT.len() as f64 * frame_ms(FULL))
}

/// kb/s of payload, with an acknowledgment every second segment.
pub fn tcp_kbps() -> f64 {
    let ms: f64 = SEGMENT.iter().map(|bytes| frame_ms(*bytes)).sum();
    PAYLOAD * 8.0 / (ms + frame_ms(ACKNOWLEDGMENT) / 2.0)
}
