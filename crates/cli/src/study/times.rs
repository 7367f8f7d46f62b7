//! Duration of the runs of a study.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use redpoll_experiments::{Figure, Results, StudyError};

/// Returns a line for each figure: its runs, their core-seconds, and the part of these core-seconds
/// that is in the line of an earlier figure, too.
pub fn render(figures: &[Figure], results: &Results, seeds: u64) -> Result<String, StudyError> {
    let mut text = format!(
        "\n{:>11} {:>6} {:>19} {:>34}\n",
        "figure", "runs", "core seconds", "core seconds also in a row above"
    );
    let mut known: BTreeSet<String> = BTreeSet::new();
    let (mut all_runs, mut all) = (0, 0.0);
    for figure in figures {
        let (mut runs, mut own, mut shared) = (0, 0.0, 0.0);
        let mut of_figure: BTreeSet<String> = BTreeSet::new();
        for case in figure.cases() {
            let key = case.key()?;
            if !of_figure.insert(key.clone()) {
                continue;
            }
            let kept = results.runs(case, case.seeds(seeds))?;
            let cpu_s: f64 = kept.iter().map(|kept| kept.cpu_s).sum();
            runs += kept.len();
            if known.insert(key) {
                own += cpu_s
            } else {
                shared += cpu_s
            }
        }
        (all_runs, all) = (all_runs + runs, all + own);
        let _ = writeln!(
            text,
            "{:>11} {runs:>6} {:>19.1} {shared:>34.1}",
            figure.name(),
            own + shared
        );
    }
    let _ = writeln!(text, "{:>11} {all_runs:>6} {all:>19.1}", "all");
    Ok(text)
}
