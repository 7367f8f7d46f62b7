//! The book's pictures: `redpoll plot` draws each from a run, as `docs/book/pictures.toml`
//! declares. `cargo xtask book --pictures` draws them again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::docs::runs;
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// A picture, by the name of its file without its ending.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Picture {
    /// Words of the command after `redpoll run`.
    run: Vec<String>,
    /// Name of the picture of `redpoll plot`.
    picture: String,
    /// Flows or nodes to draw; all if the list is empty.
    #[serde(default)]
    of: Vec<String>,
}

fn declared(workspace: &Workspace) -> Result<BTreeMap<String, Picture>, Failure> {
    let path = workspace.root.join("docs/book/pictures.toml");
    let text = std::fs::read_to_string(&path)
        .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))?;
    toml::from_str(&text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

/// Returns a word, quoted for a shell.
fn quoted(word: &str) -> String {
    if word.contains(' ') {
        match word.split_once('=') {
            Some((key, value)) => format!("{key}=\"{value}\""),
            None => format!("\"{word}\""),
        }
    } else {
        word.to_owned()
    }
}

impl Picture {
    fn command(&self) -> String {
        let words = self.run.iter().map(|word| quoted(word));
        format!("redpoll run {}", words.collect::<Vec<_>>().join(" "))
    }
}

/// Checks that each declared picture exists, and that a page shows the picture and the command that
/// draws it.
pub fn check(workspace: &Workspace) -> Outcome {
    let folder = workspace.root.join("docs/book");
    let mut pages = String::new();
    let mut folders = vec![folder.clone()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(&inner).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages += &std::fs::read_to_string(&path).unwrap_or_default();
            }
        }
    }
    // A command may span several lines.
    let words: String = pages
        .replace("\\\n", " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let mut findings = Vec::new();
    for (name, picture) in declared(workspace)? {
        let file = format!("pictures/{name}.svg");
        if !folder.join(&file).is_file() {
            findings.push(format!(
                "{file} does not exist: cargo xtask book --pictures"
            ));
        }
        if !pages.contains(&file) {
            findings.push(format!("no page shows {file}"));
        }
        let command = picture.command();
        if !words.contains(&command) {
            findings.push(format!("no page has the command of {file}: {command}"));
        }
    }
    Failure::unless_empty("book: faults of the book's pictures:", findings)
}

/// Draws all pictures again with `program`, or with a program that this function builds.
pub fn make(workspace: &Workspace, program: Option<&str>) -> Outcome {
    let program = match program {
        Some(program) => PathBuf::from(program),
        None => runs::build(workspace, true)?,
    };
    let folder = workspace.root.join("target/pictures");
    let _ = std::fs::remove_dir_all(&folder);
    for (name, picture) in declared(workspace)? {
        let result = folder.join(&name);
        let mut run = Command::new(&program);
        run.current_dir(&workspace.root)
            .arg("run")
            .args(&picture.run);
        workspace::run(run.arg("--result").arg(&result))?;
        let mut plot = Command::new(&program);
        plot.arg("plot")
            .arg(&result)
            .args(["--format", "svg", "--width", "page"])
            .args(["--picture", &picture.picture]);
        for of in &picture.of {
            plot.args(["--of", of]);
        }
        workspace::run(&mut plot)?;
        let from = result
            .join("plots")
            .join(format!("{}.svg", picture.picture));
        let to = workspace
            .root
            .join(format!("docs/book/pictures/{name}.svg"));
        std::fs::copy(&from, &to)
            .map_err(|e| Failure::new(format!("cannot copy {}: {e}", from.display())))?;
        println!("{}", workspace.relative(&to).display());
    }
    Ok(())
}
