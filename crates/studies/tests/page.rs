//! The page: what it says, what stands first, and that its commands are what ran.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Temporary, bound, run_all};
use redpoll_sim::Scenario;
use redpoll_studies::page::{Page, command};
use redpoll_studies::{Case, Figure, Hue, Row, STUDIES, Study};

const STUDY: Study = Study {
    name: "s",
    citation: "Somebody & others: <Something>",
    terms: &[("testbed", "somebody's node")],
    palette: &[("a", Hue::Green)],
    criteria: common::CRITERIA,
    figures: bound,
    over_links: None,
};

fn page(figures: &[Figure], rows: &[Vec<Row>]) -> String {
    let told: Vec<(&Figure, Vec<Row>)> = figures.iter().zip(rows.iter().cloned()).collect();
    let page = Page {
        study: &STUDY,
        told: &told,
        seeds: 2,
        version: "1.2.3",
        fingerprint: "abc",
        date: "2026-01-02",
    };
    page.render()
}

#[test]
fn a_page_says_what_a_reader_asks_first() {
    let file = Temporary::new("page");
    let results = file.open();
    let mut figures = bound();
    let slow = common::at(0).set("duration", "1 s");
    let shown = figures[0]
        .point(("slow", 0_u32), common::GOODPUT, &slow, common::goodput)
        .aside()
        .handle();
    // The row that does not hold is shown by another.
    let fast = figures[0].of("fast, again", shown).handle();
    figures[0].row(fast).cause("for a test", &[]);
    run_all(&figures, &results, 2);
    let rows = vec![figures[0].rows("s", &results, 2).unwrap()];
    let html = page(&figures, &rows);
    for part in [
        "0 of 1 reproductions hold",
        "Somebody &amp; others: &lt;Something&gt;",
        "Redpoll 1.2.3 (sources abc) on 2026-01-02",
        "<dt>testbed<dd>somebody's node",
        "“very fast” <small>(§1)</small>",
        "<summary>side experiments</summary>",
        "redpoll run scenes/short.toml --seed 1 --set 'mac.link_retry_delay=40 ms'",
        "<summary>short.toml</summary>",
        "class=\"band\"",
        "class=\"diamond\"",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let at = |part: &str| html.find(part).unwrap();
    assert!(at("id=\"misses\"") < at("id=\"figures\""));
    // Nothing is fetched from elsewhere.
    for part in ["http://", "https://", "<script", "@import", "url("] {
        assert!(!html.contains(part), "{part}");
    }
}

/// What the oracle found stands where failures do.
#[test]
fn a_violation_is_told() {
    let file = Temporary::new("page-violation");
    let results = file.open();
    let figures = bound();
    run_all(&figures, &results, 1);
    let mut rows = figures[0].rows("s", &results, 1).unwrap();
    rows[0].violation = Some("seed 1: a byte is gone".to_owned());
    let html = page(&figures, &[rows]);
    assert!(
        html.contains("The oracle reports: f: seed 1: a byte is gone"),
        "{html}"
    );
}

/// The words of a command as a shell has them.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

/// The scenario that a command runs, of scenes by name.
fn run_by(command: &str, scenes: &BTreeMap<&str, &str>) -> Scenario {
    let words = words(command);
    let [redpoll, run, file, seed, one, changes @ ..] = &words[..] else {
        panic!("{command}");
    };
    assert_eq!([redpoll, run, seed, one], ["redpoll", "run", "--seed", "1"]);
    let changes: Vec<(String, String)> = changes
        .chunks(2)
        .map(|pair| {
            assert_eq!(pair[0], "--set");
            let (key, value) = pair[1].split_once('=').unwrap();
            (key.to_owned(), value.to_owned())
        })
        .collect();
    let name = file.strip_prefix("scenes/").unwrap();
    let text = scenes[name.strip_suffix(".toml").unwrap()];
    Scenario::parse(name, text, &changes).unwrap()
}

/// Each case of each study: its command runs its scenario, and a scene's name says
/// which text it is.
#[test]
fn commands_run_what_the_study_ran() {
    for study in STUDIES {
        let figures = study.load().unwrap();
        let cases: Vec<&Case> = figures.iter().flat_map(Figure::cases).collect();
        let mut scenes: BTreeMap<&str, &str> = BTreeMap::new();
        for case in &cases {
            let scene = case.scene();
            let known = scenes.entry(&*scene.name).or_insert(&scene.text);
            assert_eq!(*known, scene.text, "{}", scene.name);
        }
        let mut done: BTreeSet<String> = BTreeSet::new();
        for case in cases {
            let text = command(case);
            if !done.insert(text.clone()) {
                continue;
            }
            let mut commanded = run_by(&text, &scenes);
            let own = Scenario::parse(&case.scene().name, &case.scene().text, case.changes());
            let own = own.unwrap();
            // What it was read from is all that may differ.
            commanded.files.clone_from(&own.files);
            assert_eq!(format!("{commanded:?}"), format!("{own:?}"), "{text}");
        }
    }
}
