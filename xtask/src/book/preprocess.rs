//! The preprocessor that mdBook calls for each book: `cargo xtask book --preprocess`. Links of
//! a chapter to files outside `docs/` are changed to the repository on the web, because a book
//! does not contain those files.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::links::{beside, is_elsewhere, links};
use crate::report::{Failure, Outcome};

/// Variable that is set if the book contains the simulator.
pub(super) const SIMULATOR: &str = "REDPOLL_BOOK_SIMULATOR";
/// Folder of the simulator in the book.
pub(super) const FOLDER: &str = "simulator";

const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Reads a book from standard input and writes it to standard output, in mdBook's format.
pub fn run() -> Outcome {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    let wrong =
        |e: &dyn std::fmt::Display| Failure::new(format!("book: mdBook wrote no book: {e}"));
    read.map_err(|e| wrong(&e))?;
    let both: Value = serde_json::from_str(&text).map_err(|e| wrong(&e))?;
    let mut book = both
        .get(1)
        .cloned()
        .ok_or_else(|| wrong(&"it has no chapters"))?;
    walk(&mut book, std::env::var_os(SIMULATOR).is_some());
    println!("{book}");
    Ok(())
}

/// Returns the chapter with the simulator in place of each line `<!-- simulator: QUERY | TITLE -->`.
/// Without the simulator in the book, the line remains a comment.
fn framed(content: &str, path: &str, simulator: bool) -> String {
    if !simulator {
        return content.to_owned();
    }
    let up = "../".repeat(Path::new(path).components().count() - 1);
    let mut out = String::new();
    for line in content.split_inclusive('\n') {
        let marker = line.trim_end().strip_prefix("<!-- simulator: ");
        let parts = marker.and_then(|rest| rest.strip_suffix(" -->")?.split_once(" | "));
        match parts {
            Some((query, title)) => {
                out += &format!(
                    "<iframe src=\"{up}{FOLDER}/index.html?{}\" title=\"{title}\" loading=\"lazy\" \
                     style=\"width:100%;height:540px;border:1px solid #8888;border-radius:8px\"></iframe>\n",
                    query.replace('&', "&amp;"),
                );
            }
            None => out += line,
        }
    }
    out
}

/// Changes the chapters in a value, and the nested chapters.
fn walk(value: &mut Value, simulator: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, simulator)),
        Value::Object(fields) => {
            let path = fields
                .get("path")
                .and_then(Value::as_str)
                .map(str::to_owned);
            if let (Some(path), Some(Value::String(content))) = (path, fields.get_mut("content")) {
                *content = framed(&mended(content, &path), &path, simulator);
            }
            fields.values_mut().for_each(|value| walk(value, simulator));
        }
        _ => {}
    }
}

/// Returns a chapter whose links to files outside `docs/` lead to the repository on the web.
fn mended(content: &str, path: &str) -> String {
    let from = Path::new("docs").join(path);
    let mut out = String::new();
    let mut done = 0;
    for link in links(content) {
        let file = link.target.split('#').next().unwrap_or_default();
        let to = (!is_elsewhere(&link.target) && !file.is_empty()).then(|| beside(&from, file));
        if let Some(to) = to.flatten().filter(|to| !to.starts_with("docs")) {
            out += &content[done..link.at.start];
            let rest = &link.target[file.len()..];
            out += &format!("{REPOSITORY}/blob/main/{}{rest}", to.display());
            done = link.at.end;
        }
    }
    out + &content[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulator_takes_the_place_of_its_marker() {
        let text = "a\n<!-- simulator: scenario=office&embed | A mesh -->\nb\n";
        assert_eq!(framed(text, "README.md", false), text);
        let there = framed(text, "book/first-mesh.md", true);
        let source = "src=\"../simulator/index.html?scenario=office&amp;embed\" title=\"A mesh\"";
        assert!(there.starts_with("a\n<iframe ") && there.ends_with("</iframe>\nb\n"));
        assert!(there.contains(source), "{there}");
        assert!(framed(text, "README.md", true).contains("src=\"simulator/"));
    }

    #[test]
    fn links_out_of_docs_lead_to_the_repository() {
        let text =
            "[a](../crates/x.rs) [b](../README.md#c) [d](e.md) [f](#g) [h](https://i.example/)";
        let expected = format!(
            "[a]({REPOSITORY}/blob/main/crates/x.rs) [b]({REPOSITORY}/blob/main/README.md#c) \
             [d](e.md) [f](#g) [h](https://i.example/)"
        );
        assert_eq!(mended(text, "c.md"), expected);
        assert_eq!(
            mended("[a](../../x) [b](../c.md)", "book/a.md"),
            format!("[a]({REPOSITORY}/blob/main/x) [b](../c.md)")
        );
    }
}
