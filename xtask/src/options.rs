//! Options that several commands take.

use std::path::PathBuf;

/// The names to which a command is limited, and the program that the command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `--only`: parts of names; empty for all.
    pub only: Vec<String>,
    /// `--program`: the program instead of a build of this repository.
    pub program: Option<PathBuf>,
}

impl Selection {
    /// Removes `--only NAME` or `--program FILE` from the front of `args`, and returns the
    /// remaining arguments. `None` if `args` begins with neither.
    pub fn take<'a, 'b>(&mut self, args: &'a [&'b str]) -> Option<&'a [&'b str]> {
        match args {
            ["--only", name, rest @ ..] => {
                self.only.push((*name).to_owned());
                Some(rest)
            }
            ["--program", path, rest @ ..] => {
                self.program = Some(PathBuf::from(path));
                Some(rest)
            }
            _ => None,
        }
    }
}
