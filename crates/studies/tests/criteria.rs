//! `criteria.toml` and the rows that figures declare fit together.

use crate::common;

use common::{CRITERIA, figure};
use redpoll_studies::{CriteriaError, Kind, STUDIES, bind};

fn error(text: &str) -> String {
    bind(&mut [figure()], text).unwrap_err().to_string()
}

#[test]
fn every_study_has_what_its_figures_declare() {
    for study in STUDIES {
        study.load().unwrap();
    }
}

#[test]
fn a_row_that_no_figure_declares_is_an_error() {
    let more =
        CRITERIA.to_owned() + "\n[[row]]\nid = \"f/gone\"\nkind = \"explains\"\nwhy = \"x\"\n";
    assert_eq!(
        error(&more),
        "criteria.toml has f/gone, which no figure declares"
    );
    let other = CRITERIA.replace("f/falls", "g/falls");
    assert_eq!(
        error(&other),
        "criteria.toml has no f/falls, which its figure declares"
    );
    let twice = CRITERIA.replace("f/falls", "f/fast");
    assert_eq!(error(&twice), "criteria.toml has f/fast twice");
}

#[test]
fn what_a_kind_needs_is_there() {
    let fault = |from: &str, to: &str| error(&CRITERIA.replace(from, to));
    assert_eq!(
        fault("least = 1000\n", ""),
        "criteria.toml: f/fast: the lower bound, the upper bound or both are missing"
    );
    assert_eq!(
        fault("says = \"very fast\"\n", ""),
        "criteria.toml: f/fast: `says` and `section` are missing"
    );
    assert_eq!(
        fault("\"promises\"", "\"explains\""),
        "criteria.toml: f/falls: a row that explains has no band"
    );
    assert_eq!(
        fault("most = 1.0", "most = 0.1"),
        "criteria.toml: f/falls: the lower bound is above the upper one"
    );
    assert_eq!(
        fault("why = \"for a test\"", "why = \" \""),
        "criteria.toml: f/fast: `why` is empty"
    );
    let unknown = bind(&mut [figure()], &CRITERIA.replace("why", "because"));
    assert!(
        matches!(unknown, Err(CriteriaError::Toml(_))),
        "{unknown:?}"
    );
}

/// A reason is shown by rows of the figure, and only what is judged has one.
#[test]
fn every_cause_is_shown_by_rows() {
    for study in STUDIES {
        for figure in study.load().unwrap() {
            for (id, rows) in figure.causes() {
                let place = format!("{}, {}/{id:?}", study.name, figure.name());
                assert!(id.is_some(), "{place}: a cause of what is not judged");
                assert!(rows > 0, "{place}: a cause that no row shows");
            }
        }
    }
}

/// The page of kumar2020 says of how many rows of each kind it tells.
#[test]
fn the_text_counts_the_kinds_as_they_are() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/studies/kumar2020.md"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let figures = STUDIES.iter().find(|study| study.name == "kumar2020");
    let figures = figures.unwrap().load().unwrap();
    for (kind, words) in [
        (Kind::Reproduces, "rows of the kind `reproduces`"),
        (Kind::Calibrates, "rows that calibrate"),
        (Kind::Promises, "promises"),
    ] {
        let count = figures.iter().flat_map(|it| it.bands(kind)).count();
        let says = format!(" of {count} {words}");
        assert!(
            text.contains(&says),
            "docs/studies/kumar2020.md: no {says:?}"
        );
    }
}

/// A share of 100 has no more than 100: a band up to there judges one side alone, so
/// it has no upper end, and one from 0 has no lower.
#[test]
fn no_criterion_ends_where_numbers_do() {
    for study in STUDIES {
        for figure in study.load().unwrap() {
            for (id, unit, band) in figure.bands(Kind::Reproduces) {
                let all = |least: Option<f64>, most: Option<f64>| match unit {
                    "%" => least.is_none_or(|it| it <= 0.0) && most.is_none_or(|it| it >= 100.0),
                    _ => false,
                };
                assert!(!all(band.least, band.most), "{id} cannot fail: {band}");
                let ends = unit == "%" && (band.most >= Some(100.0) || band.least == Some(0.0));
                assert!(!ends, "{id}: {band}");
            }
        }
    }
}
