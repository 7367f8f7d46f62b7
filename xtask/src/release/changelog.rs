//! `CHANGELOG.md`: the entries of the next release, and the notes of a released one.

/// Heading of the entries that belong to the next release.
pub const UNRELEASED: &str = "## Unreleased";

/// Ends the heading of a version whose section is written before its release.
const PREPARED: &str = "in preparation";

/// Returns the entries of a version that is not released: those of its prepared section, or those
/// under [`UNRELEASED`].
///
/// # Errors
///
/// Returns the reason if neither the prepared section nor [`UNRELEASED`] has an entry, or if both
/// have entries.
pub fn entries<'a>(text: &'a str, version: &str) -> Result<&'a str, String> {
    let prepared = heading(version, PREPARED);
    let with_entry = |body: &&str| body.lines().any(|line| line.starts_with("- "));
    let later = body(text, |line| line == UNRELEASED).filter(with_entry);
    match (
        body(text, |line| line == prepared).filter(with_entry),
        later,
    ) {
        (Some(entries), None) | (None, Some(entries)) => Ok(entries),
        (None, None) => Err(format!(
            "has no entry under `{UNRELEASED}`: describe what users notice"
        )),
        (Some(_), Some(_)) => Err(format!(
            "has entries under `{UNRELEASED}` and under `{prepared}`: move all to one of them"
        )),
    }
}

fn heading(version: &str, state: &str) -> String {
    format!("## {version} – {state}")
}

/// Returns the notes of a version.
pub fn notes<'a>(text: &'a str, version: &str) -> Option<&'a str> {
    body(text, |line| {
        let heading = line.strip_prefix("## ");
        heading.is_some_and(|it| it.split(' ').next() == Some(version))
    })
}

/// Returns the text with a dated heading above the [`entries`] of the version. Afterwards, no entry
/// is under [`UNRELEASED`].
pub fn release(text: &str, version: &str, date: &str) -> String {
    let (dated, prepared) = (heading(version, date), heading(version, PREPARED));
    if body(text, |line| line == prepared).is_some() {
        return text.replacen(&format!("{prepared}\n"), &format!("{dated}\n"), 1);
    }
    let headings = format!("{UNRELEASED}\n\n{dated}\n");
    text.replacen(&format!("{UNRELEASED}\n"), &headings, 1)
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
        let text = entries(TEXT, "0.2.0").unwrap();
        assert_eq!(text, "- One\n  more.\n\n### Added\n\n- Two.");
        assert_eq!(notes(TEXT, "0.1.0"), Some("First."));
        assert_eq!(notes(TEXT, "0.1"), None);
        let after = release(TEXT, "0.2.0", "2026-02-01");
        assert_eq!(notes(&after, "0.2.0"), Some(text));
        assert!(entries(&after, "0.3.0").is_err());
        assert_eq!(notes(&after, "0.1.0"), Some("First."));
    }

    #[test]
    fn a_prepared_section_gets_the_date() {
        let text = "## Unreleased\n\nNone.\n\n## 0.1.0 – in preparation\n\nNew:\n\n- One.\n";
        assert_eq!(entries(text, "0.1.0"), Ok("New:\n\n- One."));
        let after = release(text, "0.1.0", "2026-02-01");
        assert_eq!(
            after,
            "## Unreleased\n\nNone.\n\n## 0.1.0 – 2026-02-01\n\nNew:\n\n- One.\n"
        );
        let error = entries(text, "0.2.0").unwrap_err();
        assert!(error.contains("no entry"), "{error}");
        let both = text.replace("None.", "- Two.");
        let error = entries(&both, "0.1.0").unwrap_err();
        assert!(error.contains("move all to one"), "{error}");
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
        for text in ["## Unreleased\n\nText.\n", "# Changes\n"] {
            assert!(entries(text, "0.1.0").is_err(), "{text}");
        }
    }
}
