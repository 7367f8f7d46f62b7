//! Traces of noise, in the text format of TOSSIM's traces: each line is a sample of the channel's
//! power in dBm, one for each millisecond.

use std::fmt;
use std::io::BufRead;

use super::lines::{FileError, Lines};
use crate::kernel::Digest;

/// Maximum number of samples of a trace: almost three hours.
pub const MOST_SAMPLES: usize = 10_000_000;
/// Allowed range of a sample, in dBm.
const RANGE_DBM: (f32, f32) = (-130.0, 30.0);

/// Measured noise: a sample for each millisecond.
#[derive(Clone, PartialEq)]
pub struct NoiseTrace {
    /// Samples in dBm, at least one.
    pub samples_dbm: Vec<f32>,
}

impl NoiseTrace {
    /// Reads the text in `reader`. Ignores empty lines.
    pub fn read(reader: impl BufRead) -> Result<NoiseTrace, FileError> {
        let mut lines = Lines::new(reader);
        let mut samples_dbm = Vec::new();
        loop {
            let number = lines.number() + 1;
            let Some(line) = lines.next()? else { break };
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            let column = line.len() - line.trim_start().len() + 1;
            let (min, max) = RANGE_DBM;
            let sample = text.parse::<f32>().ok();
            let Some(sample) = sample.filter(|sample| (min..=max).contains(sample)) else {
                let got: String = text
                    .chars()
                    .take(40)
                    .flat_map(char::escape_default)
                    .collect();
                let problem = format!(
                    "got \"{got}\"; allowed: noise in dBm, a number from {min} to {max} on each line"
                );
                return Err(FileError::new(number, column, problem));
            };
            if samples_dbm.len() == MOST_SAMPLES {
                let problem = format!(
                    "got more than {MOST_SAMPLES} samples; allowed: at most {MOST_SAMPLES}"
                );
                return Err(FileError::new(number, 1, problem));
            }
            samples_dbm.push(sample);
        }
        match samples_dbm.is_empty() {
            true => Err(FileError::new(
                1,
                1,
                "got no sample; allowed: noise in dBm, one number on each line",
            )),
            false => Ok(NoiseTrace { samples_dbm }),
        }
    }
}

impl fmt::Debug for NoiseTrace {
    /// Shows a digest instead of the samples, so that different traces have different texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digest = Digest::default();
        for sample in &self.samples_dbm {
            digest.add(sample.to_bits().into());
        }
        f.debug_struct("NoiseTrace")
            .field("samples", &self.samples_dbm.len())
            .field("digest", &digest.value())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Rng;

    #[test]
    fn a_sample_is_on_each_line() {
        let trace = NoiseTrace::read(&b"-98\n -97.5\r\n\n-40\n"[..]).unwrap();
        assert_eq!(trace.samples_dbm, [-98.0, -97.5, -40.0]);
    }

    #[test]
    fn invalid_samples_are_reported_with_line_and_column() {
        for (text, line, column, part) in [
            ("", 1, 1, "got no sample"),
            ("-98\n  x\n", 2, 3, "got \"x\"; allowed: noise in dBm"),
            ("-98\n-98 -97\n", 2, 1, "got \"-98 -97\""),
            ("40\n", 1, 1, "got \"40\""),
            ("-98\nNaN\n", 2, 1, "got \"NaN\""),
            ("-1e9\n", 1, 1, "from -130 to 30"),
        ] {
            let error = NoiseTrace::read(text.as_bytes()).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{error}");
            assert!(error.problem.contains(part), "{error}");
        }
    }

    #[test]
    fn damaged_noise_files_are_read_or_refused() {
        let mut rng = Rng::new(98);
        let mut read = 0;
        for _ in 0..20_000 {
            let mut bytes = b"-98\n-97.5\n-40\n-99\n".to_vec();
            for _ in 0..=rng.below(3) {
                let at = rng.below(bytes.len() as u32) as usize;
                bytes[at] = match rng.below(2) {
                    0 => rng.next_u32() as u8,
                    _ => b"-.019e\n "[rng.below(8) as usize],
                };
            }
            let Ok(trace) = NoiseTrace::read(bytes.as_slice()) else {
                continue;
            };
            read += 1;
            assert!(!trace.samples_dbm.is_empty());
            let allowed = |sample: &f32| (-130.0..=30.0).contains(sample);
            assert!(trace.samples_dbm.iter().all(allowed));
        }
        assert!(read > 1_000, "{read}");
    }
}
