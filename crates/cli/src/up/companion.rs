//! The program that runs with the mesh: the demonstration, a shell or the user's command.

use std::process::Command;

use redpoll_linux::child::Companion;
use redpoll_program::rights::Rights;

use super::environment::{self, Environment};
use super::{UpArgs, demo, failed};
use crate::failure::Failure;

/// Starts the program that runs with the mesh, if requested.
pub(super) fn spawned(
    args: &UpArgs,
    environment: &Environment,
    rights: &Rights,
) -> Result<Option<Companion>, Failure> {
    let Some(mut command) = companion(args) else {
        return Ok(None);
    };
    environment.tell(&mut command);
    rights.start(&mut command);
    let spawned = Companion::spawn(&mut command).map_err(|e| {
        let program = command.get_program().to_string_lossy();
        failed(format!("cannot start {program}: {e}"))
    })?;
    Ok(Some(spawned))
}

fn companion(args: &UpArgs) -> Option<Command> {
    if args.demo {
        let mut command = Command::new("/proc/self/exe");
        command.args(["up", &args.scenario.file, demo::STEPS_FLAG]);
        for (key, value) in args.overrides() {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        Some(command)
    } else if args.shell {
        Some(environment::shell())
    } else {
        let (program, arguments) = args.command.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments);
        Some(command)
    }
}
