//! The figures of docs/dissect-check.md, between two marks.

use std::collections::BTreeMap;
use std::path::Path;

use super::captures::{Mode, Run};
use super::{Tally, unwritable};
use crate::report::{Failure, Outcome};
use crate::source;

const MARKS: [&str; 2] = ["<!-- dissect-check: figures -->\n", "<!-- end -->"];

/// Writes the figures of a long run into the document. `tshark` is the version of that program.
pub fn write(path: &Path, tally: &Tally, tshark: &str) -> Outcome {
    let text = source::read(path)?;
    let changed = replaced(&text, &figures(tally, tshark)).ok_or_else(|| {
        let marks = MARKS.map(str::trim).join(" … ");
        Failure::new(format!("{}: no block {marks}", path.display()))
    })?;
    std::fs::write(path, changed).map_err(|e| unwritable(path, &e))
}

fn replaced(text: &str, figures: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    let [begin, end] = MARKS;
    Some(format!("{before}{begin}\n{figures}\n{end}{after}"))
}

fn figures(tally: &Tally, tshark: &str) -> String {
    let [frames, generated, values, justified] =
        [tally.frames, tally.generated, tally.values, tally.justified].map(grouped);
    let mut text = format!(
        "The long form compares {frames} frames with tshark {tshark}: {generated} generated frames \
         and the frames that the next table counts. It finds\n{values} equal values and {justified} differences, each \
         of which matches a row of the last table.\n\n"
    );
    text += "| scenario | virtual time | frames with fixed routes | storing | non-storing |\n";
    text += "| --- | ---: | ---: | ---: | ---: |\n";
    let mut rows: Vec<(String, &Run, BTreeMap<&str, usize>)> = Vec::new();
    for (run, frames) in &tally.runs {
        let name = match run.setting {
            Some(setting) => format!("`{}` with `{setting}`", run.scenario),
            None => format!("`{}`", run.scenario),
        };
        let cell = (run.mode.name(), *frames);
        match rows.iter_mut().find(|(known, ..)| *known == name) {
            Some((.., cells)) => {
                cells.insert(cell.0, cell.1);
            }
            None => rows.push((name, run, BTreeMap::from([cell]))),
        }
    }
    for (name, run, cells) in rows {
        let cell = |mode: Mode| match cells.get(mode.name()) {
            Some(frames) => grouped(*frames),
            None => "-".to_owned(),
        };
        let [fixed, storing, non_storing] = Mode::ALL.map(cell);
        let duration = run.duration;
        text += &format!("| {name} | {duration} | {fixed} | {storing} | {non_storing} |\n");
    }
    text
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(scenario: &str, mode: Mode, setting: Option<&'static str>) -> Run {
        Run {
            scenario: scenario.to_owned(),
            mode,
            duration: "9 s",
            setting,
            key: None,
        }
    }

    #[test]
    fn the_figures_replace_those_between_the_marks() {
        let tally = Tally {
            frames: 1_000_240,
            generated: 40,
            values: 999,
            justified: 12_345,
            runs: vec![
                (run("a", Mode::Storing, None), 1_000_000),
                (run("a", Mode::NonStoring, None), 150),
                (run("a", Mode::Fixed, Some("x=1")), 50),
            ],
            ..Tally::default()
        };
        let old = "before\n<!-- dissect-check: figures -->\nold\n<!-- end -->\nafter\n";
        let new = replaced(old, &figures(&tally, "4.0")).unwrap();
        let expected = "before\n<!-- dissect-check: figures -->\n
The long form compares 1,000,240 frames with tshark 4.0: 40 generated frames and the frames that the next table counts. \
It finds\n999 equal values and 12,345 differences, each of which matches a row of the last table.\n
| scenario | virtual time | frames with fixed routes | storing | non-storing |
| --- | ---: | ---: | ---: | ---: |
| `a` | 9 s | - | 1,000,000 | 150 |
| `a` with `x=1` | 9 s | 50 | - | - |

<!-- end -->\nafter\n";
        assert_eq!(new, expected);
        assert_eq!(replaced("no marks", "1"), None);
    }
}
