//! The instructions of a node's steps: the table for the simulator's processors,
//! `crates/sim/src/energy/instructions.txt`.

use std::path::{Path, PathBuf};

use super::qemu::{self, Printed};
use super::snapshot;
use crate::report::{self, Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Bytes of TCP data in a packet of five frames.
const PAYLOAD: u32 = 462;

/// Share by which a count may differ from the table. Counts depend on the compiler and on every
/// change, and the energy that is computed from them does not need more accuracy.
const TOLERANCE: f64 = 0.1;

const HEAD: &str = "\
# Instructions that the steps of a node take (crates/sim/src/energy/step.rs), and
# how many more for each byte of the packet that a step makes or completes.
# Counted by `cargo xtask size` in the image `mesh`, compared by `--check` within
# 10 %; `cargo xtask size --accept` replaces counts that differ by more.
# If core built from source gives a different count from rustup's core, the line has a value
# between the two, so that both are within those 10 %.
";

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub name: String,
    /// Instructions for a packet of zero bytes.
    pub base: f64,
    pub per_byte: f64,
}

impl Step {
    /// Returns the instructions for a packet that fills five frames.
    fn full(&self) -> f64 {
        self.base + self.per_byte * f64::from(PAYLOAD + 72)
    }

    /// Returns whether `old` is the same step with about the same counts, for the shortest packet
    /// and for a long one.
    fn is_near(&self, old: &Step) -> bool {
        let near = |new: f64, old: f64| (new - old).abs() <= TOLERANCE * old.abs();
        self.name == old.name && near(self.base, old.base) && near(self.full(), old.full())
    }

    fn line(&self) -> String {
        format!(
            "{:<12} {:>6.0} {:>5.1}",
            self.name, self.base, self.per_byte
        )
    }

    fn parse(line: &str) -> Option<Step> {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let (base, per_byte) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Step {
            name,
            base,
            per_byte,
        })
    }
}

pub fn count(image: &Path) -> Result<Vec<Step>, Failure> {
    let printed = workspace::output(&mut qemu::command(qemu::LARGE, image, PAYLOAD))?;
    parse(&printed)
}

/// Fits a line for each step: instructions by packet size, from the packets of one frame and of
/// several frames. The line is level, at the mean, for a step without packets of several frames.
/// The line is also level for a step that costs more for a short packet, because a short packet is
/// also completed in this step: a falling line would make long packets free.
fn parse(text: &str) -> Result<Vec<Step>, Failure> {
    let printed = Printed::read(text)?;
    let names = text
        .lines()
        .filter_map(|line| line.split_once(".one.count "));
    let mut steps = Vec::new();
    for (name, _) in names {
        let mean = |size: &str| -> Result<Option<(f64, f64)>, Failure> {
            let key = |what: &str| format!("{name}.{size}.{what}");
            let count = printed.number(&key("count"))?;
            if count < 1.0 {
                return Ok(None);
            }
            let all = printed.instructions(&key("ticks"), &key("laps"))?;
            Ok(Some((printed.number(&key("bytes"))? / count, all / count)))
        };
        let (bytes, one) = mean("one")?
            .ok_or_else(|| Failure::new(format!("size: the image `mesh` ran no step `{name}`")))?;
        let (base, per_byte) = match mean("several")? {
            None => (one, 0.0),
            Some((_, several)) if several < one => (f64::midpoint(one, several), 0.0),
            Some((more, several)) => {
                let per_byte = (several - one) / (more - bytes);
                (one - per_byte * bytes, per_byte)
            }
        };
        steps.push(Step {
            name: name.to_owned(),
            base,
            per_byte,
        });
    }
    Ok(steps)
}

pub fn print(steps: &[Step]) {
    let head = ["step of a node", "instructions", "a byte", "534 bytes"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for step in steps {
        let mut row = vec![step.name.clone(), format!("{:.0}", step.base)];
        if step.per_byte != 0.0 {
            row.extend([
                format!("{:.1}", step.per_byte),
                format!("{:.0}", step.full()),
            ]);
        } else {
            row.extend([String::new(), String::new()]);
        }
        rows.push(row);
    }
    report::print_table(&rows);
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace
        .root
        .join("crates/sim/src/energy/instructions.txt")
}

/// Writes the table. Steps that are near their values in the table do not change, so that the table
/// does not change with each compilation.
pub fn write(workspace: &Workspace, steps: &[Step]) -> Outcome {
    let table = snapshot::get(&path(workspace)).unwrap_or_default();
    snapshot::put(&path(workspace), &accepted(&table, steps))
}

fn accepted(table: &str, steps: &[Step]) -> String {
    let old = entries(table);
    let mut text = String::from(HEAD);
    for step in steps {
        let old = old.iter().find(|old| step.is_near(old));
        text.push_str(&format!("{}\n", old.unwrap_or(step).line()));
    }
    text
}

fn entries(table: &str) -> Vec<Step> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Step::parse).collect()
}

