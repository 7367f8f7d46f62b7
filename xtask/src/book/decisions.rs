//! The decision records: each begins with a summary of two lines, and a number that has no
//! record is explained in `docs/book/decisions.md`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

const PAGE: &str = "docs/book/decisions.md";
const SUMMARY: &str = "> **In short:** ";
/// The start of the sentence that lists the missing numbers.
const MISSING: &str = "Numbers without a record: ";

/// Checks all records under `docs/adr`.
pub fn check(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    let mut numbers = BTreeSet::new();
    for file in source::files(&workspace.root.join("docs/adr"), "md")? {
        let path = workspace.relative(&file).to_owned();
        let text = source::read(&file)?;
        match number(&path) {
            Some(number) => drop(numbers.insert(number)),
            None => findings.push(format!("{}: no number in its name", path.display())),
        }
        findings.extend(fault(&text).map(|what| format!("{}: {what}", path.display())));
    }
    let page = source::read(&workspace.root.join(PAGE))?;
    let (missing, listed) = (gaps(&numbers), listed(&page));
    if missing != listed {
        findings.push(format!(
            "{PAGE}: \"{MISSING}\" lists {listed:?}, but the numbers without a record are {missing:?}"
        ));
    }
    Failure::unless_empty("book: faults of the decision records:", findings)
}

fn number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.split_once('-')?.0.parse().ok()
}

/// Returns the fault of a record's first lines, unless they are a title, an empty line, two lines
/// of summary and an empty line.
fn fault(text: &str) -> Option<&'static str> {
    let mut lines = text.lines();
    let mut next = || lines.next().unwrap_or_default();
    if !next().starts_with("# ") {
        return Some("does not begin with a title");
    }
    if !next().is_empty() || !next().starts_with(SUMMARY) {
        return Some("has no \"> **In short:** …\" below its title");
    }
    let has_second = next().starts_with("> ");
    (!has_second || !next().is_empty()).then_some("its summary does not have two lines")
}

/// Returns the missing numbers between 1 and the last record.
fn gaps(numbers: &BTreeSet<u32>) -> Vec<u32> {
    let last = numbers.last().copied().unwrap_or_default();
    (1..last).filter(|it| !numbers.contains(it)).collect()
}

/// Returns the missing numbers that the page lists, up to the end of the sentence.
fn listed(page: &str) -> Vec<u32> {
    let list = page.split_once(MISSING).map_or("", |(_, rest)| rest);
    let list = list.split('.').next().unwrap_or_default();
    let numbers = list.split(|letter: char| !letter.is_ascii_digit());
    numbers.filter_map(|it| it.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_summary_of_two_lines() {
        let good = "# 1. A\n\n> **In short:** B.\n> C.\n\n2026\n";
        assert_eq!(fault(good), None);
        for bad in [
            "A\n",
            "# 1. A\n\n2026\n",
            "# 1. A\n> **In short:** B.\n> C.\n\n2026\n",
            "# 1. A\n\n> **In short:** B.\n\n2026\n",
            "# 1. A\n\n> **In short:** B.\n> C.\n> D.\n\n2026\n",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn gaps_are_those_that_the_page_lists() {
        let numbers = BTreeSet::from([1, 2, 4, 7]);
        assert_eq!(gaps(&numbers), [3, 5, 6]);
        let page = "# A\n\nNumbers without a record: 3, 5 and 6. In 2026 7 more.\n";
        assert_eq!(listed(page), [3, 5, 6]);
        assert_eq!(listed("# A\n"), Vec::<u32>::new());
        assert_eq!(number(Path::new("docs/adr/0041-a-b.md")), Some(41));
        assert_eq!(number(Path::new("docs/adr/a.md")), None);
    }
}
