//! The runs of one side of a comparison.

use std::path::{Path, PathBuf};

use redpoll_experiments::Results;

use crate::folder::{REPORT, SERIES};
use crate::report::{Problem, Report};

/// Runs by case.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Name of each case, and the reports of its seeds.
    pub cases: Vec<(String, Vec<Report>)>,
}

impl Side {
    fn add(&mut self, case: String, report: Report) {
        match self.cases.iter_mut().find(|(name, _)| *name == case) {
            Some((_, reports)) => reports.push(report),
            None => self.cases.push((case, vec![report])),
        }
    }
}

/// Loads the runs of a result: a result folder, a folder of result folders, a JSON file of one
/// result or a list, or the results file of a sweep or study. For a folder, `step` receives the
/// number of reports read so far and the number of all reports.
pub fn load(path: &Path, step: &dyn Fn(usize, usize)) -> Result<Side, Problem> {
    let mut side = Side::default();
    let meta = path.metadata().map_err(|error| Problem::io(path, error))?;
    if meta.is_dir() {
        let files = reports(path)?;
        for (done, file) in files.iter().enumerate() {
            step(done, files.len());
            let report = Report::read(file)?;
            side.add(report.scenario().to_owned(), report);
        }
    } else if is_sqlite(path)? {
        sweep(path, &mut side)?;
    } else {
        for report in Report::read_all(path)? {
            side.add(report.scenario().to_owned(), report);
        }
    }
    for (case, reports) in &mut side.cases {
        reports.sort_by_key(Report::seed);
        let twice = reports
            .windows(2)
            .find(|two| two[0].seed() == two[1].seed());
        if let Some([report, _]) = twice {
            // The same run twice does not add evidence, so it is refused.
            let what = format!(
                "contains seed {} of {case} twice; allowed: each seed once",
                report.seed()
            );
            return Err(Problem::other(path, what));
        }
    }
    Ok(side)
}

/// Returns whether a result consists of several runs: the file of a sweep or a study, or a folder
/// of result folders.
pub fn is_of_several(path: &Path) -> Result<bool, Problem> {
    let meta = path.metadata().map_err(|error| Problem::io(path, error))?;
    if !meta.is_dir() {
        return is_sqlite(path);
    }
    let is_one = [REPORT, SERIES]
        .iter()
        .any(|name| path.join(name).is_file());
    Ok(!is_one && reports(path).is_ok())
}

fn reports(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    let own = path.join(REPORT);
    if own.is_file() {
        return Ok(vec![own]);
    }
    let entries = path.read_dir().map_err(|error| Problem::io(path, error))?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = folders
        .map(|folder| folder.join(REPORT))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    if files.is_empty() {
        Err(Problem::other(
            path,
            "contains no result; allowed: a folder of `redpoll run --result DIR`, or a folder of \
             such folders",
        ))
    } else {
        Ok(files)
    }
}

fn is_sqlite(path: &Path) -> Result<bool, Problem> {
    use std::io::Read as _;
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut magic = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| Problem::io(path, error))?;
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut magic);
    read.map_err(|error| Problem::io(path, error))?;
    Ok(magic == MAGIC)
}

fn sweep(path: &Path, side: &mut Side) -> Result<(), Problem> {
    let wrong = |error: &dyn std::error::Error| Problem::other(path, error);
    // Load only the runs of the program version that last wrote to the file.
    let results = Results::of_latest(path).map_err(|error| wrong(&error))?;
    let all = results.all().map_err(|error| wrong(&error))?;
    for (case, seed, run) in all {
        let mut value = run.report().clone();
        // The seed with which the run is stored.
        value["seed"] = seed.into();
        if let Some(report) = Report::of(value) {
            side.add(case, report);
        }
    }
    if side.cases.is_empty() {
        Err(Problem::other(
            path,
            "has no finished runs; allowed: a file of a sweep or study with runs",
        ))
    } else {
        Ok(())
    }
}
