//! The files that a run writes: single files named by options, and a folder with all of them.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration as WallDuration;

use redpoll_base::{Duration, Instant};
use redpoll_results::folder;
use redpoll_results::series::Series;
use redpoll_results::table::{Format, Part, WriteError};
use redpoll_sim::{Report, World};

use super::JsonFile;
use super::shown::Record;
use crate::failure::Failure;
use crate::modules::Log;
use crate::output::{capture, is_closed_pipe, is_standard};
use crate::{FAILED, USAGE};

pub(crate) struct Outputs {
    wanted: Wanted,
    json: Vec<JsonFile>,
    log: Option<Log>,
    record: Option<Record>,
    series: Vec<SeriesFile>,
}

fn made<T>(file: Result<T, Failure>, failures: &mut Vec<Failure>) -> Option<T> {
    file.map_err(|failure| failures.push(failure)).ok()
}

/// Files that options name one by one, and a folder with all files.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    pub folder: Option<&'a Path>,
    pub json: Option<&'a Path>,
    pub pcap: Option<&'a Path>,
    pub record: Option<&'a Path>,
    pub series: Option<&'a Path>,
    pub interval: Duration,
    pub log: Option<&'a Path>,
    /// Whether files have their final names from the start: `redpoll up` gives up its rights before
    /// the files are complete, so it cannot rename them at the end.
    pub in_place: bool,
}

struct Wanted {
    folder: Option<PathBuf>,
    json: Vec<PathBuf>,
    captures: Vec<PathBuf>,
    record: Option<PathBuf>,
    series: Vec<(PathBuf, Format)>,
    interval: Duration,
    log: Option<PathBuf>,
    in_place: bool,
}

impl Outputs {
    /// Returns the requested outputs. No file is written yet.
    pub(crate) fn plan(asked: &Asked<'_>) -> Result<Outputs, Failure> {
        let owned = |path: Option<&Path>| path.map(Path::to_owned);
        let mut wanted = Wanted {
            folder: owned(asked.folder),
            json: Vec::from_iter(owned(asked.json)),
            captures: Vec::from_iter(owned(asked.pcap)),
            record: owned(asked.record),
            series: Vec::new(),
            interval: asked.interval,
            log: owned(asked.log),
            in_place: asked.in_place,
        };
        if let Some(path) = asked.series {
            let format = Format::of(path).ok_or_else(|| {
                let allowed = "allowed: a name that ends in .csv or .parquet";
                (USAGE, format!("--series {}: {allowed}", path.display()))
            })?;
            wanted.series.push((path.to_owned(), format));
        }
        if let Some(path) = asked.folder {
            wanted.json.push(path.join(folder::REPORT));
            wanted.captures.push(path.join(folder::FRAMES));
            wanted.record = Some(path.join(folder::RECORDING));
            let series = path.join(folder::SERIES);
            wanted.series.push((series, Format::Parquet));
        }
        Ok(Outputs {
            wanted,
            json: Vec::new(),
            log: None,
            record: None,
            series: Vec::new(),
        })
    }

    /// Creates the files; `false` if the reader of standard output has closed it. Reports all files
    /// that cannot be created, not only the first. Times in captures count from `origin`, the time
    /// from 1970 to the start of the run.
    pub(crate) fn begin(
        &mut self,
        world: &mut World,
        origin: WallDuration,
    ) -> Result<bool, Vec<Failure>> {
        let wanted = &self.wanted;
        if let Some(path) = &wanted.folder {
            folder::create(path).map_err(|error| {
                let code = match error.kind() {
                    std::io::ErrorKind::AlreadyExists => USAGE,
                    _ => FAILED,
                };
                vec![(code, format!("--result {}: {error}", path.display()))]
            })?;
        }
        let mut failures = Vec::new();
        for path in &wanted.captures {
            match capture(path, world.scenario(), origin) {
                Ok(trace) => world.add_trace(trace),
                Err(error) if is_closed_pipe(&error.source) => return Ok(false),
                Err(error) => failures.push((FAILED, error.to_string())),
            }
        }
        for path in &wanted.json {
            self.json
                .extend(made(JsonFile::create(path), &mut failures));
        }
        let log = wanted.log.as_deref().map(Log::create);
        self.log = log.and_then(|log| made(log, &mut failures));
        let record = wanted.record.as_deref();
        let record = record.map(|path| Record::create(path, world));
        self.record = record.and_then(|record| made(record, &mut failures));
        for (path, format) in &wanted.series {
            let begin = if wanted.in_place {
                Part::in_place
            } else {
                Part::create
            };
            let series = SeriesFile::create(begin, path, *format, world, wanted.interval);
            self.series.extend(made(series, &mut failures));
        }
        if failures.is_empty() {
            Ok(true)
        } else {
            Err(failures)
        }
    }

    pub(crate) fn takes_standard(&self) -> bool {
        self.json.iter().any(JsonFile::is_standard)
            || self.wanted.captures.iter().any(|path| is_standard(path))
    }

    pub(super) fn log(&mut self) -> &mut Option<Log> {
        &mut self.log
    }

    pub(crate) fn next(&self) -> Instant {
        let next = self.series.iter().map(|series| series.series.next());
        next.min().unwrap_or(Instant::from_micros(u64::MAX))
    }

    /// Writes the events since the last call; returns the longest simulated time until the next
    /// call.
    pub(crate) fn look(&mut self, world: &mut World) -> Result<Duration, Failure> {
        let mut step = Duration::from_secs(3_600);
        for series in &mut self.series {
            series.look(world)?;
        }
        if let Some(record) = &mut self.record {
            step = record.write(world)?;
        }
        match &mut self.log {
            Some(log) => log.write(world)?,
            None => drop(world.take_printed()),
        }
        Ok(step)
    }

    pub(crate) fn end(self, world: &World, report: &Report) -> Vec<Failure> {
        let mut failures = Vec::new();
        if let Some(mut record) = self.record {
            failures.extend(record.flush().err());
        }
        for series in self.series {
            failures.extend(series.finish(world).err());
        }
        for json in self.json {
            failures.extend(json.write(report).err());
        }
        failures
    }
}

type Begin = fn(&Path) -> std::io::Result<(Part, BufWriter<File>)>;

struct SeriesFile {
    series: Series<BufWriter<File>>,
    part: Part,
    name: String,
}

impl SeriesFile {
    fn create(
        begin: Begin,
        path: &Path,
        format: Format,
        world: &World,
        every: Duration,
    ) -> Result<SeriesFile, Failure> {
        let name = path.display().to_string();
        let failed = |error: WriteError| failed(&name, &error);
        let (part, file) = begin(path).map_err(|error| failed(error.into()))?;
        let mut series = Series::new(file, format, world, every).map_err(failed)?;
        series.look(world).map_err(failed)?;
        Ok(SeriesFile { series, part, name })
    }

    fn look(&mut self, world: &World) -> Result<(), Failure> {
        let looked = self.series.look(world);
        looked.map_err(|error| failed(&self.name, &error))
    }

    fn finish(self, world: &World) -> Result<(), Failure> {
        let kept = self.series.finish(world);
        let kept = kept.and_then(|()| Ok(self.part.keep()?));
        kept.map_err(|error| failed(&self.name, &error))
    }
}

fn failed(name: &str, error: &WriteError) -> Failure {
    (FAILED, format!("cannot write {name}: {error}"))
}
