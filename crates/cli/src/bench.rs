//! `redpoll bench`: Redpoll beside other small TCPs.
//!
//! The other stacks are large and partly written in C, so they are part of the
//! program only with the feature `bench`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[cfg(not(feature = "bench"))]
pub use absent::run;
#[cfg(feature = "bench")]
pub use present::run;

/// Measure Redpoll beside lwIP, smoltcp and TCPlp, and print a table.
///
/// One bulk transfer over a slow link that loses packets, in virtual time, with
/// the same stack at both ends; the median of some seeds. The program has the
/// other stacks in it if it was built by `make bench`.
#[derive(Debug, ClapArgs)]
pub struct BenchArgs {
    /// Write a JSON object for each figure, one on a line, to this file; - is
    /// standard output, where they take the table's place
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Which bench
    #[arg(long, value_name = "NAME", default_value = "loss", value_parser = ["loss"])]
    pub bench: String,

    /// Which stacks: redpoll, tcplp, lwip, smoltcp, smoltcp-reno. Default: all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub subject: Vec<String>,

    /// Losses in percent, 0 to 50. Default: 0,1,5,10,15
    #[arg(long, value_name = "PERCENT", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(..=50))]
    pub loss: Vec<u32>,

    /// How many seeds, from 1 on
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub seeds: u64,
}

#[cfg(not(feature = "bench"))]
mod absent {
    use std::process::ExitCode;

    use super::BenchArgs;
    use crate::{USAGE, output};

    /// Says how to get a program that can.
    pub fn run(_args: &BenchArgs) -> ExitCode {
        output::fail(
            USAGE,
            "this program was built without the other stacks; `make bench` builds one with them",
        )
    }
}

#[cfg(feature = "bench")]
mod present {
    use std::fmt::Write as _;
    use std::process::ExitCode;

    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
    use redpoll_peers::Subject;
    use redpoll_peers::loss::{self, Figure, Plan};

    use super::BenchArgs;
    use crate::output;
    use crate::{FAILED, USAGE};

    /// Measures and prints.
    pub fn run(args: &BenchArgs) -> ExitCode {
        let plan = match plan(args) {
            Ok(plan) => plan,
            Err(message) => return output::fail(USAGE, message),
        };
        let figures = measure(&plan);
        match show(args, &plan, &figures) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => output::fail(FAILED, message),
        }
    }

    /// What is asked for and can be had; says what cannot.
    fn plan(args: &BenchArgs) -> Result<Plan, String> {
        let mut subjects = Vec::new();
        for name in &args.subject {
            let subject = Subject::named(name).ok_or_else(|| {
                let names = Subject::ALL.map(Subject::name).join(", ");
                format!("--subject {name}: there is no such stack; allowed: {names}")
            })?;
            subjects.push(subject);
        }
        if subjects.is_empty() {
            subjects = Subject::ALL.to_vec();
        }
        subjects.retain(|subject| {
            if let Some(reason) = subject.missing() {
                eprintln!("redpoll: left out: {subject}: {reason}");
            }
            subject.missing().is_none()
        });
        if subjects.is_empty() {
            return Err("none of these stacks is in this program".to_owned());
        }
        let mut plan = Plan {
            subjects,
            seeds: args.seeds,
            ..Plan::default()
        };
        if !args.loss.is_empty() {
            plan.losses.clone_from(&args.loss);
        }
        Ok(plan)
    }

    fn measure(plan: &Plan) -> Vec<Figure> {
        let bar = ProgressBar::with_draw_target(
            Some(plan.transfers() as u64),
            // Hides itself where there is no terminal.
            ProgressDrawTarget::stderr_with_hz(10),
        );
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}  left {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        let mut begun = 0;
        let figures = plan.run(|subject, loss| {
            bar.set_position(begun);
            bar.set_message(format!("{subject} at {loss} %"));
            begun += 1;
        });
        bar.finish_and_clear();
        figures
    }

    fn show(args: &BenchArgs, plan: &Plan, figures: &[Figure]) -> Result<(), String> {
        let table = format!("{}{}", loss::rules(plan), loss::table(figures));
        let lines = || {
            figures.iter().fold(String::new(), |mut lines, figure| {
                let _ = writeln!(lines, "{}", figure.to_json());
                lines
            })
        };
        let text = match &args.json {
            Some(path) if output::is_standard(path) => lines(),
            Some(path) => {
                std::fs::write(path, lines())
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
                table
            }
            None => table,
        };
        output::print(&text).map_err(|error| format!("cannot write the result: {error}"))
    }
}
