//! The pages of `redpoll.h` and `redpoll_tcp.h`: their sections, and in each the comments with their declarations.

use crate::report::Failure;
use crate::workspace::Workspace;

use super::{escaped, head};

const HEADER: &str = "crates/capi/include/redpoll.h";
const TCP: &str = "crates/capi/include/redpoll_tcp.h";

/// Returns the page of nodes and sockets.
pub fn page(workspace: &Workspace) -> Result<String, Failure> {
    let about = format!(
        "This page is for developers in C. Afterwards you know the purpose, arguments and errors of each declaration of\n\
         [`redpoll.h`](../../{HEADER}). [Redpoll for C](../c.md) describes how to use them,\n\
         and [a tutorial](../book/c-program.md) has a complete program. TCP alone has [its own\n\
         page](c-tcp.md)."
    );
    of(workspace, HEADER, "C interface", &about)
}

/// Returns the page of TCP alone.
pub fn tcp_page(workspace: &Workspace) -> Result<String, Failure> {
    let about = format!(
        "This page is for developers in C whose device has IPv6. Afterwards you know the purpose, arguments and errors\n\
         of each declaration of [`redpoll_tcp.h`](../../{TCP}): TCP without nodes and sockets.\n\
         [Redpoll for C](../c.md#tcp-alone) compares the two interfaces."
    );
    of(workspace, TCP, "TCP alone, for C", &about)
}

fn of(workspace: &Workspace, header: &str, title: &str, about: &str) -> Result<String, Failure> {
    let text = super::read(workspace, header)?;
    let mut out = head(title, about, header);
    let (intro, rest) = text
        .split_once("*/\n")
        .ok_or_else(|| Failure::new(format!("{header}: no comment at its head")))?;
    out += &prose(&comment_lines(intro));
    for part in blocks(rest) {
        out += &item(&part);
    }
    Ok(out)
}

/// Splits a header at blank lines outside of comments and braces.
fn blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block = String::new();
    let (mut depth, mut in_comment) = (0usize, false);
    // The braces for C++ enclose the whole header, so they are left out.
    let is_c = |line: &&str| *line != "extern \"C\" {" && *line != "}";
    for line in text.lines().filter(is_c) {
        if line.is_empty() && depth == 0 && !in_comment {
            found.push(std::mem::take(&mut block));
            continue;
        }
        let mut code = line;
        loop {
            let mark = if in_comment { "*/" } else { "/*" };
            let (before, after) = code.split_once(mark).unwrap_or((code, ""));
            if !in_comment {
                let opened = depth + before.matches('{').count();
                depth = opened.saturating_sub(before.matches('}').count());
            }
            if !code.contains(mark) {
                break;
            }
            in_comment = !in_comment;
            code = after;
        }
        block += line;
        block.push('\n');
    }
    found.push(block);
    found.retain(|block| !block.trim().is_empty());
    found
}

/// Returns the title in a line `/* ---- title -- */`.
fn title(block: &str) -> Option<&str> {
    let inside = block.trim().strip_prefix("/* --")?.strip_suffix("-- */")?;
    Some(inside.trim_matches(['-', ' ']))
}

fn item(block: &str) -> String {
    if let Some(title) = title(block) {
        let title = match title {
            "ABI" => "ABI".to_owned(),
            other => other[..1].to_uppercase() + &other[1..],
        };
        return format!("\n## {title}\n");
    }
    let (comment, code) = match block
        .strip_prefix("/*")
        .and_then(|it| it.split_once("*/\n"))
    {
        Some((comment, code)) => (comment_lines(comment), code),
        None => (Vec::new(), block),
    };
    // The guards of the header are left out. The conditions of definitions stay: a reader needs
    // them to choose among several values.
    let has_definitions = code.contains("#define RP_");
    let is_guard = |line: &str| {
        let starts = |guards: &[&str]| guards.iter().any(|it| line.starts_with(it));
        starts(&["#include", "#define REDPOLL_"]) || !has_definitions && starts(&["#if", "#endif"])
    };
    let code: Vec<&str> = code.lines().filter(|line| !is_guard(line)).collect();
    let mut out = String::new();
    if let Some(names) = names(&code) {
        out += &format!("\n### {names}\n");
    }
    out += &prose(&comment);
    if !code.is_empty() {
        out += &format!("\n```c\n{}\n```\n", code.join("\n"));
    }
    out
}

