//! The flash that each `#[inline(never)]` saves: `cargo xtask size --inline TEXT`.
//!
//! For each attribute whose path or function contains the text, the program removes the attribute
//! in a copy of the sources, and builds two images there. It updates the rows of these attributes
//! in `docs/inline.md`.

use std::path::Path;

use super::firmware;
use super::image::Image;
use crate::purity::Toolchain;
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

const ATTRIBUTE: &str = "#[inline(never)]";
/// The page with the table.
const PAGE: &str = "docs/inline.md";
/// The marks around the table.
const MARKS: [&str; 2] = ["<!-- inline -->\n", "<!-- end -->"];

/// An attribute in the sources.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Site {
    path: String,
    line: usize,
    function: String,
    /// The first word of the comment after the attribute: `size`, `stack` or nothing.
    reason: String,
}

/// The heads of the table: the columns have the bytes that the attribute saves.
const HEADS: &str = "| function | file | flash saved in the leaf, bytes | flash saved in the node with RPL, bytes | comment |\n\
                     | --- | --- | ---: | ---: | --- |\n";

pub fn run(workspace: &Workspace, toolchain: &Toolchain, text: &str) -> Outcome {
    let copy = copied(workspace)?;
    let sites = all(&copy)?;
    let base = flash(&firmware::leaf_and_node(&copy, toolchain)?);
    for site in &sites {
        if !site.path.contains(text) && !site.function.contains(text) {
            continue;
        }
        let file = copy.root.join(&site.path);
        let before = source::read(&file)?;
        write(&file, &without(&before, site.line))?;
        let images = firmware::leaf_and_node(&copy, toolchain);
        write(&file, &before)?;
        let without = flash(&images?);
        let row = row(site, [without[0] - base[0], without[1] - base[1]]);
        print!("{row}");
        // Writes the page after each measurement, so that an interrupted run keeps its rows.
        let page = workspace.root.join(PAGE);
        let replaced = updated(&source::read(&page)?, &sites, &row)
            .ok_or_else(|| Failure::new(format!("size: {PAGE} has no marks around its table")))?;
        write(&page, &replaced)?;
    }
    Ok(())
}

/// Copies the sources of the images to a folder, in which they can be changed.
fn copied(workspace: &Workspace) -> Result<Workspace, Failure> {
    let root = workspace.root.join("target/inline");
    let listed = workspace::output(
        std::process::Command::new("git")
            .args(["ls-files", "crates", "firmware", "xtask", "Cargo.toml"])
            .args(["Cargo.lock", "examples"])
            .current_dir(&workspace.root),
    )?;
    for name in listed.lines() {
        let (from, to) = (workspace.root.join(name), root.join(name));
        let Some(folder) = to.parent() else { continue };
        let copy = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            // A file that is equal is not written, so that cargo does not build it again.
            if std::fs::read(&from)? != std::fs::read(&to).unwrap_or_default() {
                std::fs::copy(&from, &to)?;
            }
            Ok(())
        };
        copy().map_err(|e| Failure::new(format!("size: cannot copy {name}: {e}")))?;
    }
    Ok(Workspace { root })
}

fn write(file: &Path, text: &str) -> Outcome {
    let failure = |e| Failure::new(format!("cannot write {}: {e}", file.display()));
    std::fs::write(file, text).map_err(failure)
}

fn flash(images: &[Image; 2]) -> [i64; 2] {
    let of = |image: &Image| image.flash_by_crate().values().sum::<u64>() as i64;
    [of(&images[0]), of(&images[1])]
}

/// Returns the attributes of the crates, by path and line.
fn all(workspace: &Workspace) -> Result<Vec<Site>, Failure> {
    let mut sites = Vec::new();
    for name in workspace.crates()? {
        for file in source::rust_files(&workspace.root.join("crates").join(name).join("src"))? {
            let path = workspace.relative(&file).to_string_lossy().into_owned();
            sites.extend(sites_of(&path, &source::read(&file)?));
        }
    }
    Ok(sites)
}

