//! `redpoll bench`: Redpoll compared with other small TCPs.
//!
//! The other stacks are large and partly written in C, so they are part of the program only with
//! the feature `bench`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[cfg(not(feature = "bench"))]
pub use absent::run;
#[cfg(feature = "bench")]
pub use present::run;

/// Compare Redpoll with lwIP, smoltcp and TCPlp, and print a table.
///
/// Runs in virtual time, with the same stack at both ends except for `matrix`. `loss`: one bulk
/// transfer over a slow link that loses packets; the median of several seeds. `matrix`: the same
/// from each stack to each other stack. `ota-ack`: a firmware update in blocks of 8 KiB, each
/// answered by one byte that may get lost. `fairness`: two simultaneous transfers through a short
/// queue, and how evenly they share it. `taim`: the processor time of `redpoll taim` with 5,000
/// flows and 20,000 packets a second. `readings`: the cost of one sensor reading if its
/// connection stays open, is frozen, or is opened for each reading. `scale`: the cost of the
/// simulator from 10 to 10,000 nodes, in four topologies, with fixed routes and with RPL, idle
/// and busy. `taim`, `readings` and `scale` are in every build of the program; the others need a
/// program built by `make bench`.
///
/// Exit code: 0 when everything was measured, 1 when a file could not be written, 2 when an
/// option cannot be used or the program contains no other stacks; `scale`: 130 after Ctrl-C
/// (finished rows are kept).
#[derive(Debug, ClapArgs)]
pub struct BenchArgs {
    /// Benchmark: loss, matrix, ota-ack, fairness, taim, readings or scale
    #[arg(value_name = "BENCH", default_value = "loss",
          value_parser = ["loss", "matrix", "ota-ack", "fairness", "taim", "readings", "scale"])]
    pub bench: String,

    /// Write the results to this file as JSON objects, one per line; - is standard output, in place
    /// of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Stacks to compare: redpoll, redpoll-rto-1s, tcplp, lwip, smoltcp, smoltcp-reno; for
    /// fairness redpoll, tcplp, smoltcp-reno. Default: all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub subject: Vec<String>,

    /// Packet losses in percent, 0 to 50; a single value for matrix. Default: for loss 0,1,5,10,15,
    /// for matrix 10, for ota-ack 10,20,30,40
    #[arg(long, value_name = "PERCENT", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(..=50))]
    pub loss: Vec<u32>,

    /// For fairness: number of packets that fit into the queue. Default: 6,7,8,9,10
    #[arg(long, value_name = "PACKETS", value_delimiter = ',',
          value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub queue: Vec<u16>,

    /// Number of seeds; the first seed is 1. Default: 5, for ota-ack 40
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub seeds: Option<u64>,

    /// For scale: numbers of nodes. Default: 10,100,1000,10000
    #[arg(long, value_name = "NODES", value_delimiter = ',',
          value_parser = clap::value_parser!(u64).range(2..=10_000))]
    pub nodes: Vec<u64>,

    /// For scale: seconds after which a point is ended and reported as unfinished. Default: 120
    #[arg(long, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub limit: Option<u64>,

    /// For scale: write a page with plots to this file
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,

    /// For scale: measure only the point TOPOLOGY,NODES,ROUTING,LOAD, in this process
    #[arg(long, value_name = "POINT", hide = true)]
    pub point: Option<String>,
}

#[cfg(not(feature = "bench"))]
mod absent {
    use std::process::ExitCode;

    use super::BenchArgs;
    use crate::{USAGE, output};

    /// Prints how to build a program that contains the stacks.
    pub fn run(_args: &BenchArgs) -> ExitCode {
        output::fail(
            USAGE,
            "this program was built without the other TCP stacks; `make bench` builds a \
             program that contains them",
        )
    }
}

#[cfg(feature = "bench")]
mod present {
    use std::fmt::Write as _;
    use std::process::ExitCode;

    use indicatif::ProgressBar;
    use redpoll_peers::{Subject, fairness, loss, matrix, ota_ack, sweep};

    use super::BenchArgs;
    use crate::output;
    use crate::{FAILED, USAGE};

    /// Output of the bench: a table, and one JSON object per line.
    struct Outcome {
        table: String,
        lines: Vec<String>,
    }