/// Returns the functions, or the type, that a block declares.
fn names(code: &[&str]) -> Option<String> {
    let of = |line: &&str| {
        if line.starts_with("struct ") && line.ends_with('{') {
            return Some(line.trim_end_matches(['{', ' ']).to_owned());
        }
        if line.starts_with("typedef struct") {
            return line
                .split(' ')
                .next_back()
                .map(|it| it.trim_end_matches(';').to_owned());
        }
        let (before, _) = line.split_once('(').filter(|_| line.starts_with("int "))?;
        before.strip_prefix("int ").map(str::to_owned)
    };
    let found: Vec<String> = code.iter().filter_map(of).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Returns the lines of a comment without its stars.
fn comment_lines(comment: &str) -> Vec<String> {
    let lines = comment
        .trim_start_matches("/*")
        .trim_end_matches("*/")
        .lines();
    let stripped = lines.map(|line| {
        let line = line.trim_start().trim_start_matches('*');
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    });
    stripped.collect()
}

/// Returns a comment as paragraphs; indented lines are code.
fn prose(lines: &[String]) -> String {
    let mut out = String::new();
    let is_code = |line: &String| line.starts_with("  ");
    for paragraph in lines.split(String::is_empty) {
        for part in paragraph.chunk_by(|a, b| is_code(a) == is_code(b)) {
            if part.first().is_some_and(is_code) {
                out += &format!("\n```text\n{}\n```\n", part.join("\n"))
            } else {
                out += &format!("\n{}\n", escaped(&part.join("\n")))
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_and_its_declaration_are_an_item() {
        let text = "/* ------ time and events -- */\n\n/* Adds <a>.\n * RP_ENOMEM: full. */\nint rp_add(int a,\n           int b);\n\n\
            struct rp_x {\n    int a; /* { */\n\n    int b;\n};\n";
        let items: String = blocks(text).iter().map(|it| item(it)).collect();
        assert_eq!(
            items,
            "\n## Time and events\n\n### rp_add\n\nAdds \\<a>.\nRP_ENOMEM: full.\n\n```c\nint rp_add(int a,\n           \
             int b);\n```\n\n### struct rp_x\n\n```c\nstruct rp_x {\n    int a; /* { */\n\n    int b;\n};\n```\n"
        );
    }

    #[test]
    fn conditions_of_definitions_stay_and_guards_do_not() {
        let size = "#ifdef __linux__\n#define RP_SIZE 2\n#else\n#define RP_SIZE 1\n#endif\n";
        assert_eq!(item(size), format!("\n```c\n{size}```\n"));
        let guard = "#ifdef __cplusplus\n#endif\n\n#ifndef REDPOLL_H\n#define REDPOLL_H\n";
        let items: String = blocks(guard).iter().map(|it| item(it)).collect();
        assert_eq!(items, "");
    }

    #[test]
    fn every_function_of_the_headers_has_a_heading() {
        let workspace = Workspace::here();
        let pages = page(&workspace).unwrap() + &tcp_page(&workspace).unwrap();
        let read = |header| super::super::read(&workspace, header).unwrap();
        let text = read(HEADER) + &read(TCP);
        let functions = text.lines().filter(|line| line.starts_with("int rp_"));
        for function in functions {
            let name = function
                .trim_start_matches("int ")
                .split('(')
                .next()
                .unwrap();
            let is_there = pages
                .lines()
                .any(|line| line.starts_with("### ") && line[4..].split(", ").any(|it| it == name));
            assert!(is_there, "{name}");
        }
    }
}
