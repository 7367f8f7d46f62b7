//! The three places of prose, and the files that belong to each.

use std::path::Path;

use super::blocks::{self, Block};
use crate::report::Failure;
use crate::source;
use crate::workspace::Workspace;

pub const DOCUMENTS: &str = "documents";
pub const INTERFACE: &str = "interface";
pub const COMMENTS: &str = "comments";

/// Files of the command line with one of these have help texts.
const CLAP: [&str; 4] = ["Args)]", "Parser)]", "Subcommand)]", "ValueEnum)]"];

/// Reads the blocks of all places, and gives `add` those of a file in a place.
pub fn read(
    workspace: &Workspace,
    add: &mut impl FnMut(&'static str, &Path, Vec<Block>),
) -> Result<(), Failure> {
    let mut add = |place, file: &Path, blocks| add(place, workspace.relative(file), blocks);
    let files = |folder: &str, extension| source::files(&workspace.root.join(folder), extension);
    let single = |name: &str| workspace.root.join(name);

    let documents = ["README", "CHANGELOG", "CONTRIBUTING", "ARCHITECTURE"];
    let documents = documents.map(|name| single(&format!("{name}.md")));
    let packages = files("crates", "md")?;
    let packages = packages.into_iter().filter(|it| it.ends_with("README.md"));
    for file in documents
        .into_iter()
        .chain(files("docs", "md")?)
        .chain(packages)
    {
        add(DOCUMENTS, &file, blocks::paragraphs(&source::read(&file)?));
    }
    for folder in ["crates", "xtask", "firmware", "fuzz", "examples"] {
        for file in files(folder, "rs")? {
            let text = source::read(&file)?;
            let path = workspace.relative(&file);
            let is_shipped = folder == "crates"
                && !source::is_test_file(path)
                && !path.starts_with("crates/testkit");
            // clap makes help texts of documentation, and PyO3 makes docstrings.
            let has_user_docs = path.starts_with("crates/python")
                || path.starts_with("crates/cli/src") && CLAP.iter().any(|it| text.contains(it));
            let (internal, user) = blocks::comments(&text, has_user_docs);
            add(COMMENTS, &file, internal);
            add(INTERFACE, &file, user);
            if is_shipped {
                add(INTERFACE, &file, blocks::strings(path, &text)?);
            }
        }
    }
    let header = single("crates/capi/include/redpoll.h");
    add(
        INTERFACE,
        &header,
        blocks::between(&source::read(&header)?, "/*", "*/"),
    );
    for file in files("crates/python/python", "py")? {
        add(
            INTERFACE,
            &file,
            blocks::between(&source::read(&file)?, "\"\"\"", "\"\"\""),
        );
    }
    let page = single("web/index.html");
    add(
        INTERFACE,
        &page,
        blocks::between(&source::read(&page)?, ">", "<"),
    );
    for file in files("web/src", "ts")? {
        add(INTERFACE, &file, blocks::quoted(&source::read(&file)?));
    }
    let makefile = single("Makefile");
    add(
        INTERFACE,
        &makefile,
        blocks::help_lines(&source::read(&makefile)?),
    );
    Ok(())
}
