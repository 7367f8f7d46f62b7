//! The page: its statements, and their order.

use crate::common;

use common::{Temporary, bound, run_all};
use redpoll_experiments::page::Page;
use redpoll_experiments::{At, Figure, Hue, Row, Study};

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
fn a_page_shows_verdicts_authors_versions_and_commands() {
    let file = Temporary::new("page");
    let results = file.open();
    let mut figures = bound();
    let slow = common::at(0).set("duration", "1 s");
    let shown = figures[0]
        .point(
            At::new("slow", 0_u32),
            common::GOODPUT,
            &slow,
            common::goodput,
        )
        .aside()
        .handle();
    // Another row shows why the verdict of this row does not hold.
    let fast = figures[0].of("fast, again", shown).handle();
    figures[0].row(fast).cause("for a test", &[]);
    run_all(&figures, &results, 2);
    let rows = vec![figures[0].rows("s", &results, 2).unwrap()];
    let html = page(&figures, &rows);
    for part in [
        "0 of 1 reproductions hold",
        "Somebody &amp; others: &lt;Something&gt;",
        "Redpoll 1.2.3 (sources abc) on 2026-01-02",
        "<dt>testbed<dd>somebody&#39;s node",
        "“very fast” <small>(§1)</small>",
        "<summary>side experiments</summary>",
        "redpoll run scenes/short.toml --seed 1 --set &#39;mac.link_retry_delay=40 ms&#39;",
        "<summary>short.toml</summary>",
        "class=\"band\"",
        "class=\"diamond\"",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let at = |part: &str| html.find(part).unwrap();
    assert!(at("id=\"misses\"") < at("id=\"figures\""));
    // The page loads nothing from a server.
    for part in ["http://", "https://", "<script", "@import", "url("] {
        assert!(!html.contains(part), "{part}");
    }
}

#[test]
fn a_page_shows_a_violation() {
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
