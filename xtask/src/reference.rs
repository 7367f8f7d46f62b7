//! The reference of the C and Python interfaces: `docs/reference/`, made of the comments of
//! `redpoll.h` and `redpoll_tcp.h` and the docstrings of the Python package. The tables of
//! `docs/report.md` are made of the comments of Rust structs. A test of the program makes the
//! reference of the commands, because it has their definitions (`crates/cli/src/reference.rs`).

mod c;
mod fields;
mod python;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

/// Returns the head of a page: its title, its source in a comment, and its introduction.
fn head(title: &str, about: &str, source: &str) -> String {
    format!(
        "# {title}\n\n<!-- Generated from {source}: cargo xtask reference --write -->\n\n{about}\n"
    )
}

fn pages(workspace: &Workspace) -> Result<[(&'static str, String); 4], Failure> {
    Ok([
        ("docs/reference/c.md", c::page(workspace)?),
        ("docs/reference/c-tcp.md", c::tcp_page(workspace)?),
        ("docs/reference/python.md", python::page(workspace)?),
        (fields::PAGE, fields::page(workspace)?),
    ])
}

/// Fails if a page differs from its source.
pub fn check(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    for (name, text) in pages(workspace)? {
        let is = std::fs::read_to_string(workspace.root.join(name)).unwrap_or_default();
        let differs = |(is, new): (&str, &str)| is != new;
        if is != text {
            let line = 1 + is
                .lines()
                .zip(text.lines())
                .take_while(|it| !differs(*it))
                .count();
            findings.push(format!("{name}:{line}: differs from its source"));
        }
    }
    Failure::unless_empty(
        "reference: the pages are out of date; run `cargo xtask reference --write`, and check the \
         changes with `git diff`:",
        findings,
    )?;
    println!("reference: the pages of C and Python and the tables of the report are current");
    Ok(())
}

/// Writes all pages. A test of the program `redpoll` writes the page of the commands.
pub fn write(workspace: &Workspace) -> Outcome {
    for (name, text) in pages(workspace)? {
        std::fs::write(workspace.root.join(name), text)
            .map_err(|e| Failure::new(format!("cannot write {name}: {e}")))?;
    }
    let mut commands = workspace.cargo();
    commands.env("REDPOLL_BLESS", "1");
    commands.args([
        "test",
        "--quiet",
        "--package",
        "redpoll",
        "--bin",
        "redpoll",
        "reference",
    ]);
    workspace::run(&mut commands)
}

/// Returns a comment's words as Markdown: outside of code it escapes HTML and emphasis.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        match at % 2 {
            0 => out += &part.replace('<', "\\<").replace('*', "\\*"),
            _ => out += part,
        }
    }
    out
}

fn read(workspace: &Workspace, name: &str) -> Result<String, Failure> {
    source::read(&workspace.root.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_outside_of_code() {
        assert_eq!(escaped("a <b> `c*<d>` *e*"), "a \\<b> `c*<d>` \\*e\\*");
    }

    #[test]
    fn the_pages_are_current() {
        check(&Workspace::here()).unwrap();
    }
}
