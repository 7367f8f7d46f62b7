//! Checks that files and functions are short enough to be read in one sitting.
//!
//! A code line has at least one token on it. Blank lines, comments and documentation do not count,
//! and neither does code under `#[cfg(test)]`.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{DEVICE_CRATES, Workspace};

const FILE_LIMIT: usize = 500;
const FUNCTION_LIMIT: usize = 80;

pub fn run(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    let mut files = 0usize;
    let mut folders: Vec<(String, bool)> = workspace
        .crates()?
        .into_iter()
        .map(|name| {
            let device = DEVICE_CRATES.contains(&name.as_str());
            (format!("crates/{name}"), device)
        })
        .collect();
    folders.push(("xtask".to_owned(), false));
    for (folder, device) in folders {
        for path in source::rust_files(&workspace.root.join(folder))? {
            files += 1;
            let text = source::read(&path)?;
            let found = check(workspace.relative(&path), &text)?;
            if device && !source::is_test_file(workspace.relative(&path)) {
                findings.extend(found);
            } else {
                found.iter().for_each(|note| println!("note: {note}"));
            }
        }
    }
    Failure::unless_empty(
        "lines: a device crate's files and functions are too long; \
         split them by mechanism",
        findings,
    )?;
    println!("lines: {files} files");
    Ok(())
}

/// Returns the items of a file that are too long.
fn check(path: &Path, text: &str) -> Result<Vec<String>, Failure> {
    let tokens = source::without_docs_and_tests(source::tokens(path, text)?);
    let lines = code_lines(tokens.clone());
    let mut findings = Vec::new();
    if lines.len() > FILE_LIMIT {
        findings.push(format!(
            "{}: {} lines of code, the limit is {FILE_LIMIT}",
            path.display(),
            lines.len()
        ));
    }
    let file: syn::File = syn::parse2(tokens).map_err(|e| {
        let at = e.span().start();
        Failure::new(format!("{}:{}: not Rust: {e}", path.display(), at.line))
    })?;
    let mut functions = Functions {
        lines: &lines,
        found: Vec::new(),
    };
    functions.visit_file(&file);
    for (name, first_line, count) in functions.found {
        if count > FUNCTION_LIMIT {
            findings.push(format!(
                "{}:{first_line}: fn {name} has {count} lines of code, \
                 the limit is {FUNCTION_LIMIT}",
                path.display()
            ));
        }
    }
    Ok(findings)
}

fn code_lines(tokens: TokenStream) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    source::flatten(tokens, &mut |token| match token {
        // The content of brackets is counted separately.
        TokenTree::Group(group) => {
            lines.insert(group.span().start().line);
            lines.insert(group.span().end().line);
        }
        // A string may span several lines.
        other => lines.extend(other.span().start().line..=other.span().end().line),
    });
    lines
}

/// Collects name, first line and code lines of every function with a body.
struct Functions<'l> {
    lines: &'l BTreeSet<usize>,
    found: Vec<(String, usize, usize)>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = start_of(signature);
        let last = block.brace_token.span.close().end().line;
        let count = self.lines.range(first..=last.max(first)).count();
        self.found.push((signature.ident.to_string(), first, count));
    }
}

fn start_of(signature: &syn::Signature) -> usize {
    let line = |span: Span| span.start().line;
    line(signature.fn_token.span)
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(Path::new("x.rs"), text).unwrap()
    }

    fn count(text: &str) -> usize {
        let tokens: TokenStream = text.parse().unwrap();
        code_lines(source::without_docs_and_tests(tokens)).len()
    }

    #[test]
    fn code_counts_and_comments_do_not() {
        let text =
            "//! File.\n\n/// Doc.\nfn f(\n    x: u8,\n) {\n\n    // why\n    g(x); // why\n}\n";
        assert_eq!(count(text), 5);
        assert_eq!(count("const S: &str = \"\na\nb\n\";\n"), 4);
        assert_eq!(
            count("fn f() {}\n#[cfg(test)]\nmod tests {\n fn g() {}\n}\n"),
            1
        );
    }

    #[test]
    fn a_file_of_501_lines_is_named() {
        assert!(found(&"const A: u8 = 1;\n".repeat(500)).is_empty());
        let findings = found(&"const A: u8 = 1;\n".repeat(501));
        assert_eq!(findings, ["x.rs: 501 lines of code, the limit is 500"]);
    }

    #[test]
    fn functions_of_81_lines_are_named_wherever_they_are() {
        let function = |lines: usize| format!("fn long() {{\n{}}}\n", "x();\n".repeat(lines - 2));
        assert!(found(&function(80)).is_empty());
        for text in [
            function(81),
            format!("impl S {{\n{}}}\n", function(81)),
            format!("trait T {{\n{}}}\n", function(81)),
            format!("mod m {{\n{}}}\n", function(81)),
        ] {
            let findings = found(&text);
            assert_eq!(findings.len(), 1);
            assert!(findings[0].contains("fn long has 81 lines"), "{findings:?}");
        }
    }

    #[test]
    fn text_that_is_not_rust_is_reported() {
        assert!(check(Path::new("x.rs"), "fn (").is_err());
        assert!(check(Path::new("x.rs"), "struct 5;").is_err());
    }
}
