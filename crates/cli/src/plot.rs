//! `redpoll plot`: pictures of a result, for papers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args as ClapArgs, ValueEnum};
use redpoll_results::folder::Files;
use redpoll_results::picture::{NAMES, Picture, pictures, png, standalone};
use redpoll_results::report::Problem;

use crate::failure::{Failure, cannot_write};
use crate::output::{fail, print};
use crate::{FAILED, USAGE};

/// Plot a result: goodput, windows, round-trip times, queues, radio, charge, and the mesh.
///
/// Reads the files of `redpoll run` with --result DIR, --series FILE or --json FILE, and plots
/// everything that they contain. Each picture is written as an SVG and a PNG (300 dpi). Letters
/// are outlines, and colour-blind people can distinguish the colours.
///
/// Exit code: 0 on success, 1 when a file cannot be read or written, 2 when it is not a result or
/// has no data for the pictures.
#[derive(Debug, ClapArgs)]
pub struct PlotArgs {
    /// A folder of `redpoll run --result DIR`, or a file of --series or --json
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// Folder for the pictures; by default the folder plots, in the result's folder or in the
    /// current one
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Plot only this picture: topology, goodput, window, round-trip, in-flight, retransmissions,
    /// queue, radio, current (of each node, in mA), flows, duty-cycle or charge. May be repeated
    #[arg(long = "picture", value_name = "NAME", value_parser = NAMES)]
    pub pictures: Vec<String>,

    /// Plot only this flow or node. May be repeated; by default the busiest flows or nodes
    #[arg(long = "of", value_name = "NAME")]
    pub of: Vec<String>,

    /// Write only this format
    #[arg(long, value_enum)]
    pub format: Option<Format>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    Svg,
    Png,
}

pub fn run(args: &PlotArgs) -> ExitCode {
    match plot(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, line)) => fail(code, line),
    }
}

/// Returns the exit code and line of a problem with a result.
pub(crate) fn refuse(problem: Problem) -> Failure {
    let code = match problem {
        Problem::Io { .. } => FAILED,
        Problem::Other { .. } => USAGE,
    };
    (code, problem.to_string())
}

pub(crate) fn files(path: &Path) -> Result<Files, Failure> {
    Files::of(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => (USAGE, format!("{}: {error}", path.display())),
        _ => (FAILED, format!("cannot read {}: {error}", path.display())),
    })
}

fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let files = files(&args.result)?;
    let mut all = pictures(&files, &args.of).map_err(refuse)?;
    let is_wanted = |picture: &Picture| {
        args.pictures.is_empty() || args.pictures.iter().any(|it| it == picture.name)
    };
    all.retain(is_wanted);
    if all.is_empty() {
        let name = args.result.display();
        let problem = match args.pictures.join(", ") {
            asked if asked.is_empty() => format!("{name} has no data for any picture"),
            asked => format!(
                "{name} has no data for {asked}; without --picture, every picture that has data is \
                 written"
            ),
        };
        return Err((USAGE, problem));
    }
    let beside = if args.result.is_dir() {
        args.result.join("plots")
    } else {
        PathBuf::from("plots")
    };
    let folder = args.out.clone().unwrap_or(beside);
    let failed = |error: std::io::Error| cannot_write(&folder.display().to_string(), &error);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut said = String::new();
    for picture in &all {
        let svg = standalone(&picture.svg);
        let path = |ending: &str| folder.join(format!("{}.{ending}", picture.name));
        if args.format != Some(Format::Png) {
            std::fs::write(path("svg"), &svg).map_err(failed)?;
        }
        if args.format != Some(Format::Svg) {
            let png = png(&svg).map_err(|error| (FAILED, error.to_string()))?;
            std::fs::write(path("png"), png).map_err(failed)?;
        }
        let shown = match (args.format, picture.note.as_str()) {
            (_, "") => String::new(),
            (_, note) => format!("  ({note})"),
        };
        let stem = folder.join(picture.name);
        let ending = match args.format {
            None => "{svg,png}",
            Some(Format::Svg) => "svg",
            Some(Format::Png) => "png",
        };
        said += &format!("{}.{ending}{shown}\n", stem.display());
    }
    print(&said).map_err(|error| cannot_write("standard output", &error))
}
