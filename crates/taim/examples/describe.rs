//! Writes the completions of `redpoll-taim` for bash, fish and zsh to the folder that the argument
//! names, and the man pages to its folder `man-taim`. Packages contain them.

use std::io;
use std::path::PathBuf;

use clap_complete::Shell;
use redpoll_taim::{NAME, standalone};

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other("usage: describe FOLDER"))?;
    clap_mangen::generate_to(standalone::command(), folder.join("man-taim"))?;
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        clap_complete::generate_to(shell, &mut standalone::command(), NAME, &folder)?;
    }
    Ok(())
}
