//! `CHANGELOG.md`: the entries of the next release, and the notes of a released one.

/// Heading of the entries that belong to the next release.
pub const UNRELEASED: &str = "## Unreleased";

/// Returns the entries of the next release; `None` without heading or without an entry.
pub fn unreleased(text: &str) -> Option<&str> {
    let body = body(text, |line| line == UNRELEASED)?;
    body.lines()
        .any(|line| line.starts_with("- "))
        .then_some(body)
}

/// Returns the notes of a version.
pub fn notes<'a>(text: &'a str, version: &str) -> Option<&'a str> {
    body(text, |line| {
        let heading = line.strip_prefix("## ");
        heading.is_some_and(|it| it.split(' ').next() == Some(version))
    })
}

/// Returns the text with a heading of the version and its date above the entries of the next
/// release, which has no entries afterwards.
pub fn release(text: &str, version: &str, date: &str) -> String {
    let heading = format!("{UNRELEASED}\n\n## {version} – {date}\n");
    text.replacen(&format!("{UNRELEASED}\n"), &heading, 1)
}

/// Returns the notes with links to the files of a commit or tag in the repository on the web.
pub fn with_full_links(notes: &str, commit: &str) -> String {
    const FILES: &str = "https://github.com/redpoll/redpoll/blob";
    let mut parts = notes.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("](");
        let target = part.split(')').next().unwrap_or_default();
        if !target.contains("://") {
            out.push_str(&format!("{FILES}/{commit}/"));
        }
        out.push_str(part);
    }
    out
}

/// Returns the lines between a heading and the next one of its level, without outer empty lines.
fn body(text: &str, is_heading: impl Fn(&str) -> bool) -> Option<&str> {
    let mut at = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        match start {
            None if is_heading(line.trim_end()) => start = Some(at + line.len()),
            Some(start) if line.starts_with("## ") => return Some(text[start..at].trim()),
            _ => {}
        }
        at += line.len();
    }
    start.map(|start| text[start..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changes\n\n## Unreleased\n\n- One\n  more.\n\n### Added\n\n- Two.\n\n## 0.1.0 – 2026-01-01\n\nFirst.\n";

    #[test]
    fn entries_become_the_notes_of_a_version() {
        assert_eq!(
            unreleased(TEXT),
            Some("- One\n  more.\n\n### Added\n\n- Two.")
        );
        assert_eq!(notes(TEXT, "0.1.0"), Some("First."));
        assert_eq!(notes(TEXT, "0.1"), None);
        let after = release(TEXT, "0.2.0", "2026-02-01");
        assert_eq!(notes(&after, "0.2.0"), unreleased(TEXT));
        assert_eq!(unreleased(&after), None);
        assert_eq!(notes(&after, "0.1.0"), Some("First."));
    }

    #[test]
    fn links_to_files_lead_to_the_tag() {
        let text = "[a](docs/a.md#b), [c](https://c/) and (d)";
        let full =
            "[a](https://github.com/redpoll/redpoll/blob/v1/docs/a.md#b), [c](https://c/) and (d)";
        assert_eq!(with_full_links(text, "v1"), full);
    }

    #[test]
    fn a_heading_without_entries_has_none() {
        assert_eq!(unreleased("## Unreleased\n\nText.\n"), None);
        assert_eq!(unreleased("# Changes\n"), None);
    }
}
