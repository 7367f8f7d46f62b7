//! The ideal protocol of the paper's §8.2.2, by the paper's formula. It has TCP's headers, learns
//! of losses at no cost, and has its radio on only while it transmits or retransmits data.

/// Total time of a full frame in milliseconds (the paper's §6.3).
const FRAME_MS: f64 = 7.2;
/// Bytes of readings per second.
const RATE: f64 = 82.0;

/// Returns the payload bytes of a segment of `frames` frames: 462 for five frames (the paper's
/// §6.2), and 104 more for each additional frame, or 104 fewer for each missing one.
fn payload(frames: u32) -> f64 {
    462.0 - 104.0 * (5.0 - f64::from(frames))
}

/// Returns the radio's duty cycle in percent with segments of `frames` frames, if `loss` percent of
/// the segments are lost and retransmitted until they arrive.
pub fn duty_cycle(frames: u32, loss: f64) -> f64 {
    let segments = RATE / payload(frames) / (1.0 - loss / 100.0);
    100.0 * segments * f64::from(frames) * FRAME_MS / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::duty_cycle;

    /// The range 0.63 to 0.70 % is from figure 10c and the caption of table 7.
    #[test]
    fn the_ideal_duty_cycle_is_that_of_the_paper() {
        assert!((0.63..0.65).contains(&duty_cycle(5, 0.0)));
        assert!((0.69..0.71).contains(&duty_cycle(5, 9.0)));
    }
}
