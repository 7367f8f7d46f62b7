//! Checks that this program accepts each command of the README and of all documents.

use std::path::{Path, PathBuf};

use clap::Parser as _;

use crate::command::Args;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "md" => found.push(path),
                _ => {}
            }
        }
    }
    found
}

fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_shell = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            is_shell = matches!(language, "sh" | "shell" | "bash");
            continue;
        }
        if !is_shell || !line.starts_with("redpoll ") {
            continue;
        }
        let mut command = line.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            command = format!("{begun} {}", lines.next().unwrap_or_default().trim());
        }
        found.push(command);
    }
    found
}

fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '#' | '|' | '>' | '&' | ';') if word.is_none() => break,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[test]
fn the_program_takes_every_command_of_the_documents() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for command in commands(&text) {
            count += 1;
            if let Err(error) = Args::try_parse_from(words(&command))
                && error.use_stderr()
            {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                wrong.push(format!("{name}: {command}\n  {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 40, "{count} commands were found");
}

#[test]
fn commands_are_read_as_a_shell_reads_them() {
    let text = "```sh\nredpoll run a --set x=\"1 s\" \\\n  --json - | jq .   # why\nmake\n```\nredpoll no\n";
    let found = commands(text);
    assert_eq!(found.len(), 1);
    assert_eq!(
        words(&found[0]),
        ["redpoll", "run", "a", "--set", "x=1 s", "--json", "-"]
    );
}
