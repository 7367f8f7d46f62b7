//! A study from its cases to its page, and the results file between.

use std::path::PathBuf;
use std::{env, fs, process};

use redpoll_studies::{
    Case, Criterion, Fact, Figure, Outcome, Point, Results, ResultsError, STUDIES, Scene, X,
    conduct, find, jobs, page, select,
};

const SCENE: &str = r#"
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

fn scene() -> Scene {
    Scene {
        name: "short",
        text: SCENE.to_owned(),
    }
}

/// A file that is gone when the test ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let path = env::temp_dir().join(format!("redpoll-{}-{name}.sqlite", process::id()));
        let _ = fs::remove_file(&path);
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn figure() -> Figure {
    let goodput = |run: &redpoll_studies::Run| run.flow("bulk", "/goodput_kbps");
    let at = |ms: u32| Case::new(scene()).set("mac.link_retry_delay", format!("{ms} ms"));
    let metric = ("goodput", "kb/s");
    Figure {
        name: "f",
        title: "A figure",
        x_label: "d in ms",
        about: "For a test.",
        points: vec![
            Point::new(("a", 0), metric, &at(0), goodput).paper(75.0),
            Point::new(("a", 40), metric, &at(40), goodput).must(Criterion::AtLeast(1_000.0)),
        ],
        facts: vec![Fact::shape(
            "falls",
            |table| table.ratio("goodput", ("a", 40), ("a", 0)),
            Criterion::Between(0.5, 1.0),
        )],
    }
}

