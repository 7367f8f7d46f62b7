//! Reads Rust sources: files, tokens with their lines, and whether code is a test.

use std::iter::Peekable;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::report::Failure;

/// Returns all Rust files under `folder`, sorted; an empty list if the folder does not exist.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    files(folder, "rs")
}

/// Returns the files under `folder` with this extension, sorted; none if the folder does not exist.
pub fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            // Skips builds: a crate that is a separate workspace may have its own `target`.
            let built = path.file_name().is_some_and(|name| name == "target");
            if path.is_dir() && !built {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

pub fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))
}

/// Returns a file as tokens with their places.
pub fn tokens(path: &Path, text: &str) -> Result<TokenStream, Failure> {
    text.parse()
        .map_err(|e| Failure::new(format!("{}: not Rust: {e}", path.display())))
}

/// Returns whether a file contains only tests: `tests.rs`, or below a folder named `tests`.
pub fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// Returns the tokens without doc comments, which are attributes to the compiler, and without items
/// under `#[cfg(test)]`.
pub fn without_docs_and_tests(tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        if !is_punct(&token, '#') {
            kept.push(match token {
                TokenTree::Group(group) => {
                    let inner = without_docs_and_tests(group.stream());
                    let mut new = proc_macro2::Group::new(group.delimiter(), inner);
                    // A new group accepts only one span, from its opening to its closing delimiter.
                    // The ends of this span give the lines of the delimiters.
                    new.set_span(group.span());
                    TokenTree::Group(new)
                }
                other => other,
            });
            continue;
        }
        let bang = rest.next_if(|next| is_punct(next, '!'));
        let attribute = match rest.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
                squeeze(&group.stream())
            }
            _ => {
                kept.push(token);
                kept.extend(bang);
                continue;
            }
        };
        if attribute.starts_with("doc=") {
            rest.next();
        } else if bang.is_none() && attribute == "cfg(test)" {
            rest.next();
            skip_item(&mut rest);
        } else {
            kept.push(token);
            kept.extend(bang);
            kept.extend(rest.next());
        }
    }
    kept.into_iter().collect()
}

/// Skips an item: up to its block in braces, or its semicolon, or both.
fn skip_item(rest: &mut Peekable<impl Iterator<Item = TokenTree>>) {
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                rest.next_if(|next| is_punct(next, ';'));
                return;
            }
            token if is_punct(&token, ';') => return,
            _ => {}
        }
    }
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

/// Returns tokens as text without spaces.
fn squeeze(tokens: &TokenStream) -> String {
    tokens
        .to_string()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// Visits every token of `tokens` in order, including the tokens in groups.
pub fn flatten(tokens: TokenStream, visit: &mut impl FnMut(&TokenTree)) {
    for token in tokens {
        visit(&token);
        if let TokenTree::Group(group) = token {
            flatten(group.stream(), visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        squeeze(&without_docs_and_tests(text.parse().unwrap()))
    }

    #[test]
    fn docs_and_tests_go_and_code_stays() {
        let text = "
            //! About the file.
            #![forbid(unsafe_code)]
            /// About f.
            #[inline]
            fn f() { /* why */ let x = 1; // why
            }
            #[cfg(test)]
            mod tests { fn g() {} }
            #[cfg(test)]
            extern crate std;
            #[cfg(test)]
            #[derive(Debug)]
            struct OnlyForTests;
            #[cfg(test)]
            use std::{format, vec};
            struct S;
        ";
        let expected = "#![forbid(unsafe_code)]#[inline]fnf(){letx=1;}structS;";
        assert_eq!(cleaned(text), expected);
    }

    #[test]
    fn test_files_are_recognized_by_their_names() {
        for (path, test) in [
            ("crates/mac/src/csma.rs", false),
            ("crates/mac/src/filter/tests.rs", true),
            ("crates/mac/tests/bench/mod.rs", true),
            ("crates/testkit/src/lib.rs", false),
        ] {
            assert_eq!(is_test_file(Path::new(path)), test, "{path}");
        }
    }
}
