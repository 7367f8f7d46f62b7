//! The first difference of two recordings, before the first different frame: the outcome of a
//! frame, a window or a timer of TCP, a queue, or a parent. Captures do not contain these values.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use redpoll_results::folder;
use serde_json::Value;

use super::DiffArgs;
use crate::output::is_standard;

/// Longest accepted line of a recording, in bytes.
const LONGEST: u64 = 64 << 20;
/// Number of frames to remember, because the outcome of a frame may be in a later row.
const FRAMES: usize = 10_000;

/// Names of the values in a recording's row about an endpoint, in the row's order. Before these
/// values, the row has the flow, and whether the endpoint opened the connection.
const OF_ENDS: [&str; 10] = [
    "TCP state",
    "congestion window (bytes)",
    "slow start threshold (bytes)",
    "retransmission timeout (ms)",
    "round-trip time (ms)",
    "bytes acknowledged",
    "bytes received",
    "bytes unacknowledged",
    "segments retransmitted after a timeout",
    "segments retransmitted for another reason",
];
/// The values of a node that are compared: key in the recording, and name in the output.
const OF_NODES: [(&str, &str); 5] = [
    ("parent", "parent"),
    ("queue", "queue (datagrams)"),
    ("sent", "frames sent"),
    ("retries", "frames retransmitted"),
    ("collisions", "collisions"),
];

/// Returns the first difference before `until_us` between the recordings of two results, or of two
/// programs, which are run again to record. `None` without recordings.
pub(super) fn before(args: &DiffArgs, until_us: u64) -> Option<String> {
    let scratch = Scratch::new();
    let (a, b) = match (&args.program, &args.b) {
        (Some(old), _) => {
            let own = std::env::current_exe().ok()?;
            let folder = scratch.as_ref()?;
            (
                recorded(old, args, until_us, folder.0.join("a"))?,
                recorded(&own, args, until_us, folder.0.join("b"))?,
            )
        }
        (None, Some(b)) => (beside(Path::new(&args.a))?, beside(b)?),
        (None, None) => return None,
    };
    first(
        &mut Recording::open(&a)?,
        &mut Recording::open(&b)?,
        until_us,
    )
}

/// A folder for recordings, which is removed when this value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Option<Scratch> {
        let path = std::env::temp_dir().join(format!("redpoll-diff-{}", std::process::id()));
        // A new folder, so that no existing folder of another user is used.
        std::fs::create_dir(&path).ok()?;
        Some(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn beside(path: &Path) -> Option<PathBuf> {
    let file = path.join(folder::RECORDING);
    (!is_standard(path) && file.is_file()).then_some(file)
}

fn recorded(program: &Path, args: &DiffArgs, until_us: u64, path: PathBuf) -> Option<PathBuf> {
    let mut command = Command::new(program);
    command.args(["run", &args.a, "--record"]).arg(&path);
    for (key, value) in &args.set {
        command.args(["--set", &format!("{key}={value}")]);
    }
    if let Some(seed) = args.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    command.args(["--duration", &format!("{} ms", until_us / 1_000 + 100)]);
    command.env("TERM", "dumb").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // The exit status does not matter: an older program may write no recording.
    command.status().ok()?;
    path.is_file().then_some(path)
}

struct Recording {
    lines: BufReader<File>,
    names: Vec<String>,
    outcomes: Vec<String>,
    flows: HashMap<u64, [String; 2]>,
    frames: HashMap<u64, (u64, u64)>,
}

impl Recording {
    fn open(path: &Path) -> Option<Recording> {
        let mut recording = Recording {
            lines: BufReader::new(File::open(path).ok()?),
            names: Vec::new(),
            outcomes: Vec::new(),
            flows: HashMap::new(),
            frames: HashMap::new(),
        };
        let hello = recording.line()?;
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.filter_map(|it| it.as_str().map(str::to_owned))
                .collect()
        };
        let nodes = hello["nodes"].as_array()?;
        let names = nodes
            .iter()
            .map(|node| node["name"].as_str().unwrap_or("?").to_owned());
        recording.names = names.collect();
        recording.outcomes = texts(&hello["outcomes"]);
        Some(recording)
    }

    fn line(&mut self) -> Option<Value> {
        use std::io::Read as _;
        let mut line = String::new();
        let read = self.lines.by_ref().take(LONGEST).read_line(&mut line);
        read.ok().filter(|len| *len > 0)?;
        serde_json::from_str(&line).ok()
    }

    fn changes(&mut self) -> Option<Value> {
        loop {
            let line = self.line()?;
            if line["type"] != "changes" {
                continue;
            }
            if self.frames.len() > FRAMES {
                self.frames.clear();
            }
            for row in rows(&line, "frames") {
                if let (Some(id), Some(start), Some(from)) =
                    (row[0].as_u64(), row[1].as_u64(), row[3].as_u64())
                {
                    self.frames.insert(id, (start, from));
                }
            }
            for flow in rows(&line, "flows") {
                if let Some(id) = flow["id"].as_u64() {
                    let name = |end: &str| flow[end]["name"].as_str().unwrap_or("?").to_owned();
                    self.flows.insert(id, [name("a"), name("b")]);
                }
            }
            return Some(line);
        }
    }

    fn name(&self, node: &Value) -> &str {
        let at = node.as_u64().and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.names.get(at))
            .map_or("an unknown node", String::as_str)
    }

    fn outcome(&self, fate: Option<&Value>) -> String {
        let Some(fate) = fate else {
            return "no outcome yet".to_owned();
        };
        let at = fate[2].as_u64().and_then(|at| usize::try_from(at).ok());
        let outcome = at.and_then(|at| self.outcomes.get(at));
        outcome.map_or_else(|| fate[2].to_string(), Clone::clone)
    }
}

