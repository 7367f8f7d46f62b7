//! Timings of the 2.4 GHz O-QPSK PHY and of the MAC above it, in microseconds.
//!
//! IEEE 802.15.4-2015 §12 (62,500 symbols per second, 4 bits each),
//! §8.4 (MAC constants) and §11.3 (PHY constants).

/// One symbol.
pub const SYMBOL_US: u64 = 16;
/// One octet, two symbols.
pub const OCTET_US: u64 = 32;
/// aUnitBackoffPeriod, 20 symbols.
pub const UNIT_BACKOFF_US: u64 = 320;
/// A clear-channel assessment, 8 symbols.
pub const CCA_US: u64 = 128;
/// aTurnaroundTime from receiving to sending or back, 12 symbols.
pub const TURNAROUND_US: u64 = 192;
/// macAckWaitDuration from the end of a frame to the end of its acknowledgement, 54 symbols.
pub const ACK_WAIT_US: u64 = 864;
/// Airtime of preamble, start-of-frame delimiter and length: six octets.
pub const SHR_PHR_US: u64 = 192;
/// Short interframe space, 12 symbols, after frames of at most [`MAX_SIFS_PSDU`] bytes.
pub const SIFS_US: u64 = 192;
/// Long interframe space, 40 symbols, after longer frames.
pub const LIFS_US: u64 = 640;
/// aMaxPHYPacketSize: bytes of a frame with its check sequence.
pub const MAX_PSDU: usize = 127;
/// aMaxSIFSFrameSize in bytes.
pub const MAX_SIFS_PSDU: usize = 18;
/// Bytes of an immediate acknowledgement with its check sequence.
pub const ACK_PSDU: usize = 5;

/// Returns the airtime of preamble, length, and a frame of `psdu_len` bytes (with check sequence).
pub const fn air_time_us(psdu_len: usize) -> u64 {
    (psdu_len as u64)
        .saturating_mul(OCTET_US)
        .saturating_add(SHR_PHR_US)
}
