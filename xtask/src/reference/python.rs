//! The page of the Python package: the public names of `__init__.py`, with their signatures and
//! docstrings. Sources are read line by line, because in formatted sources indentation suffices.

use std::collections::BTreeMap;

use crate::report::Failure;
use crate::source;
use crate::workspace::Workspace;

use super::{escaped, head};

const PACKAGE: &str = "crates/python/python/redpoll";

pub fn page(workspace: &Workspace) -> Result<String, Failure> {
    let about = "This page is for users of the Python package. Afterwards you know the purpose, arguments and errors of each\n\
        public name. [Redpoll in Python](../python.md) describes how to use them.";
    let mut out = head("Python interface", about, PACKAGE);
    let folder = workspace.root.join(PACKAGE);
    let mut definitions = BTreeMap::new();
    let mut files = source::files(&folder, "pyi")?;
    files.extend(source::files(&folder, "py")?);
    for file in files {
        definitions.extend(self::definitions(&source::read(&file)?));
    }
    let init = super::read(workspace, &format!("{PACKAGE}/__init__.py"))?;
    for name in public(&init) {
        let text = definitions
            .get(&name)
            .ok_or_else(|| Failure::new(format!("{PACKAGE}: `{name}` is not defined")))?;
        out += text;
    }
    Ok(out)
}

fn public(init: &str) -> Vec<String> {
    let list = init.split_once("__all__ = [").map_or("", |(_, rest)| rest);
    let list = list.split(']').next().unwrap_or_default();
    list.split('"')
        .skip(1)
        .step_by(2)
        // `__version__` has no docstring.
        .filter(|name| !name.starts_with("__"))
        .map(str::to_owned)
        .collect()
}

/// Returns the classes and functions at the top of a file, as Markdown.
fn definitions(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for at in 0..lines.len() {
        let Some(definition) = Definition::at(&lines, at, 0) else {
            continue;
        };
        let mut out = format!("\n## {}\n", definition.name);
        let mut signature = definition.signature.clone();
        let members = members(&lines, &definition);
        let made = members
            .iter()
            .find(|it| it.name == "__init__" && !it.signature.contains("_native."));
        if let Some(made) = made {
            let arguments = made.signature.split_once('(').map_or("", |(_, rest)| rest);
            let arguments = arguments.replace("self, ", "").replace("self)", ")");
            signature = format!("class {}({arguments}", definition.name);
            signature = signature.replace(" -> None", "");
        }
        out += &format!("\n```python\n{signature}\n```\n");
        out += &paragraphs(&definition.docstring);
        let shown = members.iter().filter(|it| !it.name.starts_with('_'));
        for (at, member) in shown.enumerate() {
            out += if at == 0 { "\n" } else { "" };
            let words = member.docstring.join(" ");
            let words = escaped(&words.split_whitespace().collect::<Vec<_>>().join(" "));
            let words = if words.is_empty() {
                words
            } else {
                format!(": {words}")
            };
            out += &format!("- `{}`{words}\n", member.signature);
        }
        found.push((definition.name, out));
    }
    found
}

struct Definition {
    name: String,
    signature: String,
    docstring: Vec<String>,
    /// The line after the signature; `indent` is the indentation of the definition.
    body: usize,
    indent: usize,
}

