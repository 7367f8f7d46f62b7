//! The measured numbers of the documents: `cargo xtask docs`.
//!
//! A document has measured numbers between marks, and `docs/measured/` declares them. This command
//! prints them, writes them into the documents or compares them. Everything is simulated and
//! seeded, so compared numbers must be equal.
//!
//! [`declared`] declares the runs and the values, by a [`template`] with formulas ([`expression`]);
//! [`runs`] runs them; [`document`] finds the marks.

mod declared;
mod document;
mod expression;
pub(crate) mod runs;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use crate::options::Selection;
use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;
use declared::{Block, Cell, Declared};
use document::Expected;
use expression::Sources;
use runs::{Results, Run};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    action: Action,
    /// Blocks of these names, and the program to run.
    selection: Selection,
    /// Whether `--check` measures only the cells that each block declares for the short check.
    short: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Action {
    #[default]
    Print,
    Write,
    Check,
    /// Print the lines that are outside of blocks and contain a number with a unit.
    Loose,
}

impl Options {
    /// Returns the options of the short check in CI.
    pub fn short_check() -> Options {
        Options {
            action: Action::Check,
            short: true,
            ..Options::default()
        }
    }

    /// Parses the command line; an unknown word is the error.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = args;
        loop {
            if let Some(left) = options.selection.take(rest) {
                rest = left;
                continue;
            }
            rest = match rest {
                [] => return Ok(options),
                ["--short", rest @ ..] => {
                    options.short = true;
                    rest
                }
                [action @ ("--write" | "--check" | "--loose"), rest @ ..] => {
                    options.action = match *action {
                        "--write" => Action::Write,
                        "--check" => Action::Check,
                        _ => Action::Loose,
                    };
                    rest
                }
                unknown => return Err(unknown.join(" ")),
            };
        }
    }
}

struct Document {
    path: PathBuf,
    text: String,
}

pub fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let documents = documents(workspace)?;
    if options.action == Action::Loose {
        loose(workspace, &documents);
        return Ok(());
    }
    let declared = Declared::read(&workspace.root.join("docs/measured"))?;
    let used = used(workspace, &documents, &declared)?;
    for name in &options.selection.only {
        if !declared.blocks.contains_key(name) {
            let known: Vec<&str> = declared.blocks.keys().map(String::as_str).collect();
            let known = known.join(", ");
            return Err(Failure::new(format!(
                "docs: there is no block `{name}`; allowed: {known}"
            )));
        }
    }
    let wanted: BTreeMap<&str, &Block> = declared
        .blocks
        .iter()
        .filter(|(name, _)| {
            options.selection.only.is_empty() || options.selection.only.contains(name)
        })
        .map(|(name, block)| (name.as_str(), block))
        .collect();
    let short = options.short && options.action == Action::Check;
    let program = match &options.selection.program {
        Some(path) => path.clone(),
        // The short check uses the build that the tests need in any case.
        None => runs::build(workspace, !short)?,
    };
    let (results, failed) = runs::carry_out(workspace, &program, needed(&wanted, short))?;
    let mut expected = BTreeMap::new();
    let mut missing = failed;
    for (name, block) in &wanted {
        match expect(name, block, &declared, &results, short) {
            Ok(block) => {
                expected.insert(*name, block);
            }
            Err(what) => missing.push(format!("{name}: {what}")),
        }
    }
    match options.action {
        Action::Print => print(&used, &expected),
        // Reads the documents again, because they may have been edited during the measurement.
        Action::Write => write(&self::documents(workspace)?, &expected)?,
        Action::Check => check(workspace, &documents, &expected)?,
        Action::Loose => {}
    }
    Failure::unless_empty("docs: these blocks could not be measured:", missing)
}

/// Returns the documents that may have marks: the README and the files under `docs/`.
fn documents(workspace: &Workspace) -> Result<Vec<Document>, Failure> {
    let mut paths = vec![workspace.root.join("README.md")];
    let mut folders = vec![workspace.root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths[1..].sort();
    let read = |path: PathBuf| match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Document { path, text }),
        Err(e) => Err(Failure::new(format!("cannot read {}: {e}", path.display()))),
    };
    paths.into_iter().map(read).collect()
}

/// Returns the blocks of the documents, in order. Fails unless these are the declared blocks.
fn used(
    workspace: &Workspace,
    documents: &[Document],
    declared: &Declared,
) -> Result<Vec<String>, Failure> {
    let mut used = Vec::new();
    let mut findings = Vec::new();
    for document in documents {
        let path = workspace.relative(&document.path).display();
        match document::marks(&document.text) {
            Err(what) => findings.push(format!("{path}:{what}")),
            Ok(marks) => {
                for mark in marks {
                    if !declared.blocks.contains_key(&mark.name) {
                        let (line, name) = (mark.line, &mark.name);
                        findings.push(format!("{path}:{line}: no block `{name}` is declared"));
                    }
                    used.push(mark.name);
                }
            }
        }
    }
    for name in declared.blocks.keys().filter(|name| !used.contains(name)) {
        findings.push(format!("docs/measured: no document has the block `{name}`"));
    }
    Failure::unless_empty("docs: marks and docs/measured do not agree:", findings)?;
    Ok(used)
}

