//! The program's descriptions of itself: built-in scenarios, completions for shells, man pages.

use std::process::ExitCode;

use clap::CommandFactory as _;
use redpoll_sim::BUILT_IN;

use crate::args::{CompletionsArgs, ManArgs, ShowArgs};
use crate::command::Args;
use crate::output::{fail, print};
use crate::{FAILED, USAGE};

pub fn list() -> ExitCode {
    let names = BUILT_IN.iter().map(|scenario| scenario.name.len());
    let width = names.max().unwrap_or(0);
    let lines = BUILT_IN.iter().map(|scenario| {
        let about = about(scenario.text);
        format!("{:width$}  {about}\n", scenario.name)
    });
    tell(&lines.collect::<String>())
}

/// Returns the first sentence of the comment at the start of a scenario.
pub fn about(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    let words = comment.flat_map(str::split_whitespace);
    let mut about = String::new();
    for word in words {
        if !about.is_empty() {
            about.push(' ');
        }
        about.push_str(word);
        if word.ends_with(['.', ':']) && !word.ends_with("al.") {
            break;
        }
    }
    about.trim_end_matches(['.', ':']).to_owned()
}

pub fn show(args: &ShowArgs) -> ExitCode {
    match BUILT_IN.iter().find(|scenario| scenario.name == args.name) {
        Some(scenario) => tell(scenario.text),
        None => {
            let names: Vec<&str> = BUILT_IN.iter().map(|scenario| scenario.name).collect();
            let line = format!(
                "{}: there is no built-in scenario with this name; allowed: {}",
                args.name,
                names.join(", ")
            );
            fail(USAGE, line)
        }
    }
}

pub fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "redpoll", &mut text);
    tell(&String::from_utf8_lossy(&text))
}

pub fn man(args: &ManArgs) -> ExitCode {
    let mut program = Args::command();
    if let Some(folder) = &args.folder {
        return match clap_mangen::generate_to(program, folder) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let line = format!("cannot write to {}: {error}", folder.display());
                fail(FAILED, line)
            }
        };
    }
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => match find(&program, name) {
            Some(command) => command.clone().display_name(format!("redpoll-{name}")),
            None => {
                let names: Vec<&str> = program.get_subcommands().map(|it| it.get_name()).collect();
                let line = format!(
                    "{name}: there is no such command; allowed: {}",
                    names.join(", ")
                );
                return fail(USAGE, line);
            }
        },
    };
    let mut text = Vec::new();
    match clap_mangen::Man::new(command).render(&mut text) {
        Ok(()) => tell(&String::from_utf8_lossy(&text)),
        Err(error) => fail(FAILED, format!("cannot create the manual page: {error}")),
    }
}

/// Returns the command `name`, such as `taim`, or `taim-install` for `redpoll taim install`.
fn find<'c>(program: &'c clap::Command, name: &str) -> Option<&'c clap::Command> {
    program.find_subcommand(name).or_else(|| {
        let (outer, inner) = name.split_once('-')?;
        program.find_subcommand(outer)?.find_subcommand(inner)
    })
}

fn tell(text: &str) -> ExitCode {
    match print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("cannot write to standard output: {error}")),
    }
}