impl Definition {
    /// Returns the definition that begins at a line, with this indentation.
    fn at(lines: &[&str], at: usize, indent: usize) -> Option<Definition> {
        let line = lines[at];
        let rest = line.get(indent..).filter(|rest| !rest.starts_with(' '))?;
        let before = &line[..indent];
        if !before.trim().is_empty() {
            return None;
        }
        let rest = rest.strip_prefix("async ").unwrap_or(rest);
        let word = rest.strip_prefix("class ").or(rest.strip_prefix("def "))?;
        let name = word.split(['(', ':']).next()?.to_owned();
        let mut signature = String::new();
        let mut body = at;
        loop {
            let piece = lines.get(body)?.trim();
            body += 1;
            let joins = signature.ends_with(['(', '[']) || signature.is_empty();
            signature += if joins { "" } else { " " };
            signature += piece;
            if piece.ends_with([':', '.']) {
                break;
            }
        }
        let is_property = at > 0 && lines[at - 1].contains("property");
        let signature = signature
            .trim_end_matches("...")
            .trim()
            .trim_end_matches(':');
        let signature = signature.replace(", )", ")").replace(",)", ")");
        let signature = match (indent, is_property) {
            (0, _) => signature,
            (_, true) => signature.replace("def ", "").replace("(self) -> ", ": "),
            (_, false) => signature
                .replace("def ", "")
                .replace("self, ", "")
                .replace("cls, ", "")
                .replace("(self)", "()"),
        };
        Some(Definition {
            name,
            signature,
            docstring: docstring(&lines[body..]),
            body,
            indent,
        })
    }
}

/// Returns the docstring at the start of a body, without indentation.
fn docstring(body: &[&str]) -> Vec<String> {
    let Some(first) = body.first().and_then(|it| it.trim().strip_prefix("\"\"\"")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let rest = body[1..].iter().map(|line| line.trim());
    for line in std::iter::once(first).chain(rest) {
        match line.strip_suffix("\"\"\"") {
            Some(line) => {
                found.push(line.to_owned());
                break;
            }
            None => found.push(line.to_owned()),
        }
    }
    while found.last().is_some_and(String::is_empty) {
        found.pop();
    }
    found
}

fn paragraphs(docstring: &[String]) -> String {
    if docstring.is_empty() {
        String::new()
    } else {
        format!("\n{}\n", escaped(&docstring.join("\n")))
    }
}

/// Returns the methods, properties and documented attributes of a class, in order.
fn members(lines: &[&str], class: &Definition) -> Vec<Definition> {
    let mut found = Vec::new();
    if !class.signature.starts_with("class ") {
        return found;
    }
    for at in class.body..lines.len() {
        let line = lines[at];
        if !line.is_empty() && !line.starts_with(' ') {
            break;
        }
        found.extend(Definition::at(lines, at, class.indent + 4));
        found.extend(attribute(lines, at));
    }
    found
}

/// Returns an attribute: `name: type` in a class, or `self.name: type` after a comment `#:`.
fn attribute(lines: &[&str], at: usize) -> Option<Definition> {
    let line = lines[at];
    let (indent, after) = (line.len() - line.trim_start().len(), line.trim_start());
    let comment = lines[at - 1].trim().strip_prefix("#: ");
    let after = match (indent, comment) {
        (4, _) => after,
        (8, Some(_)) => after.strip_prefix("self.")?,
        _ => return None,
    };
    let (name, rest) = after.split_once(": ")?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let kind = rest.split(" = ").next()?;
    is_name.then(|| Definition {
        name: name.to_owned(),
        signature: format!("{name}: {kind}"),
        docstring: comment.map(str::to_owned).into_iter().collect(),
        body: at + 1,
        indent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_functions_are_read() {
        let text = "class A(B):\n    \"\"\"An *a*.\n\n    More.\"\"\"\n\n    x: int = 1\n\n    def __init__(self, y: int) -> None:\n        \
            #: Its y.\n        self.y: int = y\n\n    @property\n    def z(self) -> str:\n        \"\"\"The z.\"\"\"\n        return 1\n\n    \
            def _hidden(self) -> None:\n        pass\n\n    def go(\n        self,\n        n: int,\n    ) -> None:\n        \"\"\"Goes.\n\n\
        \"\"\"\n\ndef f(a: int) -> A: ...\n";
        let found = definitions(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].1,
            "\n## A\n\n```python\nclass A(y: int)\n```\n\nAn \\*a\\*.\n\nMore.\n\n- `x: int`\n- `y: int`: Its y.\n\
             - `z: str`: The z.\n- `go(n: int) -> None`: Goes.\n"
        );
        assert_eq!(found[1].1, "\n## f\n\n```python\ndef f(a: int) -> A\n```\n");
    }
}
