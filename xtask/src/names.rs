//! Checks names and comments: a name with two meanings in a crate, and a comment that leaves its
//! subject to the previous comment.

use std::collections::BTreeMap;
use std::path::Path;

use syn::Item;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

/// Crates with independent parts. Their folders are checked separately, because `wire` has the
/// names of each RFC, and `assist` those of each assistant.
const APART: [&str; 2] = ["wire", "assist"];

/// Words after "The same" that show that the comment lacks its noun.
const NO_NOUN: [&str; 14] = [
    "to", "with", "for", "of", "where", "as", "in", "on", "from", "by", "without", "at", "if",
    "again",
];

pub fn run(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    for name in workspace.device_crates()? {
        findings.extend(doubled(workspace, name)?);
    }
    let crates = workspace.crates()?;
    let folders = crates.iter().map(|name| format!("crates/{name}/src"));
    let others = ["xtask/src", "firmware/src"].map(str::to_owned);
    for folder in folders.chain(others) {
        for path in source::rust_files(&workspace.root.join(folder))? {
            let (text, path) = (source::read(&path)?, workspace.relative(&path));
            // This file contains the forbidden beginnings of comments as text.
            if !path.ends_with("names.rs") {
                findings.extend(without_subject(path, &text));
            }
        }
    }
    Failure::unless_empty(
        "names: names with several meanings in a device crate, and comments without a subject:",
        findings,
    )
}

/// Returns the types with equal names in a device crate, with their files.
fn doubled(workspace: &Workspace, name: &str) -> Result<Vec<String>, Failure> {
    let folder = workspace.root.join("crates").join(name).join("src");
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for path in source::rust_files(&folder)? {
        let shown = workspace.relative(&path).display().to_string();
        // A module in `absent` has the names of the module that it replaces.
        let stands_in = path.with_extension("").iter().any(|part| part == "absent");
        if stands_in || source::is_test_file(workspace.relative(&path)) {
            continue;
        }
        let part = match path.strip_prefix(&folder).ok().map(Path::components) {
            Some(mut parts) if APART.contains(&name) => parts.next(),
            _ => None,
        };
        let part = part.map_or(String::new(), |part| {
            part.as_os_str().to_string_lossy().into_owned()
        });
        for name in types(&path, &source::read(&path)?)? {
            let files = places.entry((part.clone(), name)).or_default();
            // A name that occurs twice in one file has two variants: with a feature and without it.
            if !files.contains(&shown) {
                files.push(shown.clone());
            }
        }
    }
    let several = places.into_iter().filter(|(_, files)| files.len() > 1);
    Ok(several
        .map(|((_, name), files)| format!("{name}: {}", files.join(", ")))
        .collect())
}

/// Returns the names of the types and traits of a file, except those of tests.
fn types(path: &Path, text: &str) -> Result<Vec<String>, Failure> {
    let tokens = source::without_docs_and_tests(source::tokens(path, text)?);
    let file: syn::File = syn::parse2(tokens)
        .map_err(|e| Failure::new(format!("{}: not Rust: {e}", path.display())))?;
    let mut names = Vec::new();
    collect(file.items, &mut names);
    Ok(names)
}

fn collect(items: Vec<Item>, names: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Struct(item) => names.push(item.ident.to_string()),
            Item::Enum(item) => names.push(item.ident.to_string()),
            Item::Trait(item) => names.push(item.ident.to_string()),
            Item::Type(item) => names.push(item.ident.to_string()),
            Item::Mod(item) => collect(item.content.map_or(Vec::new(), |it| it.1), names),
            _ => {}
        }
    }
}

/// Returns the comments that do not name their subject.
fn without_subject(path: &Path, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let comment = line.trim_start().strip_prefix("//")?;
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            let place = format!("{}:{}", path.display(), index.saturating_add(1));
            lacks_subject(comment).then(|| format!("{place}: {comment}"))
        })
        .collect()
}

fn lacks_subject(comment: &str) -> bool {
    let word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let empty = ["Likewise", "As above", "See above", "See below", "Ditto"];
    if empty.iter().any(|words| comment.starts_with(words)) {
        return true;
    }
    comment.strip_prefix("The same").is_some_and(|rest| {
        rest.starts_with([',', '.', ':', ';'])
            || NO_NOUN.contains(&word(rest.trim_start()).as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_without_its_subject_is_found() {
        let text = "/// A packet.\nfn a() {}\n    /// Likewise, to write.\n//! The same, later.\n\
                    // The same with a body.\n/// The same seed gives the same run.\n\
                    let x = 1; // The same of it.\n";
        assert_eq!(
            without_subject(Path::new("a.rs"), text),
            [
                "a.rs:3: Likewise, to write.",
                "a.rs:4: The same, later.",
                "a.rs:5: The same with a body.",
            ]
        );
    }

    #[test]
    fn types_are_found_wherever_they_are_but_in_tests() {
        let text = "pub struct A; mod b { enum B {} } trait C { type D; } type E = A;\n\
                    #[cfg(test)] mod tests { struct F; }\n";
        assert_eq!(
            types(Path::new("a.rs"), text).unwrap(),
            ["A", "B", "C", "E"]
        );
    }
}
