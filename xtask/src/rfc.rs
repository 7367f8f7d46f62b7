//! Where the sources cite which RFC: `RFC nnnn §x`.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{self, Outcome};
use crate::source;
use crate::workspace::Workspace;

/// What is known of one RFC.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cited {
    /// Citations with a section.
    exact: usize,
    /// Mentions without one.
    vague: usize,
    sections: BTreeSet<String>,
    crates: BTreeSet<String>,
}

pub fn run(workspace: &Workspace) -> Outcome {
    let mut cited: BTreeMap<u32, Cited> = BTreeMap::new();
    for name in workspace.crates()? {
        let folder = workspace.root.join("crates").join(&name).join("src");
        for path in source::rust_files(&folder)? {
            if !source::is_test_file(workspace.relative(&path)) {
                count(&source::read(&path)?, &name, &mut cited);
            }
        }
    }
    let mut rows = vec![["RFC", "citations", "sections", "without §", "crates"].map(String::from)];
    let mut total = 0;
    for (number, c) in &cited {
        total += c.exact;
        rows.push([
            number.to_string(),
            c.exact.to_string(),
            c.sections.len().to_string(),
            c.vague.to_string(),
            c.crates.iter().cloned().collect::<Vec<_>>().join(" "),
        ]);
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.to_vec()).collect();
    report::print_table(&rows);
    println!("{total} citations of {} RFCs", cited.len());
    Ok(())
}

/// Counts the citations of a file. `RFC 5681 §3.1, §3.2` counts twice; a
/// citation may go over the end of a comment's line.
fn count(text: &str, name: &str, cited: &mut BTreeMap<u32, Cited>) {
    let text = unwrap_comments(text);
    let mut rest = text.as_str();
    while let Some(at) = rest.find("RFC ") {
        rest = &rest[at + "RFC ".len()..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = rest[..digits].parse() else {
            continue;
        };
        rest = &rest[digits..];
        let entry = cited.entry(number).or_default();
        entry.crates.insert(name.to_owned());
        let mut exact = 0;
        while let Some((section, after)) = next_section(rest) {
            entry.sections.insert(section.to_owned());
            exact += 1;
            rest = after;
        }
        entry.exact += exact;
        entry.vague += usize::from(exact == 0);
    }
}

/// The section at the start of `text`, behind nothing but a joining word, and
/// what follows it.
fn next_section(text: &str) -> Option<(&str, &str)> {
    let joints = [", and ", ", ", " and ", " to ", " or ", "/", "–", "-", " "];
    let start = joints
        .iter()
        .find_map(|joint| text.strip_prefix(joint)?.strip_prefix('§'))
        .or_else(|| text.strip_prefix('§'))?;
    let len = start
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .unwrap_or(start.len());
    let section = start[..len].trim_end_matches('.');
    (!section.is_empty()).then(|| (section, &start[section.len()..]))
}

/// The text with each run of comment lines as one line.
fn unwrap_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start();
        let comment = ["///", "//!", "//"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        match comment {
            Some(comment) => {
                out.push(' ');
                out.push_str(comment.trim());
            }
            None => {
                out.push('\n');
                out.push_str(line);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> BTreeMap<u32, Cited> {
        let mut cited = BTreeMap::new();
        count(text, "tcp", &mut cited);
        cited
    }

    #[test]
    fn citations_in_every_form() {
        let cited = counted(
            "/// RFC 6298 §2.4\nfn f() {} // RFC 6298 §5, rule (5.1)\n\
             /// The window (RFC 5681 §3.1 and §3.2; RFC 9293\n/// §3.10.7.4.) as in RFC 793.\n",
        );
        let sections = |n| cited[&n].sections.iter().cloned().collect::<Vec<_>>();
        assert_eq!(sections(6298), ["2.4", "5"]);
        assert_eq!(sections(5681), ["3.1", "3.2"]);
        assert_eq!(sections(9293), ["3.10.7.4"]);
        assert_eq!((cited[&6298].exact, cited[&6298].vague), (2, 0));
        assert_eq!((cited[&793].exact, cited[&793].vague), (0, 1));
        assert_eq!(cited.len(), 4);
    }

    #[test]
    fn what_is_no_citation() {
        assert!(counted("// RFC what? §3, an RFC").is_empty());
        assert_eq!(
            counted("RFC 1 § 2")[&1].vague,
            1,
            "§ and section go together"
        );
        // A section on a line of code is another sentence's.
        assert_eq!(counted("// RFC 1\nlet x = \"§2\";")[&1].exact, 0);
    }
}