fn rows<'v>(line: &'v Value, name: &str) -> &'v [Value] {
    line[name].as_array().map_or(&[], Vec::as_slice)
}

fn first(a: &mut Recording, b: &mut Recording, until_us: u64) -> Option<String> {
    loop {
        let (Some(one), Some(other)) = (a.changes(), b.changes()) else {
            return None;
        };
        if one["t"] != other["t"] {
            return None;
        }
        if let Some(found) = of_fates(a, &one, &other, until_us) {
            return Some(found);
        }
        let t_us = one["t"].as_u64()?;
        if t_us > until_us {
            return Some(
                "none in the recordings. The frame differs because of a value that recordings do \
                 not contain, such as a random number, or because of a value that changed after \
                 it was last recorded"
                    .into(),
            );
        }
        let found = of_ends(a, &one, &other).or_else(|| of_nodes(a, &one, &other));
        if let Some(found) = found {
            return Some(format!(
                "{found}; this difference began at {:.6} s or earlier",
                t_us as f64 / 1e6
            ));
        }
    }
}

/// Returns the first difference between the outcomes of frames that began before `until_us`.
fn of_fates(names: &Recording, one: &Value, other: &Value, until_us: u64) -> Option<String> {
    let (of_a, of_b) = (rows(one, "fates"), rows(other, "fates"));
    let find = |all: &'_ [Value], fate: &Value| -> Option<Value> {
        let same = |it: &&Value| it[0] == fate[0] && it[1] == fate[1];
        all.iter().find(same).cloned()
    };
    let differs = of_a.iter().chain(of_b).find(|fate| {
        let begun = fate[0].as_u64().and_then(|id| names.frames.get(&id));
        begun.is_some_and(|(start, _)| *start < until_us) && find(of_a, fate) != find(of_b, fate)
    })?;
    let (start, from) = names.frames.get(&differs[0].as_u64()?)?;
    Some(format!(
        "outcome at {} of the frame that {} began to send at {:.6} s: {} in A, {} in B",
        names.name(&differs[1]),
        names.name(&Value::from(*from)),
        *start as f64 / 1e6,
        names.outcome(find(of_a, differs).as_ref()),
        names.outcome(find(of_b, differs).as_ref()),
    ))
}

fn of_ends(names: &Recording, one: &Value, other: &Value) -> Option<String> {
    let (of_a, of_b) = (rows(one, "ends"), rows(other, "ends"));
    if of_a == of_b {
        return None;
    }
    let whose = |row: &Value| {
        let flow = row[0].as_u64().and_then(|id| names.flows.get(&id));
        let opener = row[1].as_bool().unwrap_or(true);
        flow.map_or(
            "an unknown node",
            |ends| {
                if opener { &ends[0] } else { &ends[1] }
            },
        )
        .to_owned()
    };
    for row in of_a.iter().chain(of_b) {
        let find = |all: &[Value]| {
            all.iter()
                .find(|it| it[0] == row[0] && it[1] == row[1])
                .cloned()
        };
        match (find(of_a), find(of_b)) {
            (Some(a), Some(b)) => {
                let column = (0..OF_ENDS.len()).find(|at| a[at + 2] != b[at + 2]);
                if let Some(at) = column {
                    let (what, a, b) = (OF_ENDS[at], &a[at + 2], &b[at + 2]);
                    return Some(format!("{what} of {}: {a} in A, {b} in B", whose(row)));
                }
            }
            (Some(_), None) => {
                return Some(format!(
                    "TCP state or counters of {} changed only in A",
                    whose(row)
                ));
            }
            (None, _) => {
                return Some(format!(
                    "TCP state or counters of {} changed only in B",
                    whose(row)
                ));
            }
        }
    }
    None
}

fn of_nodes(names: &Recording, one: &Value, other: &Value) -> Option<String> {
    OF_NODES.iter().find_map(|(column, what)| {
        let of_a = one["nodes"][column].as_array()?;
        let of_b = other["nodes"][column].as_array()?;
        let at = of_a.iter().zip(of_b).position(|(a, b)| a != b)?;
        let shown = |value: &Value| match *column {
            "parent" => names.name(value).to_owned(),
            _ => value.to_string(),
        };
        Some(format!(
            "{what} of {}: {} in A, {} in B",
            names.name(&Value::from(at)),
            shown(&of_a[at]),
            shown(&of_b[at])
        ))
    })
}