fn needed(blocks: &BTreeMap<&str, &Block>, short: bool) -> BTreeSet<Run> {
    let mut needed: BTreeSet<Run> = BTreeSet::new();
    for block in blocks.values() {
        for (i, j) in block.chosen(short) {
            for compared in &block.rows[i].cells[j].runs {
                needed.insert(compared.run.clone());
                needed.extend(compared.base.clone());
            }
        }
    }
    needed
}

fn expect(
    name: &str,
    block: &Block,
    declared: &Declared,
    results: &Results,
    short: bool,
) -> Result<Expected, String> {
    let chosen = block.chosen(short);
    let mut rows = Vec::new();
    for (i, row) in block.rows.iter().enumerate() {
        let mut cells: Vec<Option<String>> = row.head.iter().cloned().map(Some).collect();
        for (j, cell) in row.cells.iter().enumerate() {
            let is_known = cell.runs.is_empty() || chosen.contains(&(i, j));
            let text = is_known.then(|| fill(cell, declared, results)).transpose();
            let place = || {
                let head = row.head.join(", ");
                format!("row \"{head}\", column {}", j + 1)
            };
            cells.push(text.map_err(|what| format!("{}: {what}", place()))?);
        }
        rows.push(cells);
    }
    if block.inline {
        let value = rows.into_iter().flatten().next().flatten();
        return Ok(Expected::Inline(value));
    }
    Ok(Expected::Table {
        head: block.head.clone(),
        rows,
        caption: block.caption(name),
    })
}

fn fill(cell: &Cell, declared: &Declared, results: &Results) -> Result<String, String> {
    let result = |run: &Run| -> Result<&Value, String> {
        results
            .get(run)
            .ok_or_else(|| format!("`{run}` was not run"))
    };
    cell.template.fill(|expression| {
        let values = cell.runs.iter().map(|compared| {
            let base = compared.base.as_ref().map(result).transpose()?;
            let sources = Sources {
                measures: &declared.measures,
                run: result(&compared.run)?,
                base,
            };
            let wrong = |what| format!("`{}`: {what}", compared.run);
            expression.value(sources).map_err(wrong)
        });
        values.collect()
    })
}

fn print(used: &[String], expected: &BTreeMap<&str, Expected>) {
    for name in used {
        let text = expected.get(name.as_str()).and_then(Expected::text);
        match text {
            Some(text) if text.starts_with('\n') => println!("{name}\n{text}"),
            Some(text) => println!("{name}: {text}\n"),
            None => {}
        }
    }
}

fn write(documents: &[Document], expected: &BTreeMap<&str, Expected>) -> Outcome {
    for Document { path, text } in documents {
        let mut new = text.clone();
        let marks = document::marks(text).map_err(Failure::new)?;
        for mark in marks.into_iter().rev() {
            let inside = expected.get(mark.name.as_str()).and_then(Expected::text);
            if let Some(inside) = inside {
                new.replace_range(mark.inside, &inside);
            }
        }
        if new != *text {
            std::fs::write(path, new)
                .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))?;
            println!("docs: {} has new numbers", path.display());
        }
    }
    Ok(())
}

fn check(
    workspace: &Workspace,
    documents: &[Document],
    expected: &BTreeMap<&str, Expected>,
) -> Outcome {
    let mut findings = Vec::new();
    let mut compared = 0;
    for Document { path, text } in documents {
        let path = workspace.relative(path).display();
        for mark in document::marks(text).map_err(Failure::new)? {
            let Some(expected) = expected.get(mark.name.as_str()) else {
                continue;
            };
            compared += 1;
            let differences = expected.differences(&text[mark.inside]);
            let (line, name) = (mark.line, mark.name);
            findings.extend(
                differences
                    .iter()
                    .map(|d| format!("{path}:{line}: {name}: {d}")),
            );
        }
    }
    Failure::unless_empty(
        "docs: numbers in documents differ from the measured ones; if that is intended: cargo \
         xtask docs --write, then read the sentences around these numbers",
        findings,
    )?;
    println!("docs: {compared} blocks are as measured");
    Ok(())
}

fn loose(workspace: &Workspace, documents: &[Document]) {
    for Document { path, text } in documents {
        let path = workspace.relative(path).display();
        for (line, words) in document::loose(text) {
            println!("{path}:{line}: {words}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        assert_eq!(Options::parse(&[]), Ok(Options::default()));
        assert_eq!(
            Options::parse(&["--check", "--short"]),
            Ok(Options::short_check())
        );
        let only = Options::parse(&["--only", "a", "--only", "b", "--write"]).unwrap();
        assert_eq!((only.selection.only.len(), only.action), (2, Action::Write));
        assert_eq!(Options::parse(&["--only"]), Err("--only".to_owned()));
    }

    /// A mark without a declaration must be found without any run.
    #[test]
    fn the_documents_have_the_blocks_that_are_declared() {
        let workspace = Workspace::here();
        let documents = documents(&workspace).unwrap();
        let declared = Declared::read(&workspace.root.join("docs/measured")).unwrap();
        let used = used(&workspace, &documents, &declared).unwrap();
        assert!(!used.is_empty());
    }
}