fn sites_of(path: &str, text: &str) -> Vec<Site> {
    let lines: Vec<&str> = text.lines().collect();
    let attributes = lines.iter().enumerate();
    let attributes = attributes.filter_map(|(line, text)| {
        let comment = text.trim().strip_prefix(ATTRIBUTE)?;
        let function = lines[line..].iter().find_map(|text| name_of(text))?;
        let words = comment.trim_start_matches([' ', '/']);
        let reason = words.split(|c: char| !c.is_alphabetic()).next();
        Some(Site {
            path: path.to_owned(),
            line,
            function: function.to_owned(),
            reason: reason.unwrap_or_default().to_owned(),
        })
    });
    attributes.collect()
}

/// Returns the name of the function that the line declares.
fn name_of(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_declaration = before.is_empty() || before.ends_with(' ');
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (is_declaration && !before.contains("//")).then(|| &rest[..end])
}

/// Returns the text with one line emptied, so that the other lines keep their numbers.
fn without(text: &str, line: usize) -> String {
    let lines = text.lines().enumerate();
    lines.fold(String::new(), |mut out, (at, text)| {
        out.push_str(if at == line { "" } else { text });
        out.push('\n');
        out
    })
}

fn row(site: &Site, [leaf, node]: [i64; 2]) -> String {
    format!("{}{leaf} | {node} | {} |\n", head(site), site.reason)
}

/// Returns the beginning of a row, which names its site.
fn head(site: &Site) -> String {
    let path = site.path.trim_start_matches("crates/");
    format!("| `{}` | `{path}` | ", site.function)
}

/// Returns the page with a new row between its marks, and without rows of sites that do not exist.
fn updated(page: &str, sites: &[Site], new: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (old, after) = rest.split_once(MARKS[1])?;
    let old = old.lines().map(|line| format!("{line}\n"));
    let mut rows = Vec::new();
    for site in sites {
        let head = head(site);
        let known = old.clone().find(|row| row.starts_with(&head));
        let row = Some(new.to_owned()).filter(|row| row.starts_with(&head));
        rows.extend(row.or(known));
    }
    let greatest = |row: &String| {
        let numbers = row.split(" | ").skip(2).take(2);
        numbers.filter_map(|it| it.parse::<i64>().ok()).max()
    };
    rows.sort_by_key(|row| std::cmp::Reverse(greatest(row)));
    rows.dedup();
    let count = format!(
        "The table has the {} of {} attributes that have been measured so far.\n\n",
        rows.len(),
        sites.len()
    );
    let rows = rows.concat();
    Some(
        [
            before, MARKS[0], "\n", &count, HEADS, &rows, "\n", MARKS[1], after,
        ]
        .concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
impl A {
    /// Does it.
    #[inline(never)] // size: once for all
    #[must_use]
    pub(crate) fn does_it(&self) {}
}
#[inline(never)]
fn other<T>() {}
";

    #[test]
    fn attributes_are_found_with_function_and_reason() {
        let sites = sites_of("a.rs", TEXT);
        let found: Vec<_> = (sites.iter())
            .map(|it| (it.line, it.function.as_str(), it.reason.as_str()))
            .collect();
        assert_eq!(found, [(2, "does_it", "size"), (6, "other", "")]);
    }

    #[test]
    fn a_removed_attribute_leaves_an_empty_line() {
        let text = without(TEXT, 6);
        assert_eq!(text.lines().count(), TEXT.lines().count());
        assert_eq!(sites_of("a.rs", &text).len(), 1);
    }

    #[test]
    fn a_row_replaces_the_row_of_its_site_and_missing_sites_are_dropped() {
        let sites = sites_of("crates/a/src/b.rs", TEXT);
        let page = "a\n<!-- inline -->\n| `gone` | `a/src/b.rs` | 9 | 9 |  |\n<!-- end -->\nb\n";
        let page = updated(page, &sites, &row(&sites[0], [4, -8])).unwrap();
        assert!(
            page.contains("the 1 of 2 attributes that have been measured"),
            "{page}"
        );
        assert!(page.contains("| `does_it` | `a/src/b.rs` | 4 | -8 | size |\n\n<!-- end -->\nb\n"));
        assert!(!page.contains("gone"));
        let page = updated(&page, &sites, &row(&sites[1], [5, 0])).unwrap();
        let page = updated(&page, &sites, &row(&sites[0], [6, 7])).unwrap();
        let place = |text: &str| page.find(text).unwrap();
        assert!(
            place("`does_it`") < place("`other`") && page.contains("| 6 | 7 |"),
            "{page}"
        );
        assert_eq!(updated("no marks", &sites, ""), None);
    }
}
