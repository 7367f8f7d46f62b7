//! Checks that an image reaches a leaf's flash unchanged, and measures its transfer.

use redpoll_base::Instant;
use serde::Serialize;

use super::content::counting_lines;

/// Figures of a flow that transfers an image to a leaf.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ImageFigures {
    /// Bytes of the image in the leaf's flash, each counted once.
    pub written_bytes: u64,
    /// Bytes of the image that were written to the flash again.
    pub written_again_bytes: u64,
    /// Bytes of the image that its source sent, including all retransmissions except those of the
    /// link.
    pub sent_bytes: u64,
    /// Number of times that the leaf restarted the transfer, with the missing part or from the
    /// beginning.
    pub resumed: u64,
    /// Time at which the leaf began its first request, in seconds since the start of the run.
    pub began_s: f64,
    /// Time from `began_s` until the whole image was in flash, in seconds; `null` if the image is
    /// incomplete.
    pub took_s: Option<f64>,
    /// Bytes sent in excess: `sent_bytes` minus the size of the image, in percent of the size of
    /// the image; `null` if the image is incomplete.
    pub sent_twice_percent: Option<f64>,
}

#[derive(Debug, Default)]
pub(super) struct Image {
    flash: Vec<bool>,
    written: u64,
    again: u64,
    sent: u64,
    begun: Option<Instant>,
    attempts: u64,
    whole: Option<(Instant, u64)>,
}

impl Image {
    pub(super) fn begun(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
        self.attempts += 1;
    }

    pub(super) fn written(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let begin = offset as usize;
        let end = begin + bytes.len();
        if self.flash.len() < end {
            self.flash.resize(end, false);
        }
        for cell in &mut self.flash[begin..end] {
            match std::mem::replace(cell, true) {
                true => self.again += 1,
                false => self.written += 1,
            }
        }
        let mut expected = vec![0; bytes.len()];
        counting_lines(offset, &mut expected);
        match bytes == expected {
            true => Ok(()),
            false => Err(format!(
                "wrong bytes were written to the image at offset {offset}"
            )),
        }
    }

    pub(super) fn whole(&mut self, now: Instant, size: u64) -> Result<(), String> {
        self.whole.get_or_insert((now, size));
        match (self.written, self.flash.len() as u64) == (size, size) {
            true => Ok(()),
            false => Err(format!(
                "an image of {size} bytes was reported complete, but {} bytes were written and \
                 the image in flash has {} bytes",
                self.written,
                self.flash.len()
            )),
        }
    }

    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Returns the figures, or `None` without a leaf that fetches the image.
    pub(super) fn figures(&self) -> Option<ImageFigures> {
        let begun = self.begun?;
        let seconds = |at: Instant, since| at.since(since).as_micros() as f64 / 1e6;
        let twice = |(_, size): (Instant, u64)| {
            100.0 * self.sent.saturating_sub(size) as f64 / size.max(1) as f64
        };
        Some(ImageFigures {
            written_bytes: self.written,
            written_again_bytes: self.again,
            sent_bytes: self.sent,
            resumed: self.attempts.saturating_sub(1),
            began_s: seconds(begun, Instant::ZERO),
            took_s: self.whole.map(|(at, _)| seconds(at, begun)),
            sent_twice_percent: self.whole.map(twice),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn wrong_missing_and_repeated_bytes_are_reported() {
        let mut image = Image::default();
        assert_eq!(image.figures(), None);
        image.begun(at(1_000));
        assert_eq!(image.written(0, b"0000000\n"), Ok(()));
        assert!(image.written(8, b"0000002\n").is_err());
        assert!(image.whole(at(2_000), 24).is_err());
        let mut image = Image::default();
        image.begun(at(1_000));
        image.sent(30);
        assert_eq!(image.written(8, b"0000001\n"), Ok(()));
        image.begun(at(1_500));
        assert_eq!(image.written(0, b"0000000\n0000"), Ok(()));
        assert_eq!(image.whole(at(3_000), 16), Ok(()));
        let figures = image.figures().unwrap();
        assert_eq!(
            (figures.written_bytes, figures.written_again_bytes),
            (16, 4)
        );
        assert_eq!((figures.took_s, figures.resumed), (Some(2.0), 1));
        assert_eq!(figures.sent_twice_percent, Some(87.5));
    }
}
