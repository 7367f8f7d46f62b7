//! The book: what is under `docs/`, in the order of `docs/SUMMARY.md`, made by mdBook.
//!
//! The links between the documents are checked always (`links`); the book is built where mdBook
//! is, and the links of its pages are checked, too (`rendered`). Links that lead out of `docs/`
//! lead to the repository in it (`preprocess`). Its pictures are of real runs (`pictures`).

mod links;
mod pictures;
mod preprocess;
mod rendered;

use std::path::PathBuf;
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

pub use pictures::make as pictures;
pub use preprocess::run as preprocess;

/// Which mdBook, as `scripts/setup.sh` installs it.
const VERSION: &str = "0.5.4";

/// Checks the links, and builds the book; says what was left out.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    links::check(workspace)?;
    pictures::check(workspace)?;
    let Some(program) = program(workspace) else {
        return Ok(Some(format!(
            "mdBook {VERSION} is missing (scripts/setup.sh book); links were checked in the sources"
        )));
    };
    let mut build = Command::new(program);
    build.arg("build").arg(workspace.root.join("docs/book"));
    // The preprocessor is this program, as it is.
    let this = std::env::current_exe()
        .map_err(|e| Failure::new(format!("book: this program is not to be found: {e}")))?;
    build.env(
        "MDBOOK_PREPROCESSOR__REPOSITORY__COMMAND",
        format!("'{}' book --preprocess", this.display()),
    );
    workspace::run(&mut build)?;
    let pages = rendered::check(&workspace.root.join("target/book"))?;
    println!("book: {pages} pages in target/book/index.html");
    Ok(None)
}

/// The same for people, for whom a book that cannot be built is a failure.
pub fn build(workspace: &Workspace) -> Outcome {
    match run(workspace)? {
        None => Ok(()),
        Some(reason) => Err(Failure::new(format!("book: {reason}"))),
    }
}

/// mdBook, where setup.sh puts it or on the path, of the version that is meant.
fn program(workspace: &Workspace) -> Option<PathBuf> {
    let own = workspace.root.join("target/tools/bin/mdbook");
    [own, PathBuf::from("mdbook")].into_iter().find(|program| {
        let said = workspace::output(Command::new(program).arg("--version"));
        said.is_ok_and(|said| said.trim() == format!("mdbook v{VERSION}"))
    })
}
