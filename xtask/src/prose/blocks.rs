//! Blocks of prose: paragraphs of Markdown, comment blocks, and texts of the interface.

use std::path::Path;

use proc_macro2::TokenTree;

use crate::report::Failure;
use crate::source;

/// A piece of prose that is judged as a unit.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// First and last line of the block, counted from 1.
    pub lines: (usize, usize),
    pub text: String,
}

#[derive(Default)]
struct Collector {
    open: Option<Block>,
    done: Vec<Block>,
}

impl Collector {
    fn add(&mut self, line: usize, text: &str) {
        let block = self.open.get_or_insert(Block {
            lines: (line, line),
            text: String::new(),
        });
        block.lines.1 = line;
        block.text.push_str(text.trim());
        block.text.push(' ');
    }

    fn close(&mut self) {
        let closed = self.open.take();
        // A single word cannot be unclear.
        self.done
            .extend(closed.filter(|it| it.text.trim().contains(' ')));
    }

    fn finish(mut self) -> Vec<Block> {
        self.close();
        self.done
    }
}

/// Returns the paragraphs, list items, table rows and headings of a document. Blocks of code and
/// generated parts are left out.
pub fn paragraphs(text: &str) -> Vec<Block> {
    let mut blocks = Collector::default();
    let (mut is_code, mut is_generated) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        let is_fence = line.starts_with("```");
        let is_item = line.starts_with(['-', '*', '#', '|', '>'])
            || line
                .split_once(". ")
                .is_some_and(|(it, _)| it.parse::<u8>().is_ok());
        is_code ^= is_fence;
        is_generated |= line.starts_with("<!-- keys: begin");
        is_generated &= !line.starts_with("<!-- keys: end");
        if line.is_empty() || is_fence || is_item || line.starts_with("<!--") {
            blocks.close();
        }
        if !(is_code || is_fence || is_generated || line.is_empty() || line.starts_with("<!--")) {
            blocks.add(number, line);
        }
    }
    blocks.finish()
}

/// Returns the comments of a Rust file: each run of lines that begin with `//`, and each comment
/// after code. The second list contains documentation that users read.
pub fn comments(text: &str, has_user_docs: bool) -> (Vec<Block>, Vec<Block>) {
    let mut kinds = [Collector::default(), Collector::default()];
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            kinds.iter_mut().for_each(Collector::close);
            is_code = false;
            let after = line.split_once(" // ");
            if let Some((_, comment)) = after.filter(|it| it.0.matches('"').count() % 2 == 0) {
                kinds[0].add(index + 1, comment);
                kinds[0].close();
            }
            continue;
        };
        let is_doc = comment.starts_with('/') && has_user_docs;
        let comment = comment.trim_start_matches(['/', '!']).trim();
        let is_fence = comment.starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            kinds[usize::from(is_doc)].add(index + 1, comment);
        }
    }
    let [internal, user] = kinds.map(Collector::finish);
    (internal, user)
}

/// Returns the string literals of three words or more in a Rust file, outside of tests.
pub fn strings(path: &Path, text: &str) -> Result<Vec<Block>, Failure> {
    let mut strings = Vec::new();
    let tokens = source::without_docs_and_tests(source::tokens(path, text)?);
    source::flatten(tokens, &mut |token| {
        if let TokenTree::Literal(literal) = token
            && let Ok(string) = syn::parse_str::<syn::LitStr>(&literal.to_string())
            && string.value().split_whitespace().count() >= 3
        {
            let lines = (literal.span().start().line, literal.span().end().line);
            let text = string.value();
            strings.push(Block { lines, text });
        }
    });
    Ok(strings)
}