    pub fn run(args: &BenchArgs) -> ExitCode {
        let is_fairness = args.bench == fairness::NAME;
        for (option, given, meant) in [
            ("--loss", !args.loss.is_empty(), !is_fairness),
            ("--queue", !args.queue.is_empty(), is_fairness),
        ] {
            if given && !meant {
                let bench = &args.bench;
                return output::fail(
                    USAGE,
                    format!("{option}: `bench {bench}` does not use this option"),
                );
            }
        }
        let all = if is_fairness {
            &fairness::SUBJECTS[..]
        } else {
            &Subject::ALL[..]
        };
        let subjects = match subjects(args, all) {
            Ok(subjects) => subjects,
            Err(message) => return output::fail(USAGE, message),
        };
        if args.bench == matrix::NAME && args.loss.len() > 1 {
            return output::fail(USAGE, "--loss: `bench matrix` takes a single value");
        }
        let outcome = match args.bench.as_str() {
            fairness::NAME => measure_fairness(args, subjects),
            matrix::NAME => measure_matrix(args, subjects),
            ota_ack::NAME => measure_ota_ack(args, subjects),
            _ => measure_loss(args, subjects),
        };
        match show(args, &outcome) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => output::fail(FAILED, message),
        }
    }

    /// Returns the requested stacks that this program contains; reports the others.
    fn subjects(args: &BenchArgs, all: &[Subject]) -> Result<Vec<Subject>, String> {
        let mut subjects = Vec::new();
        for name in &args.subject {
            let subject = Subject::named(name).filter(|subject| all.contains(subject));
            subjects.push(subject.ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|subject| subject.name()).collect();
                let names = names.join(", ");
                format!("--subject {name}: no stack has this name; allowed: {names}")
            })?);
        }
        if subjects.is_empty() {
            subjects = all.to_vec();
        }
        subjects.retain(|subject| {
            if let Some(reason) = subject.missing() {
                eprintln!("redpoll: {subject} is skipped: {reason}");
            }
            subject.missing().is_none()
        });
        if subjects.is_empty() {
            return Err("this program contains none of the requested stacks; `make bench` builds a program that contains them".to_owned());
        }
        Ok(subjects)
    }

    fn choose(args: &BenchArgs, seeds: &mut u64, losses: &mut Vec<u32>) {
        *seeds = args.seeds.unwrap_or(*seeds);
        if !args.loss.is_empty() {
            losses.clone_from(&args.loss);
        }
    }

    fn measure_loss(args: &BenchArgs, subjects: Vec<Subject>) -> Outcome {
        let mut plan = loss::Plan {
            subjects,
            ..loss::Plan::default()
        };
        choose(args, &mut plan.seeds, &mut plan.losses);
        let figures = Steps::of(plan.transfers(), |steps| {
            plan.run(|subject, loss| steps.begin(format!("{subject} at {loss} % loss")))
        });
        Outcome {
            table: format!("{}{}", loss::rules(&plan), loss::table(&figures)),
            lines: figures.iter().map(sweep::Figure::to_json).collect(),
        }
    }

    fn measure_matrix(args: &BenchArgs, subjects: Vec<Subject>) -> Outcome {
        let mut plan = matrix::Plan {
            subjects,
            ..matrix::Plan::default()
        };
        plan.seeds = args.seeds.unwrap_or(plan.seeds);
        plan.loss = args.loss.first().copied().unwrap_or(plan.loss);
        let figures = Steps::of(plan.transfers(), |steps| {
            plan.run(|sender, receiver| steps.begin(format!("{sender} to {receiver}")))
        });
        Outcome {
            table: matrix::table(&plan, &figures),
            lines: figures.iter().map(matrix::Figure::to_json).collect(),
        }
    }

    fn measure_ota_ack(args: &BenchArgs, subjects: Vec<Subject>) -> Outcome {
        let mut plan = ota_ack::Plan {
            subjects,
            ..ota_ack::Plan::default()
        };
        choose(args, &mut plan.seeds, &mut plan.losses);
        let figures = Steps::of(plan.transfers(), |steps| {
            plan.run(|subject, loss| steps.begin(format!("{subject} at {loss} % loss")))
        });
        Outcome {
            table: ota_ack::table(&plan, &figures),
            lines: figures.iter().map(sweep::Figure::to_json).collect(),
        }
    }

    fn measure_fairness(args: &BenchArgs, subjects: Vec<Subject>) -> Outcome {
        let mut plan = fairness::Plan {
            subjects,
            ..fairness::Plan::default()
        };
        plan.seeds = args.seeds.unwrap_or(plan.seeds);
        if !args.queue.is_empty() {
            plan.queues = args.queue.iter().copied().map(usize::from).collect();
        }
        let figures = Steps::of(plan.runs(), |steps| {
            plan.run(|subject, queue| steps.begin(format!("{subject}, queue of {queue} packets")))
        });
        Outcome {
            table: fairness::table(&plan, &figures),
            lines: figures.iter().map(fairness::Figure::to_json).collect(),
        }
    }

    /// A progress bar, hidden if standard error is not a terminal.
    struct Steps {
        bar: ProgressBar,
        begun: u64,
    }

    impl Steps {
        fn new(count: usize) -> Self {
            let template = "{wide_bar} {pos}/{len}  {msg}  {eta} left";
            let bar = crate::output::bar(Some(count as u64), template, 10);
            Steps { bar, begun: 0 }
        }

        fn begin(&mut self, what: String) {
            self.bar.set_position(self.begun);
            self.bar.set_message(what);
            self.begun += 1;
        }

        fn of<T>(count: usize, run: impl FnOnce(&mut Steps) -> T) -> T {
            let mut steps = Steps::new(count);
            let result = run(&mut steps);
            steps.bar.finish_and_clear();
            result
        }
    }

    fn show(args: &BenchArgs, result: &Outcome) -> Result<(), String> {
        let lines = || {
            result.lines.iter().fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "{line}");
                text
            })
        };
        let text = match &args.json {
            Some(path) if output::is_standard(path) => lines(),
            Some(path) => {
                std::fs::write(path, lines())
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
                result.table.clone()
            }
            None => result.table.clone(),
        };
        output::print(&text).map_err(|error| format!("cannot write the result: {error}"))
    }
}
