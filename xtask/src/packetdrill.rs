//! Runs two public suites of packetdrill scripts against the library, and writes the tables of
//! `docs/packetdrill.md` and `docs/packetdrill-failures.md`.

mod adapt;
mod causes;
mod favours;
mod outcome;
mod page;
mod script;
mod suite;
mod tool;

use std::path::PathBuf;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};
use suite::Suite;
use tool::Tool;

#[derive(Default)]
pub struct Options {
    tool: PathBuf,
    freebsd: PathBuf,
    linux: PathBuf,
    only: Option<String>,
    keep: Option<PathBuf>,
    json: Option<PathBuf>,
    write: bool,
}

impl Options {
    /// Parses the options. An error names the unknown words.
    pub fn parse(words: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if *word == "--write" {
                options.write = true;
                continue;
            }
            let value = rest.next().ok_or((*word).to_owned())?;
            match *word {
                "--tool" => options.tool = value.into(),
                "--freebsd" => options.freebsd = value.into(),
                "--linux" => options.linux = value.into(),
                "--only" => options.only = Some((*value).to_owned()),
                "--keep" => options.keep = Some(value.into()),
                "--json" => options.json = Some(value.into()),
                _ => return Err((*word).to_owned()),
            }
        }
        if options.write && options.only.is_some() {
            return Err("--write needs all scripts; use it without --only".to_owned());
        }
        for (name, value) in [
            ("--tool", &options.tool),
            ("--freebsd", &options.freebsd),
            ("--linux", &options.linux),
        ] {
            if value.as_os_str().is_empty() {
                return Err(format!("{name}: the path is empty"));
            }
        }
        Ok(options)
    }
}

pub fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let mut cargo = workspace.cargo();
    workspace::run(cargo.args(["build", "--quiet", "-p", "redpoll-packetdrill"]))?;
    let folder = match &options.keep {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("redpoll-packetdrill-{}", std::process::id())),
    };
    let tool = Tool {
        program: options.tool.clone(),
        library: workspace
            .root
            .join("target/debug/libredpoll_packetdrill.so"),
        folder: folder.clone(),
    };
    let only = options.only.as_deref().unwrap_or_default();
    let mut outcomes = outcome::run(&tool, Suite::FreeBsd, &options.freebsd, only)?;
    outcomes.extend(outcome::run(&tool, Suite::Linux, &options.linux, only)?);
    if options.keep.is_none() {
        // A remaining folder is not a failure.
        let _ = std::fs::remove_dir_all(&folder);
    }
    let causes = causes::read(workspace)?;
    for suite in Suite::ALL {
        let [all, run, passed, failed, by_stack] = page::counts(suite, &causes, &outcomes);
        println!(
            "{}: {all} scripts, {run} run, {passed} pass, {failed} do not pass, \
             {by_stack} of these because of the stack",
            suite.title()
        );
    }
    if let Some(file) = &options.json {
        let text = format!("{:#}\n", page::json(&causes, &outcomes));
        std::fs::write(file, text)
            .map_err(|e| Failure::new(format!("cannot write {}: {e}", file.display())))?;
    }
    if options.write {
        page::write(workspace, &causes, &outcomes)?;
    }
    Failure::unless_empty(
        format!(
            "packetdrill: a script must have one cause in {} if it fails, and none if it passes:",
            causes::FILE
        ),
        causes::differences(&causes, &outcomes),
    )
}