pub fn compare(workspace: &Workspace, steps: &[Step]) -> Outcome {
    let table = snapshot::get(&path(workspace))?;
    Failure::unless_empty(
        "size: steps of a node take more or fewer instructions than in \
         crates/sim/src/energy/instructions.txt (-: in the file, +: measured now); if that is intended: \
         cargo xtask size --accept",
        difference(&table, steps),
    )
}

/// Returns the steps that only the table or only `steps` has, and those that have other counts.
fn difference(table: &str, steps: &[Step]) -> Vec<String> {
    let expected = entries(table);
    let mut found = Vec::new();
    for step in steps {
        let old = expected.iter().find(|old| old.name == step.name);
        if !old.is_some_and(|old| step.is_near(old)) {
            found.extend(old.map(|old| format!("- {}", old.line())));
            found.push(format!("+ {}", step.line()));
        }
    }
    for old in expected {
        if !steps.iter().any(|step| step.name == old.name) {
            found.push(format!("- {}", old.line()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output with ten ticks per instruction and five ticks per lap.
    const PRINTED: &str = "calibration_instructions 100\ncalibration_ticks 1000\n\
        empty_ticks 50\nempty_laps 10\n\
        packet_in.one.ticks 20010\npacket_in.one.laps 2\n\
        packet_in.one.count 2\npacket_in.one.bytes 100\n\
        packet_in.several.ticks 20005\npacket_in.several.laps 1\n\
        packet_in.several.count 1\npacket_in.several.bytes 550\n\
        timer.one.ticks 305\ntimer.one.laps 1\ntimer.one.count 1\ntimer.one.bytes 0\n\
        timer.several.ticks 0\ntimer.several.laps 0\ntimer.several.count 0\n\
        timer.several.bytes 0\n";

    fn step(name: &str, base: f64, per_byte: f64) -> Step {
        Step {
            name: name.to_owned(),
            base,
            per_byte,
        }
    }

    #[test]
    fn a_step_is_a_line_through_short_and_long_packets() {
        // 1,000 instructions for 50 bytes, 2,000 for 550.
        let steps = [step("packet_in", 900.0, 2.0), step("timer", 30.0, 0.0)];
        assert_eq!(parse(PRINTED).unwrap(), steps);
    }

    #[test]
    fn a_line_does_not_fall() {
        // 1,000 instructions for 50 bytes, 500 for 550.
        let falling = PRINTED.replace(
            "packet_in.several.ticks 20005",
            "packet_in.several.ticks 5005",
        );
        assert_eq!(parse(&falling).unwrap()[0], step("packet_in", 750.0, 0.0));
    }

    #[test]
    fn a_step_that_never_happened_is_named() {
        let never = PRINTED.replace("timer.one.count 1", "timer.one.count 0");
        let failure = parse(&never).unwrap_err().to_string();
        assert!(failure.contains("`timer`"), "{failure}");
        assert!(parse("error no connection\n").is_err());
    }

    #[test]
    fn similar_counts_are_not_rewritten() {
        let table = "packet_in  900 2.0\ntimer 30 0.0\ngone 1 0.0\n";
        let steps = [
            step("packet_in", 950.0, 2.1),
            step("timer", 40.0, 0.0),
            step("sent", 7.0, 0.0),
        ];
        let text = accepted(table, &steps);
        let expected = [
            step("packet_in", 900.0, 2.0),
            step("timer", 40.0, 0.0),
            step("sent", 7.0, 0.0),
        ];
        assert_eq!(entries(&text), expected);
        assert!(text.starts_with(HEAD));
    }

    #[test]
    fn small_changes_pass_and_others_are_shown() {
        let table = "# head\npacket_in  900 2.0\ntimer 30 0.0\n";
        let passes = [step("packet_in", 950.0, 2.1), step("timer", 29.0, 0.0)];
        assert!(difference(table, &passes).is_empty());
        let long = [step("packet_in", 900.0, 2.8), step("timer", 30.0, 0.0)];
        assert_eq!(difference(table, &long).len(), 2);
        let other = [step("packet_in", 900.0, 2.0), step("sent", 30.0, 0.0)];
        let shown = difference(table, &other);
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].starts_with("+ sent") && shown[1].starts_with("- timer"));
    }
}
