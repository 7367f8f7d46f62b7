//! Runs this program again as a separate process.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

use crate::report::Failure;
use crate::workspace::{self, Workspace};

/// A running process, and the files for its output: an unread pipe would block the process.
pub struct Beside {
    child: Child,
    printed: PathBuf,
    errors: PathBuf,
}

/// The priority of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Usual,
    /// Gives way to tests that have limits in real time.
    Low,
}

pub struct Ended {
    pub status: ExitStatus,
    pub printed: String,
    pub errors: String,
}

impl Ended {
    /// Prints the output of the process, as if it had run here.
    pub fn show(&self) {
        println!("{}", self.printed);
        eprintln!("{}", self.errors);
    }
}

impl Beside {
    pub fn start(
        workspace: &Workspace,
        args: &[&str],
        priority: Priority,
    ) -> Result<Beside, Failure> {
        let name = args.join("-");
        let folder = workspace.root.join("target/beside");
        let [printed, errors] = ["out", "err"].map(|end| folder.join(format!("{name}.{end}")));
        let spawned = std::env::current_exe().and_then(|this| {
            fs::create_dir_all(&folder)?;
            let mut command = match priority {
                Priority::Usual => Command::new(this),
                Priority::Low => workspace::patient(this),
            };
            command.args(args);
            command.stdout(File::create(&printed)?);
            command.stderr(File::create(&errors)?);
            command.spawn()
        });
        match spawned {
            Ok(child) => Ok(Beside {
                child,
                printed,
                errors,
            }),
            Err(e) => Err(Failure::new(format!(
                "cannot start `{name}` in parallel: {e}"
            ))),
        }
    }

    pub fn wait(mut self) -> Result<Ended, Failure> {
        let ended = self.child.wait().and_then(|status| {
            Ok(Ended {
                status,
                printed: fs::read_to_string(&self.printed)?,
                errors: fs::read_to_string(&self.errors)?,
            })
        });
        ended.map_err(|e| {
            Failure::new(format!(
                "cannot read the output of the step that ran in parallel: {e}"
            ))
        })
    }
}
