//! The pages made by mdBook: each link must lead to an existing page, and an existing place on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::links::{beside, is_elsewhere};
use crate::report::Failure;

pub fn check(folder: &Path) -> Result<usize, Failure> {
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&inner))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = inner.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "html") && !is_shell(&path) {
                let text = std::fs::read_to_string(entry.path())
                    .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))?;
                pages.insert(path, text);
            }
        }
    }
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path, values(text, "id").collect()))
        .collect();
    let mut findings = BTreeSet::new();
    for (path, text) in &pages {
        for target in values(text, "href").chain(values(text, "src")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if is_elsewhere(target) || target.starts_with("data:") {
                continue;
            }
            let file = file.split('?').next().unwrap_or_default();
            let to = match file {
                "" => Some(path.clone()),
                _ => beside(path, file),
            };
            let to = to.filter(|to| folder.join(to).is_file());
            let is_there = to.as_ref().is_some_and(|to| {
                anchor.is_empty() || ids.get(to).is_none_or(|ids| ids.contains(anchor))
            });
            if !is_there {
                findings.insert(format!("{}: {target}", path.display()));
            }
        }
    }
    let findings = findings.into_iter().collect();
    Failure::unless_empty("book: broken links in its pages:", findings)?;
    Ok(pages.len())
}

/// Returns whether mdBook adds this page to each book, without a chapter in `docs/`.
fn is_shell(path: &Path) -> bool {
    matches!(path.to_str(), Some("404.html" | "toc.html" | "print.html"))
}

fn values<'a>(text: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!(" {attribute}=\"");
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = rest.find(&begin)? + begin.len();
        let len = rest[at..].find('"')?;
        let value = &rest[at..at + len];
        rest = &rest[at + len..];
        Some(value)
    })
}
