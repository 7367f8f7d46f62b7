//! The reference of the commands, as in `docs/reference/commands.md`: the help texts, the built-in
//! scenarios, and the targets of the Makefile.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use crate::command::Args;
use crate::guide::about;
use redpoll_sim::BUILT_IN;

const HEAD: &str = "\
# Commands

<!-- Generated from the help texts of the program: cargo xtask reference --write -->

This page is for users of the program `redpoll`. Afterwards you know its commands and options, as `redpoll
COMMAND --help` prints them, its built-in scenarios, and the targets of `make`. [A mesh on your computer](../up.md) describes how to join a mesh, and how
to use captures, applications and other transports.

`make build` puts the program into `target/release/`. `redpoll man [COMMAND] | man -l -` shows the same as a man
page, and `redpoll completions SHELL` prints completions for your shell.
";

fn page() -> String {
    let mut program = Args::command();
    program.build();
    let commands: Vec<&Command> = program
        .get_subcommands()
        .filter(|it| it.get_name() != "help" && !it.is_hide_set())
        .collect();
    let mut out = HEAD.to_owned();
    out += "\n| command | task |\n| --- | --- |\n";
    for command in &commands {
        let name = command.get_name();
        let about = command.get_about().map(ToString::to_string);
        let about = cell(&about.unwrap_or_default());
        let _ = writeln!(out, "| [`redpoll {name}`](#redpoll-{name}) | {about} |");
    }
    for command in &commands {
        out += &section(command, "##", "redpoll");
        let name = format!("redpoll {}", command.get_name());
        for inner in command.get_subcommands() {
            if inner.get_name() != "help" {
                out += &section(inner, "###", &name);
            }
        }
    }
    out += "\n## Built-in scenarios\n\nA scenario is a TOML file with nodes, radios, traffic and faults. Those of the \
        folder\n[`scenarios/`](../../scenarios) are built in, so `redpoll run line-3` works in any folder. `--set` \
        overrides any\nkey ([scenarios](../scenario.md)).\n\n| scenario | contents |\n| --- | --- |\n";
    for scenario in BUILT_IN {
        let _ = writeln!(
            out,
            "| `{}` | {} |",
            scenario.name,
            cell(&about(scenario.text))
        );
    }
    out += "\n## Make targets\n\n`make` lists every target. `make soak SOAK_CYCLES=1000` overrides a variable.\n\n| target | task |\n| --- | --- |\n";
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let targets = makefile.lines().filter_map(|line| line.split_once(" ## "));
    for (target, task) in
        targets.filter(|(target, _)| !target.contains(' ') || target.contains(':'))
    {
        let target = target.split(':').next().unwrap_or_default();
        let _ = writeln!(out, "| `make {target}` | {} |", cell(task));
    }
    out += "\n| variable | default |\n| --- | --- |\n";
    for line in makefile.lines() {
        // Left out: variables of a single target, and defaults that the shell determines (`$`).
        let is_shown = |it: &(&str, &str)| !it.0.contains(':') && !it.1.starts_with('$');
        if let Some((name, default)) = line.split_once(" ?= ").filter(is_shown) {
            let _ = writeln!(out, "| `{name}` | `{default}` |");
        }
    }
    out
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the section about `command`, a subcommand of `program`.
fn section(command: &Command, heading: &str, program: &str) -> String {
    let mut out = format!("\n{heading} {program} {}\n", command.get_name());
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let paragraphs: Vec<&str> = about.split("\n\n").collect();
    // Each line of an example is a paragraph with ` = ` that does not end with a full stop.
    let is_code = |text: &str| text.contains(" = ") && !text.ends_with('.');
    for part in paragraphs.chunk_by(|a, b| is_code(a) && is_code(b)) {
        let _ = if is_code(part[0]) {
            write!(out, "\n```toml\n{}\n```\n", part.join("\n"))
        } else {
            write!(out, "\n{}\n", escaped(part[0]))
        };
    }
    let usage = command.clone().render_usage().to_string();
    let _ = write!(
        out,
        "\n```text\n{}\n```\n",
        usage.trim_start_matches("Usage: ")
    );
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|it| !it.is_hide_set() && it.get_id() != "help")
        .collect();
    let (positional, options): (Vec<&&Arg>, Vec<&&Arg>) =
        arguments.iter().partition(|it| it.is_positional());
    if !arguments.is_empty() {
        out.push('\n');
    }
    for argument in positional.into_iter().chain(options) {
        out += &entry(argument);
    }
    out
}

/// Returns a list item: - `--option <VALUE>`: help (default `x`; allowed: `y`, `z`).
fn entry(argument: &Arg) -> String {
    let shown = argument.to_string();
    let help = argument.get_long_help().or(argument.get_help());
    let help = escaped(&help.map(ToString::to_string).unwrap_or_default());
    let help: Vec<&str> = help.split_whitespace().collect();
    let mut notes = Vec::new();
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|it| format!("`{}`", it.to_string_lossy()))
        .collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        notes.push(format!("default: {}", defaults.join(", ")));
    }
    let allowed: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|it| !it.is_hide_set())
        .map(|it| format!("`{}`", it.get_name()))
        .collect();
    if !allowed.is_empty() && argument.get_action().takes_values() {
        notes.push(format!("allowed: {}", allowed.join(", ")));
    }
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join("; "))
    };
    let help = help.join(" ");
    let short = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(_)) => format!("`-{short}`, "),
        _ => String::new(),
    };
    let full_stop = if help.ends_with(['.', ':']) && notes.is_empty() {
        ""
    } else {
        "."
    };
    format!("- {short}`{shown}`: {help}{notes}{full_stop}\n")
}

/// Escapes words for Markdown: characters that could be HTML or emphasis, outside of code.
fn escaped(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('<', "\\<").replace('*', "\\*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

fn cell(text: &str) -> String {
    escaped(text.trim().trim_end_matches('.')).replace('|', "\\|")
}

#[test]
fn the_reference_of_the_commands_is_current() {
    let path = root().join("docs/reference/commands.md");
    if std::env::var_os("REDPOLL_BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
        return;
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        is == page(),
        "docs/reference/commands.md is out of date; run `cargo xtask reference --write`, and \
         check the changes with `git diff`"
    );
}

#[test]
fn every_command_and_option_is_in_the_reference() {
    let page = page();
    for name in ["run", "up", "sweep", "taim", "completions"] {
        assert!(page.contains(&format!("\n## redpoll {name}\n")), "{name}");
    }
    for option in ["--duration <T>", "--pcap <FILE>", "--expose <SERVICE>"] {
        assert!(page.contains(option), "{option}");
    }
    for other in ["| `line-3` |", "| `make test` |", "`SOAK_CYCLES`"] {
        assert!(page.contains(other), "{other}");
    }
}
