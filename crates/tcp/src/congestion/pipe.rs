//! How much of the congestion window is in use (RFC 7661 §4.3).

use crate::ahead::{Ahead, window};

/// The most that was in use in the present round trip.
///
/// An acknowledgment is judged by that, not by what it leaves: the last ones of
/// a filled window tell of a filled window, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe {
    most: u16,
    /// Where the data ends that was out at that moment.
    end: Ahead,
}

impl Pipe {
    /// SND.UNA moved by `advance`. Before that `used` bytes were in use, and
    /// now `flight` are out. Returns the most of the round trip.
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
    fn the_most_counts_up_to_the_last_byte_of_it() {
        let mut pipe = Pipe::default();
        for left in [300, 200, 100, 0] {
            assert_eq!(pipe.on_ack(100, left + 100, left), 400);
        }
        assert_eq!(pipe.on_ack(100, 200, 100), 200);
        assert_eq!(pipe.on_ack(100, 900, 800), 900);
    }
}
