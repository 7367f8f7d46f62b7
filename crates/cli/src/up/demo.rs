//! The demonstration: the host kernel's TCP, curl, ping and an MQTT broker communicate with the
//! nodes of a mesh in real time.
//!
//! `redpoll up SCENARIO --demo` starts the mesh, and runs itself as the program next to it. The
//! second process reads from its environment how the mesh was joined, and performs the steps. A
//! step that cannot run here is skipped with a reason and a remedy; a failed step ends the
//! demonstration with exit code 1.

mod broker;
mod fetch;
mod forming;
mod mqtt;
mod ping;
mod plan;
mod show;
mod upload;

use std::process::{Command, ExitCode};

use redpoll_linux::child::kill_with_us;
use redpoll_linux::forward::ForwardSpec;
use redpoll_sim::Scenario;

use crate::up::environment::Environment;
use plan::Plan;
use show::Step;

pub(crate) enum Outcome {
    /// The step succeeded; the text has the measured result.
    Done(String),
    /// The step cannot run here; the text states why, and what would help.
    LeftOut(String),
}

/// Reason for the failure of a step, in one line.
pub(crate) type StepFailure = Box<dyn std::error::Error>;

/// Option of `redpoll up` with which the second process runs the steps.
pub(crate) const STEPS_FLAG: &str = "--demo-steps";

/// Returns the port forward for a host without a TUN interface: from any free port to the server.
pub(crate) fn forward(scenario: &Scenario) -> Option<ForwardSpec> {
    let (server, _) = plan::server(scenario)?;
    Some(ForwardSpec {
        host_port: 0,
        node: server.name,
        node_port: server.port,
    })
}

/// Runs the steps of the demonstration, in the process that runs next to the mesh.
pub(crate) fn walk(scenario: &Scenario, environment: &Environment) -> ExitCode {
    let plan = match Plan::make(scenario, environment) {
        Ok(plan) => plan,
        Err(e) => {
            println!("demo: failed: {e}");
            return ExitCode::FAILURE;
        }
    };
    if scenario.routing.rpl().is_some()
        && let Err(e) = forming::wait(&plan)
    {
        println!("\ndemo: failed: {} does not answer: {e}", plan.server.name);
        return ExitCode::FAILURE;
    }
    type Run = fn(&Plan, &Step) -> Result<Outcome, StepFailure>;
    let steps: [(String, Run); 4] = [
        (format!("ping {}", plan.server), ping::run),
        (
            format!(
                "fetch a page and a file of {} KiB with curl from {}",
                plan.file_bytes / 1024,
                plan.server
            ),
            fetch::run,
        ),
        (plan.upload_title(), upload::run),
        (plan.readings_title(), broker::run),
    ];
    let count = steps.len();
    let mut left_out = Vec::new();
    for (number, (title, run)) in (1..).zip(steps) {
        let step = Step::begin(number, count, &title);
        match run(&plan, &step) {
            Ok(Outcome::Done(text)) => step.done(&text),
            Ok(Outcome::LeftOut(why)) => {
                step.left_out(&why);
                left_out.push(format!("step {number} ({title}): {why}"));
            }
            Err(e) => {
                step.failed(&e.to_string());
                println!("\ndemo: failed at step {number} ({title}): {e}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!();
    for line in &left_out {
        println!("skipped: {line}");
    }
    println!("demo: ok");
    ExitCode::SUCCESS
}

pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns a command with English output, which this program parses. The kernel kills the command
/// with SIGKILL when this program ends, because mosquitto only reloads its settings on SIGHUP.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C");
    kill_with_us(&mut command);
    command
}
