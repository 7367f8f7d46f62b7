//! Running the image `pair` on QEMU's Cortex-M0, and what it prints.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::report::Failure;
use crate::workspace;

pub const EMULATOR: &str = "qemu-system-arm";

/// Data segments that are counted.
pub const SEGMENTS: u32 = 1000;

/// Each instruction lasts 2^8 ns of virtual time: about four ticks of a timer
/// at 16 MHz, and the timer's 24 bits last for millions of them.
const ICOUNT: &str = "shift=8,align=off,sleep=off";

/// Instructions for each data segment, both ends and ACKs together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSegment {
    /// Everything.
    pub all: f64,
    /// Of these, the four copies of the payload.
    pub copy: f64,
    /// Of these, the checksums: made and verified, of data and of ACKs.
    pub checksum: f64,
    /// Acknowledgments for each data segment.
    pub acks: f64,
    /// How many segments were counted.
    pub segments: u64,
}

impl PerSegment {
    /// Without copies of payload and checksums.
    pub fn without_bytes(&self) -> f64 {
        self.all - self.copy - self.checksum
    }
}

/// `qemu-system-arm` with an image that takes a number of segments.
pub fn command(image: &Path, segments: u32) -> Command {
    let mut command = Command::new(EMULATOR);
    command.args([
        "-machine", "microbit", "-display", "none", "-icount", ICOUNT,
    ]);
    command.args(["-serial", "none", "-monitor", "none"]);
    // What the image prints goes to the standard output.
    command.args(["-chardev", "stdio,id=out"]);
    let arguments = format!("enable=on,target=native,chardev=out,arg=pair,arg={segments}");
    command.args(["-semihosting-config", &arguments]);
    command.arg("-kernel").arg(image);
    command
}

/// Counts.
pub fn count(image: &Path) -> Result<PerSegment, Failure> {
    let printed = workspace::output(&mut command(image, SEGMENTS))?;
    parse(&printed)
}

/// Reads what the image printed: lines of a name and a number.
fn parse(printed: &str) -> Result<PerSegment, Failure> {
    let numbers: BTreeMap<&str, f64> = printed
        .lines()
        .filter_map(|line| {
            let (name, number) = line.split_once(' ')?;
            Some((name, number.trim().parse().ok()?))
        })
        .collect();
    let number = |name: &str| {
        numbers.get(name).copied().ok_or_else(|| {
            Failure::new(format!(
                "size: no `{name}` in what pair printed:\n{printed}"
            ))
        })
    };
    let ticks_each = number("calibration_ticks")? / number("calibration_instructions")?;
    let lap = number("empty_ticks")? / number("empty_laps")?;
    let segments = number("data_segments")?;
    if segments < 1.0 || ticks_each <= 0.0 || !lap.is_finite() {
        return Err(Failure::new(format!(
            "size: pair counted nothing:\n{printed}"
        )));
    }
    let each = |name: &str| -> Result<f64, Failure> {
        let ticks = number(&format!("{name}_ticks"))? - lap * number(&format!("{name}_laps"))?;
        Ok(ticks / ticks_each / segments)
    };
    Ok(PerSegment {
        all: each("exchange")?,
        copy: each("copy")?,
        checksum: each("checksum")?,
        acks: number("acks")? / segments,
        segments: segments as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "data_segments 10\nacks 5\ncalibration_instructions 1000\n\
        calibration_ticks 4000\nexchange_ticks 400020\nexchange_laps 10\n\
        checksum_ticks 40060\nchecksum_laps 30\ncopy_ticks 80080\ncopy_laps 40\n\
        empty_ticks 20\nempty_laps 10\n";

    #[test]
    fn ticks_become_instructions_for_each_segment() {
        let counts = parse(PRINTED).unwrap();
        assert_eq!(
            counts,
            PerSegment {
                all: 10_000.0,
                copy: 2_000.0,
                checksum: 1_000.0,
                acks: 0.5,
                segments: 10,
            }
        );
        assert_eq!(counts.without_bytes(), 7_000.0);
    }

    #[test]
    fn what_is_missing_is_named() {
        let without = PRINTED.replace("copy_laps", "laps");
        let failure = parse(&without).unwrap_err().to_string();
        assert!(failure.contains("`copy_laps`"), "{failure}");
        assert!(parse("error the handshake failed\n").is_err());
        assert!(parse(&PRINTED.replace("data_segments 10", "data_segments 0")).is_err());
    }
}
