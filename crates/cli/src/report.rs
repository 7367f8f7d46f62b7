//! `redpoll report`: writes a result as one page.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_results::page::page;

use crate::USAGE;
use crate::failure::{Failure, cannot_write};
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::plot::{files, refuse};

/// Write a result as one page: figures, plots over time, the mesh, and every node.
///
/// The page is one HTML file without external resources.
///
/// Exit code: 0 on success, 1 when a file cannot be read or written, 2 when it is not a result.
#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    /// A folder of `redpoll run --result DIR`, or a file of --json
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// File of the page; by default report.html, in the result's folder or in the current one; -
    /// is standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

pub fn run(args: &ReportArgs) -> ExitCode {
    match report(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, line)) => fail(code, line),
    }
}

fn report(args: &ReportArgs) -> Result<(), Failure> {
    Places::default()
        .with("--out", args.out.as_deref())
        .reads(&args.result)
        .check()
        .map_err(|line| (USAGE, line))?;
    let page = page(&files(&args.result)?, env!("CARGO_PKG_VERSION")).map_err(refuse)?;
    let beside = if args.result.is_dir() {
        args.result.join("report.html")
    } else {
        PathBuf::from("report.html")
    };
    let out = args.out.clone().unwrap_or(beside);
    let standard = |error| cannot_write("standard output", &error);
    if is_standard(&out) {
        return print(&page).map_err(standard);
    }
    let name = out.display();
    std::fs::write(&out, page).map_err(|error| cannot_write(&name.to_string(), &error))?;
    print(&format!("{name}\n")).map_err(standard)
}