fn run_all(results: &Results, seeds: u64) -> usize {
    let jobs = jobs(&[figure()], seeds, results).unwrap();
    let outcome = conduct(&jobs, 2, results, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    jobs.len()
}

#[test]
fn rows_have_mean_spread_paper_and_verdict() {
    let file = Temporary::new("rows");
    let results = Results::open(&file.0, "b").unwrap();
    assert_eq!(run_all(&results, 3), 6);
    let rows = figure().rows("s", &results, 3).unwrap();
    let [first, second, fact] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!((first.paper, first.ok), (Some(75.0), None));
    assert!(
        first.low < first.value && first.value < first.high,
        "{first:?}"
    );
    assert_eq!(
        (second.ok, second.note.as_str()),
        (Some(false), "must be at least 1000")
    );
    assert_eq!((fact.ok, &fact.x), (Some(true), &X::None));
    assert_eq!(
        fact.value,
        Some(second.value.unwrap() / first.value.unwrap())
    );
    let html = page::render(&STUDIES[0], &[(&figure(), rows)], 3);
    assert!(html.contains("1 of 2 criteria hold"), "{html}");
    assert!(html.contains("<svg"), "{html}");
}

#[test]
fn a_study_goes_on_where_it_stopped_and_gives_the_same() {
    let whole = Temporary::new("whole");
    let results = Results::open(&whole.0, "b").unwrap();
    run_all(&results, 2);
    let expected = figure().rows("s", &results, 2).unwrap();

    let parts = Temporary::new("parts");
    let first = Results::open(&parts.0, "b").unwrap();
    let all = jobs(&[figure()], 2, &first).unwrap();
    let outcome = conduct(&all[..1], 1, &first, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    drop(first);
    let second = Results::open(&parts.0, "b").unwrap();
    assert_eq!(run_all(&second, 2), 3);
    assert_eq!(run_all(&second, 2), 0);
    assert_eq!(figure().rows("s", &second, 2).unwrap(), expected);
}

#[test]
fn who_stops_a_study_keeps_what_is_done() {
    let file = Temporary::new("stop");
    let results = Results::open(&file.0, "b").unwrap();
    let all = jobs(&[figure()], 5, &results).unwrap();
    let outcome = conduct(&all, 1, &results, &mut |done, _| done < 2).unwrap();
    assert_eq!(outcome, Outcome::Stopped);
    let left = jobs(&[figure()], 5, &results).unwrap().len();
    assert!((1..=8).contains(&left), "{left}");
}

#[test]
fn a_file_of_another_version_build_or_kind_is_refused_and_left_alone() {
    let file = Temporary::new("refused");
    drop(Results::open(&file.0, "one").unwrap());
    let before = fs::read(&file.0).unwrap();
    let build = Results::open(&file.0, "two").unwrap_err();
    assert!(matches!(build, ResultsError::Build(_)), "{build}");
    assert_eq!(fs::read(&file.0).unwrap(), before);

    // The version stands at offset 60 of SQLite's header.
    let mut newer = before.clone();
    newer[63] = 2;
    fs::write(&file.0, &newer).unwrap();
    let version = Results::open(&file.0, "one").unwrap_err();
    assert!(
        matches!(version, ResultsError::Version { found: 2, .. }),
        "{version}"
    );

    let mut foreign = before.clone();
    foreign[68..72].fill(0);
    fs::write(&file.0, &foreign).unwrap();
    let foreign = Results::open(&file.0, "one").unwrap_err();
    assert!(matches!(foreign, ResultsError::Foreign(_)), "{foreign}");

    fs::write(&file.0, "a letter to somebody, long enough not to be empty").unwrap();
    let letter = Results::open(&file.0, "one").unwrap_err();
    assert!(matches!(letter, ResultsError::Foreign(_)), "{letter}");

    let mut damaged = before.clone();
    damaged[4_096..].fill(0xa5);
    fs::write(&file.0, &damaged).unwrap();
    let error = Results::open(&file.0, "one").unwrap_err();
    assert!(matches!(error, ResultsError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&file.0).unwrap(), damaged);
}

#[test]
fn unknown_names_are_told_with_those_that_are_known() {
    let error = find("nobody1999").unwrap_err().to_string();
    assert_eq!(error, "unknown study \"nobody1999\"; allowed: kumar2020");
    let error = select(&STUDIES[0], &["5z".to_owned()])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("unknown figure \"5z\"; allowed: table-1, table-3, table-5, 3a, 3b, 4a"),
        "{error}"
    );
}

/// Every scenario of every figure is valid, and no two figures share a name.
#[test]
fn all_cases_can_be_run() {
    for study in STUDIES {
        let figures = (study.figures)();
        for (index, figure) in figures.iter().enumerate() {
            assert!(
                figures[..index]
                    .iter()
                    .all(|other| other.name != figure.name)
            );
            for case in figure.cases() {
                let scenario = case.scenario();
                assert!(
                    scenario.is_ok(),
                    "{}: {}",
                    case.text(),
                    scenario.unwrap_err()
                );
            }
        }
    }
}

/// One figure of the paper, in short: that of the section on one hop.
#[test]
fn a_figure_of_kumar2020_runs() {
    let file = Temporary::new("figure");
    let results = Results::open(&file.0, "b").unwrap();
    let study = find("kumar2020").unwrap();
    let figures = select(study, &["6.3".to_owned()]).unwrap();
    let jobs = jobs(&figures, 1, &results).unwrap();
    let outcome = conduct(&jobs, 2, &results, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    for row in figures[0].rows(study.name, &results, 1).unwrap() {
        assert!(row.value.is_some_and(|goodput| goodput > 60.0), "{row:?}");
        assert!(!row.note.starts_with("oracle"), "{row:?}");
    }
}

/// What is seen on the air is there, and what the tables about it say holds.
#[test]
fn what_is_seen_on_the_air() {
    let file = Temporary::new("air");
    let results = Results::open(&file.0, "b").unwrap();
    let study = find("kumar2020").unwrap();
    let names = ["4a", "table-9"].map(str::to_owned);
    let figures = select(study, &names).unwrap();
    let jobs = jobs(&figures, 1, &results).unwrap();
    let outcome = conduct(&jobs, 2, &results, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    let rows = figures
        .iter()
        .flat_map(|figure| figure.rows(study.name, &results, 1).unwrap());
    for row in rows {
        assert!(row.value.is_some() && row.ok != Some(false), "{row:?}");
    }
}
