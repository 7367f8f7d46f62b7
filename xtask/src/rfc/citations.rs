//! Finds citations of RFCs in the sources: `RFC nnnn §x`, and requirements by the numbers of RFC
//! 9293: `MUST-n`, `SHLD-n`, `MAY-n`, `REC-n`.

use std::collections::BTreeSet;

/// Citations of an RFC.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cited {
    /// Number of citations with a section.
    pub exact: usize,
    /// Number of mentions without a section.
    pub vague: usize,
    pub sections: BTreeSet<String>,
    pub crates: BTreeSet<String>,
}

impl Cited {
    /// Counts a citation, or a mention without a section, in the crate `name`.
    pub fn count(&mut self, section: Option<&str>, name: &str) {
        self.crates.insert(name.to_owned());
        match section {
            Some(section) => {
                self.exact += 1;
                self.sections.insert(section.to_owned());
            }
            None => self.vague += 1,
        }
    }
}

/// Reports each citation in a file: the RFC and the section, or `None` for a mention without a
/// section. `RFC 5681 §3.1, §3.2` counts as two; a citation may continue on the next comment line.
pub fn each(text: &str, mut report: impl FnMut(u32, Option<&str>)) {
    let text = unwrap_comments(text);
    let mut rest = text.as_str();
    while let Some(at) = rest.find("RFC ") {
        rest = &rest[at + "RFC ".len()..];
        let digits = digits(rest);
        let Ok(number) = rest[..digits].parse() else {
            continue;
        };
        rest = &rest[digits..];
        let mut vague = true;
        while let Some((section, after)) = next_section(rest) {
            report(number, Some(section));
            vague = false;
            rest = after;
        }
        if vague {
            report(number, None);
        }
    }
}

pub fn requirements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for kind in ["MUST-", "SHLD-", "MAY-", "REC-"] {
        for (at, _) in text.match_indices(kind) {
            let len = digits(&text[at + kind.len()..]);
            if len > 0 {
                found.push(&text[at..at + kind.len() + len]);
            }
        }
    }
    found
}

fn digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

/// Returns the section at the start of `text`, after an optional joining word, and the rest.
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

/// Returns the text with each run of comment lines as one line.
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
    use std::collections::BTreeMap;

    use super::*;

    fn counted(text: &str) -> BTreeMap<u32, Cited> {
        let mut cited: BTreeMap<u32, Cited> = BTreeMap::new();
        each(text, |rfc, section| {
            cited.entry(rfc).or_default().count(section, "tcp");
        });
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
    fn other_words_are_not_citations() {
        assert!(counted("// RFC what? §3, an RFC").is_empty());
        assert_eq!(
            counted("RFC 1 § 2")[&1].vague,
            1,
            "§ and section go together"
        );
        // A section on a line of code does not belong to the comment before it.
        assert_eq!(counted("// RFC 1\nlet x = \"§2\";")[&1].exact, 0);
    }

    #[test]
    fn requirements_by_number() {
        assert_eq!(
            requirements("MUST-57, SHLD-3 and (MAY-2); a MUST-have"),
            ["MUST-57", "SHLD-3", "MAY-2"]
        );
    }
}
