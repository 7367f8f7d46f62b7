//! `redpoll bench scale`: the cost of the simulator from 10 to 10,000 nodes.
//!
//! Each point has its own process, which excludes the memory of other points, and can be ended at
//! the time limit. See [ADR 53](../../../../docs/adr/0053-cost-of-the-simulator-by-size.md).

mod page;
mod point;
mod scene;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use redpoll_linux::signals::{Notice, Signals};
use serde_json::{Value, json};

use crate::bench::BenchArgs;
use crate::output::{self, fail, is_standard};
use crate::{FAILED, USAGE};
use point::Point;

pub const NAME: &str = "scale";
const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
/// Time limit of a point by default, in seconds.
const LIMIT_S: u64 = 120;
/// Interval at which the state of a point's process is checked.
const LOOK: Duration = Duration::from_millis(5);

pub fn run(args: &BenchArgs) -> ExitCode {
    if let Some(text) = &args.point {
        return match Point::parse(text).map(|point| point.measure()) {
            None => fail(
                USAGE,
                format!("--point: got {text:?}; allowed: topology,nodes,routing,load"),
            ),
            Some(Err(problem)) => fail(FAILED, problem),
            Some(Ok(row)) => printed(output::print(&format!("{row}\n"))),
        };
    }
    let sizes = match args.nodes[..] {
        [] => SIZES.to_vec(),
        _ => args.nodes.iter().map(|nodes| *nodes as usize).collect(),
    };
    match measure(args, &Point::all(&sizes)) {
        Ok(code) => code,
        Err(problem) => fail(FAILED, problem),
    }
}

fn printed(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("cannot write to standard output: {error}")),
    }
}

/// The way in which a point's process ended.
enum End {
    Row(Value),
    Signal(u8),
}

fn measure(args: &BenchArgs, points: &[Point]) -> Result<ExitCode, String> {
    let limit = Duration::from_secs(args.limit.unwrap_or(LIMIT_S));
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    let signals = Signals::watch().map_err(|error| format!("cannot receive signals: {error}"))?;
    let is_quiet = args.json.as_deref().is_some_and(is_standard);
    let mut rows = Rows::to(args.json.as_deref())?;
    let template = "{wide_bar} {pos}/{len}  {msg}";
    let bar = output::bar(Some(points.len() as u64), template, 10);
    let mut signal = None;
    for point in points {
        bar.set_message(point.to_string());
        match attempt(&program, point, limit, &signals)? {
            End::Row(row) => rows.add(row)?,
            End::Signal(number) => {
                signal = Some(number);
                break;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let rows = rows.all;
    if !is_quiet {
        output::print(&table(&rows)).map_err(|error| format!("cannot write the table: {error}"))?;
    }
    if let Some(path) = &args.page {
        let page = page::page(&rows);
        std::fs::write(path, page)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(signal.map_or(ExitCode::SUCCESS, |number| ExitCode::from(128 + number)))
}

/// Finished rows; each is written to the file as a line of JSON as soon as it is added.
struct Rows {
    file: Option<Box<dyn io::Write>>,
    all: Vec<Value>,
}

impl Rows {
    fn to(path: Option<&Path>) -> Result<Rows, String> {
        let file: Option<Box<dyn io::Write>> = match path {
            None => None,
            Some(path) if is_standard(path) => Some(Box::new(io::stdout())),
            Some(path) => {
                let file = File::create(path);
                let file =
                    file.map_err(|error| format!("cannot create {}: {error}", path.display()))?;
                Some(Box::new(file))
            }
        };
        let all = Vec::new();
        Ok(Rows { file, all })
    }

    fn add(&mut self, row: Value) -> Result<(), String> {
        if let Some(file) = &mut self.file {
            let written = writeln!(file, "{row}").and_then(|()| file.flush());
            match written {
                Err(error) if !output::is_closed_pipe(&error) => {
                    return Err(format!("cannot write a row: {error}"));
                }
                _ => {}
            }
        }
        self.all.push(row);
        Ok(())
    }
}

/// Measures a point in another process. Ends the process at the time limit, and at a signal.
fn attempt(
    program: &Path,
    point: &Point,
    limit: Duration,
    signals: &Signals,
) -> Result<End, String> {
    let mut command = Command::new(program);
    command.args(["bench", NAME, "--point", &point.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.spawn();
    let mut child = child.map_err(|error| format!("cannot start {point}: {error}"))?;
    let begun = Instant::now();
    let mut end = None;
    let status = loop {
        let status = child.try_wait();
        if let Some(status) = status.map_err(|error| format!("{point}: {error}"))? {
            break status;
        }
        match signals.next() {
            Ok(Some(Notice::End(signal))) => end = Some(End::Signal(signal as i32 as u8)),
            _ if begun.elapsed() >= limit => end = Some(End::Row(unfinished(point, limit))),
            _ => {}
        }
        if end.is_some() {
            // Ignores the error: the process may have ended meanwhile.
            let _ = child.kill();
            let status = child.wait();
            break status.map_err(|error| format!("{point}: {error}"))?;
        }
        std::thread::sleep(LOOK);
    };
    if let Some(end) = end {
        return Ok(end);
    }
    // Ctrl-C in a terminal reaches both processes, and may have ended the child.
    if let Ok(Some(Notice::End(signal))) = signals.next() {
        return Ok(End::Signal(signal as i32 as u8));
    }
    let mut text = String::new();
    let read = child
        .stdout
        .take()
        .map(|mut out| out.read_to_string(&mut text));
    match (status.success(), read, serde_json::from_str(&text)) {
        (true, Some(Ok(_)), Ok(row)) => Ok(End::Row(row)),
        _ => Err(format!("{point}: its process ended with {status}")),
    }
}

fn unfinished(point: &Point, limit: Duration) -> Value {
    let mut row = point.json();
    row["finished"] = json!(false);
    row["limit_s"] = json!(limit.as_secs());
    row
}

fn table(rows: &[Value]) -> String {
    let mut text = format!(
        "{:<10} {:>6} {:<6} {:<5} {:>9} {:>9} {:>10} {:>10} {:>12}\n",
        "topology",
        "nodes",
        "routes",
        "load",
        "set-up s",
        "KiB/node",
        "ns/event",
        "events/s",
        "sim s/CPU s"
    );
    for row in rows {
        let name = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str, digits: usize, factor: f64| {
            let value = row[key].as_f64();
            value.map_or("-".to_owned(), |it| format!("{:.digits$}", factor * it))
        };
        let _ = write!(
            text,
            "{:<10} {:>6} {:<6} {:<5} ",
            name("topology"),
            number("nodes", 0, 1.0),
            name("routing"),
            name("load"),
        );
        let _ = match row["finished"].as_bool() {
            Some(true) => writeln!(
                text,
                "{:>9} {:>9} {:>10} {:>10} {:>12}",
                number("setup_s", 3, 1.0),
                number("bytes_per_node", 1, 1.0 / 1_024.0),
                number("ns_per_event", 0, 1.0),
                number("events_per_s", 0, 1.0),
                number("simulated_s_per_s", 1, 1.0),
            ),
            _ => writeln!(text, "unfinished after {} s", number("limit_s", 0, 1.0)),
        };
    }
    text.push('\n');
    text.push_str(&page::verdicts_text(rows));
    text
}
