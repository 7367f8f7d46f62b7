//! `criteria.toml` of each study matches the rows that its figures declare.

use redpoll_experiments::Purpose;
use redpoll_studies::STUDIES;

#[test]
fn every_study_has_the_criteria_that_its_figures_declare() {
    for study in STUDIES {
        study.load().unwrap();
    }
}

/// Rows of the figure show each cause, and only judged rows have causes.
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

/// The page of kumar2020 states the correct number of rows of each kind.
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
        (Purpose::Reproduces, "rows of the kind `reproduces`"),
        (Purpose::Calibrates, "rows of the kind `calibrates`"),
        (Purpose::Promises, "of the kind `promises`"),
    ] {
        let count = figures.iter().flat_map(|it| it.bands(kind)).count();
        let says = format!(" of {count} {words}");
        assert!(
            text.contains(&says),
            "docs/studies/kumar2020.md: no {says:?}"
        );
    }
}

/// A share in percent cannot exceed 100. A band that ends at 100 therefore needs no upper end, and
/// a band that starts at 0 no lower end.
#[test]
fn no_criterion_ends_where_numbers_do() {
    for study in STUDIES {
        for figure in study.load().unwrap() {
            for (id, unit, band) in figure.bands(Purpose::Reproduces) {
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
