//! The command line of the program `redpoll-taim`, which is that of `redpoll taim`.

use std::process::ExitCode;

use clap::{Args as _, Command, FromArgMatches as _};
use redpoll_program::output;

use crate::{COMMAND, NAME, TaimArgs};

/// Returns the command line, whose texts name this program instead of `redpoll taim`.
pub fn command() -> Command {
    let command = Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(100);
    renamed(TaimArgs::augment_args(command))
}

fn renamed(command: Command) -> Command {
    let text = |text: &clap::builder::StyledStr| text.to_string().replace(COMMAND, NAME);
    let about = command.get_about().map(text);
    let long_about = command.get_long_about().map(text);
    let command = command.mut_args(|arg| {
        let help = arg.get_help().map(text);
        let long_help = arg.get_long_help().map(text);
        let arg = help.into_iter().fold(arg, |arg, help| arg.help(help));
        long_help
            .into_iter()
            .fold(arg, |arg, help| arg.long_help(help))
    });
    let command = about.into_iter().fold(command, Command::about);
    let command = long_about.into_iter().fold(command, Command::long_about);
    command.mut_subcommands(renamed)
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    output::set_name(NAME);
    let matches = command().get_matches();
    match TaimArgs::from_arg_matches(&matches) {
        Ok(args) => crate::run(&args),
        Err(error) => error.exit(),
    }
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_help_names_this_program_only() {
        let mut program = command();
        program.build();
        let mut texts = vec![program.render_long_help().to_string()];
        texts.extend(
            program
                .get_subcommands()
                .map(|inner| inner.clone().render_long_help().to_string()),
        );
        assert_eq!(texts.len(), 5);
        for text in texts {
            assert!(!text.contains("redpoll taim"), "{text}");
        }
    }
}
