//! `redpoll report`: writes a result as one page.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_results::compare::{is_of_several, load};
use redpoll_results::folder::{FRAMES, REPORT};
use redpoll_results::page::{Diagnosis, page, page_of_several};
use redpoll_results::report::Report;

use crate::USAGE;
use crate::failure::{Failure, cannot_write};
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::plot::{files, refuse};
use crate::why;

/// Write a result as one page: figures, plots over time, the mesh, and every node.
///
/// The page starts with what the flows delivered, the causes that slow them (`redpoll why`, for a
/// folder with a capture), and the command that repeats the run. For the file of a sweep, or a
/// folder with several results, it has means over the seeds with 95 % confidence intervals.
///
/// The page is one HTML file without external resources.
///
/// Exit code: 0 on success, 1 when a file cannot be read or written, 2 when the file is not a
/// result.
#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    /// A folder of `redpoll run --result DIR`, a file of --json, the file of a sweep, or a folder
    /// with several results
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// File of the page; by default report.html in RESULT if RESULT is a folder, and otherwise in
    /// the current folder; - is standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// The key on the x axis of a sweep's pictures; by default the key with the most values
    #[arg(long, value_name = "KEY")]
    pub over: Option<String>,
}

pub fn run(args: &ReportArgs) -> ExitCode {
    match report(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

/// Writes the page. On failure, reports the problem and returns the program's exit code.
fn report(args: &ReportArgs) -> Result<(), ExitCode> {
    let failed = |(code, line): Failure| fail(code, line);
    Places::default()
        .with("--out", args.out.as_deref())
        .reads(&args.result)
        .check()
        .map_err(|line| fail(USAGE, line))?;
    let page = render(args, diagnosis(args)?.as_ref()).map_err(failed)?;
    let beside = if args.result.is_dir() {
        args.result.join("report.html")
    } else {
        PathBuf::from("report.html")
    };
    let out = args.out.clone().unwrap_or(beside);
    let standard = |error| failed(cannot_write("to standard output", &error));
    if is_standard(&out) {
        return print(&page).map_err(standard);
    }
    let name = out.display();
    std::fs::write(&out, page).map_err(|error| failed(cannot_write(&name.to_string(), &error)))?;
    print(&format!("{name}\n")).map_err(standard)
}

/// Returns the causes in the capture of a result, if the result is a folder with a capture.
fn diagnosis(args: &ReportArgs) -> Result<Option<Diagnosis>, ExitCode> {
    let (frames, report) = (args.result.join(FRAMES), args.result.join(REPORT));
    if !frames.is_file() || !report.is_file() {
        return Ok(None);
    }
    let report = Report::read(&report).map_err(refuse);
    let report = report.map_err(|(code, line)| fail(code, line))?;
    let names = report.nodes().iter().map(|it| it["name"].as_str());
    let names: Vec<&str> = names.map(Option::unwrap_or_default).collect();
    why::diagnosis(&frames, &names).map(Some)
}

fn render(args: &ReportArgs, diagnosis: Option<&Diagnosis>) -> Result<String, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let name = args.result.display().to_string();
    if is_of_several(&args.result).map_err(refuse)? {
        let side = load(&args.result, &|_, _| {}).map_err(refuse)?;
        let page = page_of_several(&side, &name, args.over.as_deref(), version);
        return page.map_err(|problem| (USAGE, format!("{name} {problem}")));
    }
    if args.over.is_some() {
        let problem = format!("--over: {name} is one run; allowed: the file of a sweep");
        return Err((USAGE, problem));
    }
    page(&files(&args.result)?, diagnosis, version).map_err(refuse)
}
