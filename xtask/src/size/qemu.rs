//! Runs images on QEMU, and reads their output: `pair` on a Cortex-M0, and `mesh`, which needs more
//! memory, on a board with a Cortex-M3. The code of `mesh` is the same that a Cortex-M0 would run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace;

pub const EMULATOR: &str = "qemu-system-arm";

/// Data segments that are counted.
pub const SEGMENTS: u32 = 1000;

/// Each instruction lasts 2^8 ns of virtual time: about four ticks of a timer at 16 MHz. The
/// timer's 24 bits suffice for millions of instructions.
const ICOUNT: &str = "shift=8,align=off,sleep=off";

/// Instructions for each data segment, both ends and ACKs together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSegment {
    pub all: f64,
    /// Part of `all`: the four copies of the payload.
    pub copy: f64,
    /// Part of `all`: making and verifying the checksums of data and of ACKs.
    pub checksum: f64,
    pub acks: f64,
    /// Number of counted segments.
    pub segments: u64,
}

impl PerSegment {
    /// Returns the instructions without those for copying the payload and for checksums.
    pub fn without_bytes(&self) -> f64 {
        self.all - self.copy - self.checksum
    }
}

/// The promised limits of instructions for a segment, whichever compiler built the image: without
/// copies and checksums, and with them.
const MOST: [f64; 2] = [6_000.0, 11_000.0];

impl PerSegment {
    /// Fails if there are more instructions than promised.
    pub fn check(&self) -> Outcome {
        let counted = [self.without_bytes(), self.all];
        let what = ["without copies and checksums", "with copies and checksums"];
        let over = (counted.into_iter().zip(MOST).zip(what))
            .filter(|((counted, most), _)| counted > most)
            .map(|((counted, most), what)| {
                format!("{what}: {counted:.0}, more than the limit of {most}")
            });
        Failure::unless_empty(
            "size: more instructions per segment than the project allows",
            over.collect::<Vec<_>>(),
        )
    }
}

/// Boards that QEMU emulates: `SMALL` with a Cortex-M0, `LARGE` with a Cortex-M3 and more memory.
pub const SMALL: &str = "microbit";
pub const LARGE: &str = "mps2-an385";

/// Returns a command that runs an image, which takes a number, with `qemu-system-arm`.
pub fn command(board: &str, image: &Path, number: u32) -> Command {
    let mut command = Command::new(EMULATOR);
    command.args(["-machine", board, "-display", "none", "-icount", ICOUNT]);
    command.args(["-serial", "none", "-monitor", "none"]);
    // The image's output goes to standard output.
    command.args(["-chardev", "stdio,id=out"]);
    let arguments = format!("enable=on,target=native,chardev=out,arg=image,arg={number}");
    command.args(["-semihosting-config", &arguments]);
    command.arg("-kernel").arg(image);
    command
}

pub fn count(image: &Path) -> Result<PerSegment, Failure> {
    let printed = workspace::output(&mut command(SMALL, image, SEGMENTS))?;
    parse(&printed)
}

/// The output of an image: lines of a name and a number.
pub struct Printed<'a> {
    text: &'a str,
    numbers: BTreeMap<&'a str, f64>,
    ticks_each: f64,
    lap: f64,
}

impl<'a> Printed<'a> {
    pub fn read(text: &'a str) -> Result<Printed<'a>, Failure> {
        let numbers = text
            .lines()
            .filter_map(|line| {
                let (name, number) = line.split_once(' ')?;
                Some((name, number.trim().parse().ok()?))
            })
            .collect();
        let mut printed = Printed {
            text,
            numbers,
            ticks_each: 0.0,
            lap: 0.0,
        };
        printed.ticks_each =
            printed.number("calibration_ticks")? / printed.number("calibration_instructions")?;
        printed.lap = printed.number("empty_ticks")? / printed.number("empty_laps")?;
        if printed.ticks_each <= 0.0 || !printed.lap.is_finite() {
            return Err(printed.nothing());
        }
        Ok(printed)
    }

    pub fn number(&self, name: &str) -> Result<f64, Failure> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let text = self.text;
            Failure::new(format!("size: the output has no `{name}`:\n{text}"))
        })
    }

    /// Returns the instructions between two readings of a stopwatch, without the stopwatch's own.
    pub fn instructions(&self, ticks: &str, laps: &str) -> Result<f64, Failure> {
        Ok((self.number(ticks)? - self.lap * self.number(laps)?) / self.ticks_each)
    }

    fn nothing(&self) -> Failure {
        Failure::new(format!(
            "size: the image reported no counts; its output:\n{}",
            self.text
        ))
    }
}

fn parse(printed: &str) -> Result<PerSegment, Failure> {
    let printed = Printed::read(printed)?;
    let segments = printed.number("data_segments")?;
    if segments < 1.0 {
        return Err(printed.nothing());
    }
    let each = |name: &str| -> Result<f64, Failure> {
        let (ticks, laps) = (format!("{name}_ticks"), format!("{name}_laps"));
        Ok(printed.instructions(&ticks, &laps)? / segments)
    };
    Ok(PerSegment {
        all: each("exchange")?,
        copy: each("copy")?,
        checksum: each("checksum")?,
        acks: printed.number("acks")? / segments,
        segments: segments as u64,
    })
}

/// The cost of a TCP for comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// Name of the rival; `payload` is the payload of its segments in bytes.
    pub name: &'static str,
    pub payload: u32,
    /// Bytes of a connection, without its buffers and counters.
    pub slot_bytes: u64,
    /// Instructions for a segment and its share of acknowledgments, at both ends,
    /// copies and checksums included.
    pub instructions: f64,
    pub acks: f64,
}

/// The names in the output of the image `rivals`, their display names, and their payload.
const RIVALS: [(&str, &str, u32); 4] = [
    ("uip_48", "uip-3.0", 48),
    ("uip_lim_48", "uip-lim", 48),
    ("blip_150", "blip", 150),
    ("one_segment_462", "one-segment", 462),
];

pub fn count_rivals(image: &Path) -> Result<Vec<Rival>, Failure> {
    let text = workspace::output(&mut command(SMALL, image, SEGMENTS))?;
    let printed = Printed::read(&text)?;
    let one = |(key, name, payload): (&str, &'static str, u32)| {
        let number = |what: &str| printed.number(&format!("{key}_{what}"));
        let (ticks, laps) = (format!("{key}_ticks"), format!("{key}_laps"));
        let segments = number("segments")?;
        Ok(Rival {
            name,
            payload,
            slot_bytes: number("slot_bytes")? as u64,
            instructions: printed.instructions(&ticks, &laps)? / segments,
            acks: number("acks")? / segments,
        })
    };
    RIVALS.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_per_segment_keep_their_limits() {
        let mut counts = PerSegment {
            all: 11_000.0,
            copy: 2_800.0,
            checksum: 2_200.0,
            acks: 0.5,
            segments: 1_000,
        };
        assert!(counts.check().is_ok());
        counts.checksum -= 1.0;
        assert!(counts.check().is_err());
        counts.checksum += 2.0;
        counts.all += 1.0;
        assert!(counts.check().is_err());
    }

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
    fn missing_counts_are_named() {
        let without = PRINTED.replace("copy_laps", "laps");
        let failure = parse(&without).unwrap_err().to_string();
        assert!(failure.contains("`copy_laps`"), "{failure}");
        assert!(parse("error the handshake failed\n").is_err());
        assert!(parse(&PRINTED.replace("data_segments 10", "data_segments 0")).is_err());
    }
}
