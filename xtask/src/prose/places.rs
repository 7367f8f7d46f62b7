//! The three places of prose, which are comments, documents and texts of the interface, and the
//! files that belong to each.

use std::path::Path;

use super::blocks::{self, Block};
use crate::report::Failure;
use crate::source;
use crate::workspace::Workspace;

pub const DOCUMENTS: &str = "documents";
pub const INTERFACE: &str = "interface";
pub const COMMENTS: &str = "comments";

/// Sources of programs, whose help texts are made of comments.
const PROGRAMS: [&str; 3] = ["crates/cli/src", "crates/program/src", "crates/taim/src"];

/// The place of a part of the files with an extension in a folder, and the function that returns
/// this part's blocks.
type Part = (
    &'static str,
    &'static str,
    &'static str,
    fn(&str) -> Vec<Block>,
);

/// Files of other languages than Rust and Markdown.
const OTHER_FILES: [Part; 24] = [
    (DOCUMENTS, "scenarios", "toml", blocks::hash_comments),
    (DOCUMENTS, "examples", "toml", blocks::hash_comments),
    (DOCUMENTS, "dist", "toml", blocks::hash_comments),
    (INTERFACE, "crates/capi/include", "h", c_comments),
    (INTERFACE, "crates/capi/adapters", "h", c_comments),
    (INTERFACE, "crates/modules/include", "h", c_comments),
    (INTERFACE, "integrations", "h", c_comments),
    (COMMENTS, "crates", "c", c_comments),
    (COMMENTS, "examples", "c", c_comments),
    (COMMENTS, "integrations", "c", c_comments),
    (COMMENTS, "crates", "sh", blocks::hash_comments),
    (INTERFACE, "crates", "sh", blocks::quoted),
    (COMMENTS, "integrations", "sh", blocks::hash_comments),
    (INTERFACE, "integrations", "sh", blocks::quoted),
    (COMMENTS, "scripts", "sh", blocks::hash_comments),
    (INTERFACE, "scripts", "sh", blocks::quoted),
    (INTERFACE, "crates/python/python", "py", docstrings),
    (COMMENTS, "crates/python/tests", "py", docstrings),
    (COMMENTS, "crates/python", "py", blocks::hash_comments),
    (COMMENTS, "scripts", "py", docstrings),
    (COMMENTS, "scripts", "py", blocks::hash_comments),
    (INTERFACE, "web/src", "ts", blocks::quoted),
    (COMMENTS, "web/src", "ts", line_comments),
    (COMMENTS, "web/src", "ts", doc_comments),
];

fn c_comments(text: &str) -> Vec<Block> {
    blocks::between(text, "/*", "*/")
}

fn doc_comments(text: &str) -> Vec<Block> {
    blocks::between(text, "/**", "*/")
}

fn line_comments(text: &str) -> Vec<Block> {
    blocks::comments(text, false).0
}

fn docstrings(text: &str) -> Vec<Block> {
    blocks::between(text, "\"\"\"", "\"\"\"")
}

/// Files of the command line that contain one of these have help texts.
const CLAP: [&str; 4] = ["Args)]", "Parser)]", "Subcommand)]", "ValueEnum)]"];

/// Returns the part of a document that is checked.
///
/// Records of the past stay unchanged: a decision (`docs/adr`) gives the reasons in the words of its
/// time. Its title and its summary are checked, because they describe it for readers of today. A
/// decision without a summary is checked as a whole.
fn counted<'a>(path: &Path, text: &'a str) -> &'a str {
    let end = if path.starts_with("docs/adr") {
        text.find("\n> ").and_then(|summary| {
            let rest = &text[summary..];
            rest.find("\n\n").map(|length| summary + length)
        })
    } else if path.starts_with("docs/reference") {
        // These pages are generated from texts of the interface, which are counted at their
        // sources.
        Some(0)
    } else {
        None
    };
    end.map_or(text, |end| &text[..end])
}

/// Reads the blocks of comments, documents and texts of the interface, and calls `add` for each
/// file.
pub fn read(
    workspace: &Workspace,
    add: &mut impl FnMut(&'static str, &Path, Vec<Block>),
) -> Result<(), Failure> {
    let mut add = |place, file: &Path, blocks| add(place, workspace.relative(file), blocks);
    let files = |folder: &str, extension| source::files(&workspace.root.join(folder), extension);
    let single = |name: &str| workspace.root.join(name);

    let documents = [
        "README",
        "CHANGELOG",
        "CONTRIBUTING",
        "ARCHITECTURE",
        "CODE_OF_CONDUCT",
        "SECURITY",
        ".github/PULL_REQUEST_TEMPLATE",
    ];
    let documents = documents.map(|name| single(&format!("{name}.md")));
    let packages = files("crates", "md")?;
    let packages = packages.into_iter().filter(|it| it.ends_with("README.md"));
    for file in documents
        .into_iter()
        .chain(files("docs", "md")?)
        .chain(packages)
    {
        let text = source::read(&file)?;
        let text = counted(workspace.relative(&file), &text);
        add(DOCUMENTS, &file, blocks::paragraphs(text));
    }
    for folder in ["crates", "xtask", "firmware", "fuzz", "examples"] {
        for file in files(folder, "rs")? {
            let text = source::read(&file)?;
            let path = workspace.relative(&file);
            let is_shipped = folder == "crates"
                && !source::is_test_file(path)
                && !path.starts_with("crates/testkit");
            // clap makes help texts from doc comments, and PyO3 makes docstrings from them.
            let has_user_docs = path.starts_with("crates/python")
                || PROGRAMS.iter().any(|it| path.starts_with(it))
                    && CLAP.iter().any(|it| text.contains(it));
            let (internal, user) = blocks::comments(&text, has_user_docs);
            add(COMMENTS, &file, internal);
            add(INTERFACE, &file, user);
            if is_shipped {
                add(INTERFACE, &file, blocks::strings(path, &text)?);
            }
        }
    }
    for (place, folder, extension, blocks) in OTHER_FILES {
        for file in files(folder, extension)? {
            add(place, &file, blocks(&source::read(&file)?));
        }
    }
    let page = single("web/index.html");
    add(
        INTERFACE,
        &page,
        blocks::between(&source::read(&page)?, ">", "<"),
    );
    let makefile = single("Makefile");
    add(
        INTERFACE,
        &makefile,
        blocks::help_lines(&source::read(&makefile)?),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_later_additions_to_old_records_count() {
        let decision = "# 1. Title\n\n> **In short:** one.\n> Two.\n\n2026-01-01\n\nOld text.\n";
        let counts = |path, text| counted(Path::new(path), text);
        assert_eq!(
            counts("docs/adr/0001-title.md", decision),
            "# 1. Title\n\n> **In short:** one.\n> Two."
        );
        assert_eq!(counts("docs/size.md", decision), decision);
        let without = "# 1. Title\n\nOld text.\n\nMore.\n";
        assert_eq!(counts("docs/adr/0001-title.md", without), without);
    }
}
