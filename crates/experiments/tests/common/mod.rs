//! A figure of two short runs, and files that each test removes at its end.
#![allow(dead_code)]

use std::path::PathBuf;
use std::{env, fs, process};

use redpoll_experiments::{
    Case, Figure, Metric, Outcome, Results, Run, Scene, bind, conduct, jobs,
};

pub const SCENE: &str = r#"
duration = "2 s"
[topology]
kind = "line"
nodes = 2
spacing = "8 m"
[apps.sink]
type = "bulk-sink"
on = "node-1"
port = 5001
[apps.bulk]
type = "bulk-sender"
on = "node-2"
to = "node-1:5001"
"#;

pub const GOODPUT: Metric = Metric::new("goodput", "kb/s");

pub fn case() -> Case {
    Case::new(Scene {
        name: "short".into(),
        text: SCENE.to_owned(),
    })
}

pub fn at(ms: u32) -> Case {
    case().set("mac.link_retry_delay", format!("{ms} ms"))
}

pub fn goodput(run: &Run) -> redpoll_experiments::Reading {
    run.flow("bulk", "/goodput_kbps")
}

pub const CRITERIA: &str = r#"
[[row]]
id = "f/fast"
kind = "reproduces"
least = 1000
says = "very fast"
section = "§1"
why = "for a test"

[[row]]
id = "f/falls"
kind = "promises"
least = 0.5
most = 1.0
why = "for a test"
"#;

pub fn figure() -> Figure {
    let mut figure = Figure::new("f", "A figure")
        .x_label("d in ms")
        .about("For a test.");
    let cases = [0, 40_u32].map(|ms| (ms, at(ms)));
    let line = figure.line("a", GOODPUT, cases, goodput);
    figure.row(line.at(0)).paper(75.0);
    figure.row(line.at(40)).judged("fast");
    figure
        .ratio("falls", line.at(40), line.at(0))
        .judged("falls");
    figure
}

pub fn bound() -> Vec<Figure> {
    let mut figures = vec![figure()];
    bind(&mut figures, CRITERIA).unwrap();
    figures
}

pub struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(name: &str) -> Temporary {
        let path = env::temp_dir().join(format!("redpoll-{}-{name}.sqlite", process::id()));
        let _ = fs::remove_file(&path);
        Temporary(path)
    }

    pub fn open(&self) -> Results {
        Results::open(&self.0, "sources").unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub fn run_all(figures: &[Figure], results: &Results, seeds: u64) -> usize {
    let jobs = jobs(figures, seeds, results).unwrap();
    let outcome = conduct(&jobs, 2, results, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    jobs.len()
}
