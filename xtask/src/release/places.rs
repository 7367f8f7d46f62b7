//! The places of the version: manifests, lock files, the citation, the C header and its reference.

use std::ops::Range;
use std::path::Path;

/// Returns whether files of this name may contain the project's version.
pub fn is_known(path: &Path) -> bool {
    let names = [
        "Cargo.toml",
        "Cargo.lock",
        "package.json",
        "package-lock.json",
        "CITATION.cff",
        "redpoll.h",
        "reference/c.md",
    ];
    names.iter().any(|name| path.ends_with(name))
}

/// Returns the positions of the version in a file of this name; none in a file of another kind.
pub fn find(path: &Path, text: &str) -> Vec<Range<usize>> {
    match path.file_name().and_then(|it| it.to_str()) {
        Some("Cargo.toml") => manifest(text),
        Some("Cargo.lock") => lock(text),
        Some("package.json" | "package-lock.json") => npm(text),
        Some("CITATION.cff") => lines(text)
            .filter_map(|(at, line)| value(at, line, "version: ", "\n"))
            .collect(),
        Some("redpoll.h" | "c.md") => lines(text)
            .filter_map(|(at, line)| value(at, line, "#define RP_VERSION \"", "\""))
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the text with the version at each position.
pub fn replace(text: &str, places: &[Range<usize>], version: &str) -> String {
    let mut out = String::new();
    let mut end = 0;
    for place in places {
        out.push_str(&text[end..place.start]);
        out.push_str(version);
        end = place.end;
    }
    out.push_str(&text[end..]);
    out
}

/// Returns the citation with the date of the release.
pub fn dated(citation: &str, date: &str) -> String {
    let mut out = String::new();
    for line in citation.split_inclusive('\n') {
        if line.starts_with("date-released:") {
            continue;
        }
        out.push_str(line);
        if line.starts_with("version: ") {
            out.push_str(&format!("date-released: \"{date}\"\n"));
        }
    }
    out
}

/// Returns whether a package has the repository's version. Examples to copy have other versions.
fn is_own(name: &str) -> bool {
    name == "xtask" || name == "redpoll" || name.starts_with("redpoll-")
}

/// Returns the lines of a text with their positions.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Returns the position of the value between `start`, with which the line begins, and `end`.
fn value(at: usize, line: &str, start: &str, end: &str) -> Option<Range<usize>> {
    let length = line.strip_prefix(start)?.find(end)?;
    let from = at + start.len();
    Some(from..from + length)
}

/// Returns the package's own version, the workspace's, and those of dependencies by path, whose
/// name, path and version are on one line.
fn manifest(text: &str) -> Vec<Range<usize>> {
    const VERSION: &str = "version = \"";
    let mut found = Vec::new();
    let mut section = "";
    let mut own = false;
    for (at, line) in lines(text) {
        if line.starts_with('[') {
            section = line.trim_end();
            own = section == "[workspace.package]";
        } else if section == "[package]" && line.starts_with("name = \"") {
            own = line.split('"').nth(1).is_some_and(is_own);
        } else if own && line.starts_with(VERSION) {
            found.extend(value(at, line, VERSION, "\""));
        } else if line.split(' ').next().is_some_and(is_own) && line.contains("path = \"") {
            let position = line.find(VERSION);
            found.extend(position.and_then(|it| value(at + it, &line[it..], VERSION, "\"")));
        }
    }
    found
}

/// Returns the versions of packages without a source.
fn lock(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for block in text.split_inclusive("\n\n") {
        let name = block.lines().find_map(|it| it.strip_prefix("name = \""));
        let own = name.is_some_and(|it| is_own(it.trim_end_matches('"')));
        if own && !block.contains("\nsource = ") {
            let places = lines(block)
                .filter_map(|(offset, line)| value(at + offset, line, "version = \"", "\""));
            found.extend(places);
        }
        at += block.len();
    }
    found
}

/// Returns the versions of the package itself, which are before those of its dependencies.
fn npm(text: &str) -> Vec<Range<usize>> {
    const VERSION: &str = "\"version\": \"";
    let end = text.find("\"node_modules/").unwrap_or(text.len());
    let places = lines(&text[..end]).filter_map(|(at, line)| {
        let indent = line.len() - line.trim_start().len();
        value(at + indent, line.trim_start(), VERSION, "\"")
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the file after the change, and that versions of other packages stay.
    fn check(name: &str, before: &str, after: &str) {
        let places = find(Path::new(name), before);
        assert_eq!(replace(before, &places, "2.0.0"), after, "{name}");
    }

    #[test]
    fn each_kind_of_file_is_changed() {
        check(
            "redpoll.h",
            "#define RP_VERSION \"0.1.0\"\n",
            "#define RP_VERSION \"2.0.0\"\n",
        );
        check(
            "a/Cargo.toml",
            "[workspace.package]\nversion = \"1.0.0\"\n[workspace.dependencies]\n\
             redpoll-a = { version = \"1.0.0\", path = \"a\" }\nother = { version = \"1.0.0\", path = \"o\" }\nx = \"1.0.0\"\n",
            "[workspace.package]\nversion = \"2.0.0\"\n[workspace.dependencies]\n\
             redpoll-a = { version = \"2.0.0\", path = \"a\" }\nother = { version = \"1.0.0\", path = \"o\" }\nx = \"1.0.0\"\n",
        );
        check(
            "Cargo.toml",
            "[package]\nname = \"redpoll-x\"\nversion = \"1.0.0\"\n[dependencies.y]\nversion = \"1.0.0\"\n",
            "[package]\nname = \"redpoll-x\"\nversion = \"2.0.0\"\n[dependencies.y]\nversion = \"1.0.0\"\n",
        );
        let template = "[package]\nname = \"sensor\"\nversion = \"1.0.0\"\n";
        check("Cargo.toml", template, template);
        check(
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"redpoll-a\"\nversion = \"1.0.0\"\ndependencies = [\n \"b\",\n]\n\n\
             [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"registry\"\n\n\
             [[package]]\nname = \"xtask\"\nversion = \"1.0.0\"\n",
            "version = 4\n\n[[package]]\nname = \"redpoll-a\"\nversion = \"2.0.0\"\ndependencies = [\n \"b\",\n]\n\n\
             [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"registry\"\n\n\
             [[package]]\nname = \"xtask\"\nversion = \"2.0.0\"\n",
        );
        check(
            "package-lock.json",
            "{\n  \"version\": \"1.0.0\",\n  \"\": {\n    \"version\": \"1.0.0\"\n  },\n  \"node_modules/b\": {\n    \"version\": \"1.0.0\"\n",
            "{\n  \"version\": \"2.0.0\",\n  \"\": {\n    \"version\": \"2.0.0\"\n  },\n  \"node_modules/b\": {\n    \"version\": \"1.0.0\"\n",
        );
        check(
            "CITATION.cff",
            "cff-version: 1.2.0\nversion: 1.0.0\n",
            "cff-version: 1.2.0\nversion: 2.0.0\n",
        );
        check(
            "README.md",
            "version = \"1.0.0\"\n",
            "version = \"1.0.0\"\n",
        );
    }

    #[test]
    fn the_date_of_a_release_is_replaced() {
        let first = dated("version: 1.0.0\nlicense: MIT\n", "2026-01-01");
        assert_eq!(
            first,
            "version: 1.0.0\ndate-released: \"2026-01-01\"\nlicense: MIT\n"
        );
        assert_eq!(dated(&first, "2026-02-01"), first.replace("01-01", "02-01"));
    }
}
