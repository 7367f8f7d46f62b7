//! The used part of the congestion window (RFC 7661 §4.3).

use crate::ahead::{Ahead, window};

/// Maximum use of the congestion window in the current round trip. The use decreases with each
/// acknowledgment. The growth of the window depends on the maximum, so that even the last
/// acknowledgments of a full window count as those of a full window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe {
    most: u16,
    /// End of the data that was outstanding at the maximum.
    end: Ahead,
}

impl Pipe {
    /// Processes an advance of SND.UNA by `advance` bytes. `used` bytes were in use before it, and
    /// `flight` bytes are outstanding now. Returns the maximum of the round trip in bytes.
    pub(crate) fn on_ack(&mut self, advance: u32, used: u32, flight: u32) -> u32 {
        if self.end == Ahead::UNA || used > u32::from(self.most) {
            self.most = window(used);
            self.end = Ahead::by(flight);
        } else {
            self.end.on_advance(advance);
        }
        u32::from(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_flight_counts_until_its_last_byte() {
        let mut pipe = Pipe::default();
        for left in [300, 200, 100, 0] {
            assert_eq!(pipe.on_ack(100, left + 100, left), 400);
        }
        assert_eq!(pipe.on_ack(100, 200, 100), 200);
        assert_eq!(pipe.on_ack(100, 900, 800), 900);
    }
}
