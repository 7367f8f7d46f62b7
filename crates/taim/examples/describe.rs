//! Writes the completions of `redpoll-taim` for bash, fish and zsh to the folder that the argument
//! names, and the man pages to its folder `man-taim`. Packages contain them.
//!
//! The pages are in section 8, that of daemons: the package of the whole program has the pages of
//! `redpoll taim`, with the same names, in section 1, and both packages can be installed together.

use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use redpoll_taim::{NAME, standalone};

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other("usage: describe FOLDER"))?;
    let mut command = standalone::command().disable_help_subcommand(true);
    command.build();
    pages(command, &folder.join("man-taim"))?;
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        clap_complete::generate_to(shell, &mut standalone::command(), NAME, &folder)?;
    }
    Ok(())
}

/// Writes the page of a command, and those of the commands below it.
fn pages(command: Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        pages(below.clone(), folder)?;
    }
    Man::new(command).section("8").generate_to(folder)?;
    Ok(())
}
