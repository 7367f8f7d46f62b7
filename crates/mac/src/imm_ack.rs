//! Acknowledgments by the MAC, for a radio that does not send them.
//!
//! An Imm-ACK is due 192 µs after the frame (AIFS). The sender stops waiting macAckWaitDuration
//! after the frame's end, so the MAC does not send an acknowledgment that would end later.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::timing;

/// An Imm-ACK is five bytes of PSDU: header 2, sequence number 1, FCS 2.
const IMM_ACK_PSDU: usize = 5;

/// macAckWaitDuration, 54 symbols (IEEE 802.15.4-2015 §8.4.3).
pub(crate) const ACK_WAIT: Duration = Duration::from_micros(timing::ACK_WAIT_US);

/// Latest start of an Imm-ACK after the end of its frame.
const LATEST_START: Duration =
    Duration::from_micros(timing::ACK_WAIT_US.saturating_sub(timing::air_time_us(IMM_ACK_PSDU)));

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ImmAck {
    pub(crate) dsn: u8,
    pub(crate) pending: bool,
    latest: Instant,
}

impl ImmAck {
    /// Returns the Imm-ACK for the frame `dsn`, whose last bit arrived at `now`.
    pub(crate) fn owed(now: Instant, dsn: u8, pending: bool) -> Self {
        ImmAck {
            dsn,
            pending,
            latest: now + LATEST_START,
        }
    }

    pub(crate) fn is_late(&self, now: Instant) -> bool {
        now > self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_is_late_if_it_would_end_after_the_wait() {
        assert_eq!(ACK_WAIT, Duration::from_micros(864));
        let ack = ImmAck::owed(Instant::from_micros(1_000), 3, false);
        assert!(!ack.is_late(Instant::from_micros(1_192)));
        assert!(!ack.is_late(Instant::from_micros(1_512)));
        assert!(ack.is_late(Instant::from_micros(1_513)));
    }
}
