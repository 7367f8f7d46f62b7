//! Links between documents: each must lead to an existing file, and to an existing heading in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

/// The chapters of the book and their order.
const SUMMARY: &str = "docs/SUMMARY.md";

#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Position of the target in the text.
    pub at: std::ops::Range<usize>,
    pub target: String,
}

/// Checks the links of all documents, and that the book has each document under `docs/`.
pub fn check(workspace: &Workspace) -> Outcome {
    let mut documents = BTreeMap::new();
    for path in paths(&workspace.root) {
        let text = std::fs::read_to_string(workspace.root.join(&path))
            .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))?;
        documents.insert(path, text);
    }
    let mut findings = Vec::new();
    let mut count = 0;
    for (path, text) in &documents {
        for link in links(text) {
            count += 1;
            if let Some(what) = wrong(workspace, &documents, path, &link.target) {
                let line = 1 + text[..link.at.start].matches('\n').count();
                findings.push(format!(
                    "{}:{line}: {}: {what}",
                    path.display(),
                    link.target
                ));
            }
        }
    }
    findings.extend(left_out(&documents));
    Failure::unless_empty("book: broken links:", findings)?;
    println!(
        "book: {count} links of {} documents are valid",
        documents.len()
    );
    Ok(())
}

fn paths(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(PathBuf::new(), false), (PathBuf::from("docs"), true)];
    while let Some((folder, is_deep)) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = folder.join(entry.file_name());
            if is_deep && entry.path().is_dir() {
                folders.push((path, true));
            } else if path.extension().is_some_and(|it| it == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the error of a link of the document at `from`, if any.
fn wrong(
    workspace: &Workspace,
    documents: &BTreeMap<PathBuf, String>,
    from: &Path,
    target: &str,
) -> Option<String> {
    if is_elsewhere(target) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.to_owned(),
        _ => match beside(from, file) {
            Some(path) => path,
            None => return Some("leads out of the repository".to_owned()),
        },
    };
    if !workspace.root.join(&path).exists() {
        return Some("there is no such file".to_owned());
    }
    let text = documents.get(&path).filter(|_| !anchor.is_empty())?;
    let is_there = anchors(text).contains(anchor);
    (!is_there).then(|| format!("{} has no heading with this anchor", path.display()))
}

/// Returns whether a link leads to another site.
pub fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// Resolves `file`, relative to the document at `from`; `None` if the path leaves the root.
pub fn beside(from: &Path, file: &str) -> Option<PathBuf> {
    let mut path = from.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path)
}

fn left_out(documents: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let summary = documents.get(Path::new(SUMMARY)).map(String::as_str);
    let listed: BTreeSet<PathBuf> = links(summary.unwrap_or_default())
        .iter()
        .filter_map(|link| beside(Path::new(SUMMARY), &link.target))
        .collect();
    let all = documents.keys();
    let missing = all.filter(|path| {
        path.starts_with("docs") && *path != Path::new(SUMMARY) && !listed.contains(*path)
    });
    missing
        .map(|path| format!("{SUMMARY}: does not list {}", path.display()))
        .collect()
}

/// Returns the text with code replaced by blanks, byte for byte.
fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let blank = |piece: &str| -> String {
        piece
            .chars()
            .flat_map(|c| std::iter::repeat_n(if c == '\n' { '\n' } else { ' ' }, c.len_utf8()))
            .collect()
    };
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            out += &blank(line);
        } else if is_fenced {
            out += &blank(line);
        } else {
            // Parts with odd indices are between two backticks.
            for (at, part) in line.split_inclusive('`').enumerate() {
                out += &if at % 2 == 1 {
                    blank(part)
                } else {
                    part.replace('`', " ")
                };
            }
        }
    }
    out
}

/// Returns all links and pictures of a document: `[…](target)`.
pub fn links(text: &str) -> Vec<Link> {
    let plain = without_code(text);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = plain[from..].find("](") {
        let start = from + at + 2;
        from = start;
        let Some(len) = plain[start..].find([')', '\n']) else {
            break;
        };
        let target = &plain[start..start + len];
        if plain.as_bytes().get(start + len) == Some(&b')') && !target.contains(' ') {
            found.push(Link {
                at: start..start + len,
                target: target.to_owned(),
            });
        }
    }
    found
}

/// Returns possible fragments after a `#`: headings as GitHub and mdBook name them, `<a id="…">`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        if is_fenced {
            continue;
        }
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let first = slug(heading.trim());
            let mut name = first.clone();
            let mut again = 0;
            while found.contains(&name) {
                again += 1;
                name = format!("{first}-{again}");
            }
            found.insert(name);
        }
        for part in line.split("<a id=\"").skip(1) {
            found.extend(part.split('"').next().map(str::to_owned));
        }
    }
    found
}

fn slug(heading: &str) -> String {
    // A link in a heading contributes only its text.
    let mut words = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        words += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    words += rest;
    let letters = words.chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_lowercase().to_string()),
        c if c.is_whitespace() => Some("-".to_owned()),
        _ => None,
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code_alone() {
        let text = "a [b](c.md#d) `[x](y)` ![p](q.svg)\n```\n[no](no.md)\n```\n[wrapped\n](e.md)\n";
        let found: Vec<_> = links(text).into_iter().map(|it| it.target).collect();
        assert_eq!(found, ["c.md#d", "q.svg", "e.md"]);
        for link in links(text) {
            assert_eq!(&text[link.at], link.target);
        }
    }

    #[test]
    fn headings_are_named_as_on_the_web() {
        let text =
            "# All keys\n## `[tcp]`: A, b\n## All keys\n<a id=\"here\"></a>\n```\n# no\n```\n";
        let expected = ["all-keys", "all-keys-1", "here", "tcp-a-b"].map(str::to_owned);
        assert_eq!(anchors(text), BTreeSet::from(expected));
    }

    #[test]
    fn paths_are_followed_and_do_not_leave() {
        let from = Path::new("docs/book/a.md");
        assert_eq!(beside(from, "../b.md"), Some(PathBuf::from("docs/b.md")));
        assert_eq!(
            beside(from, "../../README.md"),
            Some(PathBuf::from("README.md"))
        );
        assert_eq!(beside(from, "../../../x"), None);
    }
}
