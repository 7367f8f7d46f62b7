//! The command line: every command with its arguments.

use clap::{Parser, Subcommand};

use crate::args::{CompletionsArgs, ManArgs, RunArgs, ShowArgs, StudyArgs, SweepArgs, ViewArgs};
use crate::bench::BenchArgs;
use crate::chaos::ChaosArgs;
use crate::compare::CompareArgs;
use crate::diff::DiffArgs;
use crate::dissect::DissectArgs;
use crate::drill::DrillArgs;
use crate::plot::PlotArgs;
use crate::report::ReportArgs;
use crate::tune::TuneArgs;
use crate::up::UpArgs;
use crate::why::WhyArgs;
use redpoll_taim::TaimArgs;

/// Redpoll: TCP for IEEE 802.15.4 networks.
///
/// A scenario describes a mesh of radio nodes with 6LoWPAN, IPv6 and Redpoll's TCP. The program
/// simulates the mesh in virtual time (run), or connects it to this computer in real time (up).
///
/// Start with `redpoll list`, `redpoll run pair` and `redpoll run line-3`.
#[derive(Debug, Parser)]
#[command(name = "redpoll", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(RunArgs),
    Up(UpArgs),
    View(ViewArgs),
    Plot(PlotArgs),
    Report(ReportArgs),
    Compare(CompareArgs),
    Diff(DiffArgs),
    Dissect(DissectArgs),
    Why(WhyArgs),
    Bench(BenchArgs),
    Drill(DrillArgs),
    Chaos(ChaosArgs),
    Study(StudyArgs),
    Sweep(SweepArgs),
    Tune(TuneArgs),
    Taim(TaimArgs),
    /// List the built-in scenarios, each with a short description
    List,
    Show(ShowArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}
