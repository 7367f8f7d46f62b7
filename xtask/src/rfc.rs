//! The conformance ledger in `docs/rfc`, and the citations in the sources.
//!
//! The check fails if the ledger names code or a test that does not exist, or has `met` without a
//! test or `not` without a reason. It also fails if the sources cite a section or a requirement
//! that the RFC does not have.

mod citations;
mod items;
mod ledger;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::report::{self, Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;
use citations::Cited;
use items::Items;
use ledger::{Ledger, Status};

/// The RFC whose requirements have numbers that the sources cite without a section.
const NUMBERED: u32 = 9293;

/// Checks the ledger and the citations. `open` also lists every requirement that is not met.
pub fn run(workspace: &Workspace, open: bool) -> Outcome {
    let folder = workspace.root.join("docs/rfc");
    let sections = ledger::sections(&folder.join("sections.toml"))?;
    let ledgers = ledger::all(&folder)?;
    let mut findings = Vec::new();
    let mut items = Items::new(&workspace.root);
    for ledger in &ledgers {
        ledger.check(&sections, &mut items, &mut findings);
    }
    let numbers = ledgers
        .iter()
        .filter(|ledger| ledger.rfc == NUMBERED)
        .flat_map(Ledger::ids)
        .collect();
    let cited = cited(workspace, &sections, &numbers, &mut findings)?;

    print_ledgers(&ledgers);
    println!();
    print_citations(&cited, &sections);
    if open {
        println!();
        ledgers.iter().for_each(Ledger::print_open);
    }
    Failure::unless_empty("rfc: broken references:", findings)
}

/// Returns the citations in the sources of all crates. In tests, only wrong requirement numbers are
/// reported.
fn cited(
    workspace: &Workspace,
    sections: &ledger::Sections,
    numbers: &BTreeSet<&str>,
    findings: &mut Vec<String>,
) -> Result<BTreeMap<u32, Cited>, Failure> {
    let mut cited = BTreeMap::new();
    for name in workspace.crates()? {
        for part in ["src", "tests"] {
            let folder = workspace.root.join("crates").join(&name).join(part);
            for path in source::rust_files(&folder)? {
                let place = workspace.relative(&path);
                let text = source::read(&path)?;
                for number in citations::requirements(&text) {
                    if !numbers.is_empty() && !numbers.contains(number) {
                        findings.push(format!(
                            "{}: RFC {NUMBERED} has no requirement {number}",
                            place.display()
                        ));
                    }
                }
                if part == "src" && !source::is_test_file(place) {
                    count(&text, &name, place, sections, &mut cited, findings);
                }
            }
        }
    }
    Ok(cited)
}

fn count(
    text: &str,
    name: &str,
    place: &Path,
    sections: &ledger::Sections,
    cited: &mut BTreeMap<u32, Cited>,
    findings: &mut Vec<String>,
) {
    citations::each(text, |rfc, section| {
        let entry = cited.entry(rfc).or_default();
        entry.count(section, name);
        let (Some(section), Some(known)) = (section, sections.get(&rfc)) else {
            return;
        };
        if !known.contains(section) {
            let place = place.display();
            findings.push(format!("{place}: RFC {rfc} has no section {section}"));
        }
    });
}

fn print_ledgers(ledgers: &[Ledger]) {
    let head = ["RFC", "requirements"].into_iter();
    let head = head.chain(Status::ALL.map(Status::name));
    let mut rows = vec![head.chain(["MUST unmet"]).map(String::from).collect()];
    let mut sum = vec![0; Status::ALL.len() + 2];
    for ledger in ledgers {
        let counts = ledger.counts();
        sum.iter_mut().zip(&counts).for_each(|(sum, n)| *sum += n);
        rows.push(row(ledger.rfc.to_string(), &counts));
    }
    rows.push(row("all".to_owned(), &sum));
    report::print_table(&rows);
}

fn row(first: String, counts: &[usize]) -> Vec<String> {
    std::iter::once(first)
        .chain(counts.iter().map(usize::to_string))
        .collect()
}

fn print_citations(cited: &BTreeMap<u32, Cited>, sections: &ledger::Sections) {
    let mut rows = vec![
        ["RFC", "citations", "sections", "without §", "crates"]
            .map(String::from)
            .to_vec(),
    ];
    for (number, c) in cited {
        let unchecked = if sections.contains_key(number) {
            ""
        } else {
            " (sections unknown)"
        };
        let crates: Vec<&str> = c.crates.iter().map(String::as_str).collect();
        rows.push(vec![
            number.to_string(),
            c.exact.to_string(),
            c.sections.len().to_string(),
            c.vague.to_string(),
            crates.join(" ") + unchecked,
        ]);
    }
    report::print_table(&rows);
    let total: usize = cited.values().map(|c| c.exact).sum();
    println!("{total} citations of {} RFCs", cited.len());
}
