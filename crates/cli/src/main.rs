//! The `redpoll` program: simulates a mesh, runs it in real time, and reads its captures.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod args;
mod bench;
mod bench_taim;
mod chaos;
mod command;
mod compare;
mod diff;
mod dissect;
#[cfg(test)]
mod documents;
mod drill;
mod failure;
mod guide;
mod lines;
mod modules;
mod need;
mod output;
mod places;
mod plot;
mod progress;
mod readings;
#[cfg(test)]
mod reference;
mod report;
mod run;
mod scale;
mod study;
mod sweep;
mod tune;
mod up;
mod view;
mod web;
mod why;

use std::process::ExitCode;

use clap::Parser as _;

use command::{Args, Command};
use redpoll_program::{FAILED, USAGE};

fn main() -> ExitCode {
    let words = match up::config::expand(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(line) => return output::fail(USAGE, line),
    };
    match Args::parse_from(words).command {
        Command::Run(args) => run::run(&args),
        Command::Up(args) => up::run(&args),
        Command::View(args) => view::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Dissect(args) => dissect::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Bench(args) if args.bench == "taim" => bench_taim::run(args.json.as_deref()),
        Command::Bench(args) if args.bench == "readings" => readings::run(args.json.as_deref()),
        Command::Bench(args) if args.bench == scale::NAME => scale::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Chaos(args) => chaos::run(&args),
        Command::Drill(args) => drill::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Taim(args) => redpoll_taim::run(&args),
        Command::List => guide::list(),
        Command::Show(args) => guide::show(&args),
        Command::Completions(args) => guide::completions(&args),
        Command::Man(args) => guide::man(&args),
    }
}