/// Returns the block comments of C, the docstrings of Python, or the text elements of HTML, which
/// are between `open` and `close`.
pub fn between(text: &str, open: &str, close: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find(open).map(|it| from + it + open.len()) {
        let end = text[begin..]
            .find(close)
            .map_or(text.len(), |it| begin + it);
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let lines = text[begin..end].lines();
        let inside: Vec<&str> = lines.map(|it| it.trim().trim_start_matches('*')).collect();
        let text_of = inside.join(" ");
        if text_of.split_whitespace().count() >= 3 {
            let lines = (line(begin), line(end));
            blocks.push(Block {
                lines,
                text: text_of,
            });
        }
        from = (end + close.len()).min(text.len());
    }
    blocks
}

/// Returns the strings of a line-based language (TypeScript), of three words or more.
pub fn quoted(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with(['/', '*']) {
            continue;
        }
        for quote in ["\"", "`"] {
            let strings = between(line, quote, quote).into_iter();
            let lines = (index + 1, index + 1);
            blocks.extend(strings.map(|it| Block { lines, ..it }));
        }
    }
    blocks
}

/// Returns the comments of a language whose comments begin with `#`: each run of such lines, and each
/// comment after code or a value.
pub fn hash_comments(text: &str) -> Vec<Block> {
    let mut blocks = Collector::default();
    for (index, line) in text.lines().enumerate() {
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if !comment.starts_with('!') {
                blocks.add(index + 1, comment);
            }
            continue;
        }
        blocks.close();
        let after = line.split_once(" # ");
        if let Some((_, comment)) = after.filter(|it| it.0.matches(['"', '\'']).count() % 2 == 0) {
            blocks.add(index + 1, comment);
            blocks.close();
        }
    }
    blocks.finish()
}

/// Returns the help lines of a Makefile: the texts after `##`.
pub fn help_lines(text: &str) -> Vec<Block> {
    let lines = text.lines().enumerate();
    let help = lines
        .filter_map(|(at, line)| Some((at + 1, line.split_once(": ")?.1.split_once("## ")?.1)));
    help.map(|(at, text)| Block {
        lines: (at, at),
        text: text.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(blocks: &[Block]) -> Vec<&str> {
        blocks.iter().map(|it| it.text.trim()).collect()
    }

    #[test]
    fn paragraphs_items_and_rows_are_blocks_and_code_is_not() {
        let text = "# A head\n\nOne\ntwo.\n- an item\n- the next\n| a | b |\n```sh\nx y\n```\n\
                    <!-- keys: begin -->\nsome row\n<!-- keys: end -->\nAt last.\n";
        let blocks = paragraphs(text);
        let expected = [
            "# A head",
            "One two.",
            "- an item",
            "- the next",
            "| a | b |",
            "At last.",
        ];
        assert_eq!(texts(&blocks), expected);
        assert_eq!(blocks[1].lines, (3, 4));
    }

    #[test]
    fn comments_are_apart_from_documentation_that_users_read() {
        let text = "/// For\n/// users.\nstruct S; // After code.\n// Not for\n// users.\n\
                    const URL: &str = \"a // b\";\n";
        let (internal, user) = comments(text, true);
        assert_eq!(texts(&internal), ["After code.", "Not for users."]);
        assert_eq!(texts(&user), ["For users."]);
        assert_eq!(texts(&comments(text, false).0)[0], "For users.");
    }

    #[test]
    fn strings_of_three_words_outside_of_tests_are_found() {
        let text = "fn f() { g(\"one two three\", \"one two\"); }\n\
                    #[cfg(test)] mod t { const A: &str = \"in a test\"; }\n";
        assert_eq!(
            texts(&strings(Path::new("a.rs"), text).unwrap()),
            ["one two three"]
        );
        assert_eq!(
            texts(&quoted("let a = \"one two three\", b = `four five six`;")).len(),
            2
        );
        assert_eq!(texts(&help_lines("x: y ## Do this now\n")), ["Do this now"]);
        let c = "/* One\n * two three. */ int x;";
        assert_eq!(texts(&between(c, "/*", "*/")), ["One  two three."]);
        let shell = "#!/bin/sh\n# One\n# two.\nx=1 # After it.\necho \"a # b c\"\n";
        assert_eq!(texts(&hash_comments(shell)), ["One two.", "After it."]);
    }
}
