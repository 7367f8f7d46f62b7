//! Upper bound of the goodput over one hop: the paper's chain of bounds (§6.3), calculated from the
//! radio's times in `docs/model/radio.md`.

/// Microseconds per octet on the air.
const OCTET: f64 = 32.0;
/// Octets before a frame: preamble, delimiter, length.
const SYNC: f64 = 6.0;
/// Microseconds per byte over SPI.
const SPI: f64 = 7.14;
/// Microseconds of mean backoff, assessment, turnaround, second turnaround and acknowledgment.
const EXCHANGE: f64 = 1_120.0 + 128.0 + 192.0 + 192.0 + 352.0;
const FULL: f64 = 127.0;
/// Bytes of the frames of a segment of 462 bytes, including timestamps, check sequences and the
/// profile's MAC headers of 15 bytes.
const SEGMENT: [f64; 5] = [127.0, 124.0, 124.0, 124.0, 98.0];
/// Bytes of the frame of the segment's acknowledgment.
const ACKNOWLEDGMENT: f64 = 50.0;
/// Bytes of the segment's payload; `TCP_HEADER`: bytes of the TCP header with options.
const PAYLOAD: f64 = 462.0;
const TCP_HEADER: f64 = 32.0;

/// Returns the total time of a frame in milliseconds.
pub fn frame_ms(bytes: f64) -> f64 {
    (bytes * SPI + EXCHANGE + (SYNC + bytes) * OCTET) / 1_000.0
}

/// Returns the rate of full frames in kb/s, headers included.
pub fn radio_kbps() -> f64 {
    FULL * 8.0 / frame_ms(FULL)
}

/// Returns the rate of TCP segments in their frames in kb/s, TCP headers included, without ACKs.
pub fn unused_kbps() -> f64 {
    let ms: f64 = SEGMENT.iter().map(|bytes| frame_ms(*bytes)).sum();
    (PAYLOAD + TCP_HEADER) * 8.0 / ms
}

/// Returns the loss-free rate of segments of five full frames in kb/s, TCP headers included.
pub fn unused_of_full_kbps() -> f64 {
    (PAYLOAD + TCP_HEADER) * 8.0 / (SEGMENT.len() as f64 * frame_ms(FULL))
}

/// Returns the payload rate in kb/s, with an acknowledgment for every second segment.
pub fn tcp_kbps() -> f64 {
    let ms: f64 = SEGMENT.iter().map(|bytes| frame_ms(*bytes)).sum();
    PAYLOAD * 8.0 / (ms + frame_ms(ACKNOWLEDGMENT) / 2.0)
}
