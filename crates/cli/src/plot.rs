//! `redpoll plot`: pictures of a result, for papers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args as ClapArgs, ValueEnum};
use redpoll_results::compare::{is_of_several, load};
use redpoll_results::folder::Files;
use redpoll_results::picture::{Fit, NAMES, Picture, Swept, pictures, png, standalone, swept};
use redpoll_results::report::Problem;

use crate::failure::{Failure, cannot_write};
use crate::output::{fail, print};
use crate::{FAILED, USAGE};

/// Plot a result: goodput, windows, round-trip times, queues, radio, charge, and the mesh.
///
/// Reads the files of `redpoll run` with --result DIR, --series FILE or --json FILE, and plots
/// everything that they contain. Each picture is written as an SVG and a PNG (300 dpi), at the
/// width of a paper's column. Letters are stored as outlines, and colour-blind people can
/// distinguish the colours.
///
/// For the file of a sweep, or a folder with several results (one per seed), it plots means over
/// the seeds with 95 % confidence intervals. The horizontal axis of a sweep has the values of a
/// key. A picture is left out if its mean is the same at all points.
///
/// Exit code: 0 on success, 1 when a file cannot be read or written, 2 when the file is not a
/// result or has no data for the pictures.
#[derive(Debug, ClapArgs)]
pub struct PlotArgs {
    /// A folder of `redpoll run --result DIR`, a file of --series or --json, the file of a sweep,
    /// or a folder with several results
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// Folder for the pictures; by default the folder plots in RESULT if RESULT is a folder, and
    /// otherwise in the current folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Plot only this picture: topology, goodput, window, round-trip, in-flight, retransmissions,
    /// queue, radio, current (of each node, in mA), flows, duty-cycle or charge; for a sweep:
    /// goodput, loss, round-trip, retransmissions, duty-cycle or charge. May be repeated
    #[arg(long = "picture", value_name = "NAME", value_parser = NAMES)]
    pub pictures: Vec<String>,

    /// Plot only this flow or node. May be repeated; by default the busiest flows or nodes
    #[arg(long = "of", value_name = "NAME")]
    pub of: Vec<String>,

    /// The key on the x axis of a sweep's pictures; by default the key with the most values
    #[arg(long, value_name = "KEY")]
    pub over: Option<String>,

    /// Width of the pictures
    #[arg(long, value_enum, default_value_t = Width::Column)]
    pub width: Width,

    /// Write only this format
    #[arg(long, value_enum)]
    pub format: Option<Format>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    Svg,
    Png,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Width {
    /// A column of a paper, 3.5 inches (89 mm), with letters of 9 points
    Column,
    /// A page in a browser
    Page,
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

/// Draws the pictures of a result. Also returns the names of the pictures that are left out because
/// their mean is the same at all points.
fn draw(args: &PlotArgs) -> Result<(Vec<Picture>, Vec<&'static str>), Failure> {
    let fit = match args.width {
        Width::Column => Fit::Column,
        Width::Page => Fit::Page,
    };
    let name = args.result.display();
    if !is_of_several(&args.result).map_err(refuse)? {
        if args.over.is_some() {
            let problem = format!("--over: {name} is one run; allowed: the file of a sweep");
            return Err((USAGE, problem));
        }
        let pictures = pictures(&files(&args.result)?, &args.of, fit).map_err(refuse)?;
        return Ok((pictures, Vec::new()));
    }
    if !args.of.is_empty() {
        let problem = format!("--of: {name} has several runs; allowed: the result of one run");
        return Err((USAGE, problem));
    }
    let side = load(&args.result, &|_, _| {}).map_err(refuse)?;
    let Swept { pictures, constant } = swept(&side, args.over.as_deref(), fit)
        .map_err(|problem| (USAGE, format!("{name} {problem}")))?;
    Ok((pictures, constant))
}

fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let (mut all, constant) = draw(args)?;
    let is_wanted = |picture: &Picture| {
        args.pictures.is_empty() || args.pictures.iter().any(|it| it == picture.name)
    };
    all.retain(is_wanted);
    if all.is_empty() {
        let name = args.result.display();
        let problem = match args.pictures.join(", ") {
            asked if asked.is_empty() => format!("{name} has no data for any picture"),
            asked
                if constant
                    .iter()
                    .any(|it| args.pictures.iter().any(|asked| asked == it)) =>
            {
                format!(
                    "{name} has the same number at every point for {asked}; no picture is written"
                )
            }
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
    if args.pictures.is_empty() && !constant.is_empty() {
        said += &format!(
            "not drawn, because the mean is the same at all points: {}\n",
            constant.join(", ")
        );
    }
    print(&said).map_err(|error| cannot_write("to standard output", &error))
}
