//! The book: the documents under `docs/`, in the order of `docs/SUMMARY.md`, made by mdBook.
//!
//! The links between the documents (`links`), and the form of pages (`pages`) and of decision
//! records (`decisions`) are always checked. If mdBook is installed, the book is built, and the
//! links of its pages are checked, too (`rendered`). Links from the book to files outside `docs/` are changed to the
//! repository on the web, and the simulator replaces its markers if `make wasm` has built it
//! (`preprocess`). The pictures show real runs (`pictures`).

mod decisions;
mod links;
mod pages;
mod pictures;
mod preprocess;
mod rendered;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

pub use pictures::make as pictures;
pub use preprocess::run as preprocess;

/// Version of mdBook that `scripts/setup.sh` installs.
const VERSION: &str = "0.5.4";

/// Checks the links, and builds the book; returns the skipped parts.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    links::check(workspace)?;
    pages::check(workspace)?;
    decisions::check(workspace)?;
    pictures::check(workspace)?;
    let Some(program) = program(workspace) else {
        return Ok(Some(format!(
            "mdBook {VERSION} is missing (scripts/setup.sh book); links were checked in the sources"
        )));
    };
    let mut build = Command::new(program);
    build.arg("build").arg(workspace.root.join("docs/book"));
    // mdBook calls this running program as its preprocessor, so nothing has to be built.
    let this = std::env::current_exe()
        .map_err(|e| Failure::new(format!("book: cannot find the path of this program: {e}")))?;
    build.env(
        "MDBOOK_PREPROCESSOR__REPOSITORY__COMMAND",
        format!("'{}' book --preprocess", this.display()),
    );
    // The output of `make wasm`, if it exists.
    let simulator = workspace.root.join("target/browser");
    let has_simulator = simulator.join("redpoll.wasm").is_file();
    if has_simulator {
        build.env(preprocess::SIMULATOR, "yes");
    }
    workspace::run(&mut build)?;
    let book = workspace.root.join("target/book");
    if has_simulator {
        copy(&simulator, &book.join(preprocess::FOLDER))?;
    }
    let pages = rendered::check(&book)?;
    println!("book: {pages} pages; open target/book/index.html");
    if has_search(&book) {
        Ok(None)
    } else {
        Ok(Some(
            "this mdBook was built without search (scripts/setup.sh book), and so was the book"
                .into(),
        ))
    }
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) -> Outcome {
    let copied = || {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    };
    copied().map_err(|e: std::io::Error| {
        Failure::new(format!(
            "book: cannot copy {} to {}: {e}",
            from.display(),
            to.display()
        ))
    })
}

/// Returns whether mdBook has written the search index.
fn has_search(book: &Path) -> bool {
    let entries = std::fs::read_dir(book).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with("searchindex"))
}

/// Builds the book; fails if it cannot be built.
pub fn build(workspace: &Workspace) -> Outcome {
    match run(workspace)? {
        None => Ok(()),
        Some(reason) => Err(Failure::new(format!("book: {reason}"))),
    }
}

/// Returns mdBook of version [`VERSION`]: the one that setup.sh installed, or the one in PATH.
fn program(workspace: &Workspace) -> Option<PathBuf> {
    let own = workspace.root.join("target/tools/bin/mdbook");
    workspace::tool(own, "mdbook", &format!("mdbook v{VERSION}"))
}
