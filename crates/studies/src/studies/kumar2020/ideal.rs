//! The ideal protocol of the paper's section 8.2.2, as the paper works it out: it has
//! TCP's headers, learns of losses for nothing, and has its radio on only while it
//! sends data and what was lost of them again.

/// Milliseconds that a full frame takes in all (§6.3).
const FRAME_MS: f64 = 7.2;
/// Bytes of readings in a second.
const RATE: f64 = 82.0;

/// Payload of a segment of so many frames: 462 bytes in five (§6.2), 104 fewer a frame
/// less.
fn payload(frames: u32) -> f64 {
    462.0 - 104.0 * (5.0 - f64::from(frames))
}

/// The radio's duty cycle in percent with segments of so many frames, of which
/// `loss` percent are lost and sent again until they arrive.
pub fn duty_cycle(frames: u32, loss: f64) -> f64 {
    let segments = RATE / payload(frames) / (1.0 - loss / 100.0);
    100.0 * segments * f64::from(frames) * FRAME_MS / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::duty_cycle;

    /// Figure 10c and the caption of table 7: 0.63 to 0.70 %.
    #[test]
    fn it_is_the_papers() {
        assert!((0.63..0.65).contains(&duty_cycle(5, 0.0)));
        assert!((0.69..0.71).contains(&duty_cycle(5, 9.0)));
    }
}
