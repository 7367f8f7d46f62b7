//! Rows: mean, spread, number of seeds, verdict, and computed rows.

use crate::common;

use common::{GOODPUT, Temporary, at, bound, case, goodput, run_all};
use redpoll_experiments::{At, Figure, Gap, Metric, Purpose, Reading, Row, Run, StudyError, X};

fn rows(figure: &Figure, seeds: u64, name: &str) -> Vec<Row> {
    let file = Temporary::new(name);
    let results = file.open();
    run_all(std::slice::from_ref(figure), &results, seeds);
    figure.rows("s", &results, seeds).unwrap()
}

#[test]
fn rows_have_mean_spread_paper_and_verdict() {
    let rows = rows(&bound()[0], 3, "rows");
    let [first, second, ratio] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!((first.paper, first.ok, first.n), (Some(75.0), None, 3));
    assert_eq!((first.kind, &first.id), (Purpose::Explains, &None));
    assert!(
        first.low < first.value && first.value < first.high,
        "{first:?}"
    );
    assert_eq!((second.ok, second.kind), (Some(false), Purpose::Reproduces));
    assert_eq!((second.least, second.most), (Some(1_000.0), None));
    assert_eq!(second.id.as_deref(), Some("f/fast"));
    assert_eq!((ratio.ok, ratio.kind), (Some(true), Purpose::Promises));
    assert_eq!((&ratio.x, ratio.n), (&X::None, 3));
    assert_eq!(
        ratio.value,
        Some(second.value.unwrap() / first.value.unwrap())
    );
}

fn odd_seed(run: &Run) -> Result<f64, Gap> {
    let seed = run.number("/seed")?;
    if seed % 2.0 == 1.0 {
        Ok(seed)
    } else {
        Err(Gap::Nothing)
    }
}

/// A seed without a value counts in other rows. Computed rows pair values by seed, not by index.
#[test]
fn rows_made_of_others_pair_them_by_seed() {
    const SEED: Metric = Metric::new("seed", "");
    let mut figure = Figure::new("f", "Seeds");
    let some = figure
        .point(At::new("odd", X::None), SEED, &at(0), odd_seed)
        .handle();
    let all = figure
        .point(At::new("all", X::None), SEED, &at(40), |run| {
            run.number("/seed")
        })
        .handle();
    figure.ratio("odd / all", some, all);
    figure.difference("all - odd", all, some);
    let rows = rows(&figure, 4, "pairs");
    assert_eq!((rows[0].value, rows[0].n), (Some(2.0), 2));
    assert_eq!((rows[1].value, rows[1].n), (Some(2.5), 4));
    for (row, value) in [(&rows[2], 1.0), (&rows[3], 0.0)] {
        let numbers = (row.value, row.low, row.high, row.n);
        assert_eq!(numbers, (Some(value), Some(value), Some(value), 2));
    }
}

#[test]
fn a_quotient_by_zero_is_a_missing_number() {
    let mut figure = Figure::new("f", "Zero");
    let zero = figure
        .known(At::new("zero", X::None), GOODPUT, 0.0)
        .handle();
    let all = figure
        .point(At::new("a", X::None), GOODPUT, &at(0), goodput)
        .handle();
    figure.ratio("all / zero", all, zero);
    let rows = rows(&figure, 2, "zero");
    assert_eq!((rows[2].value, rows[2].n), (None, 0));
}

#[test]
fn a_violation_marks_every_row_made_of_the_run() {
    let file = Temporary::new("violation");
    let results = file.open();
    let figures = bound();
    run_all(&figures, &results, 2);
    // A run with an artificial violation; the real runs have none.
    let run = results.runs(&at(0), 2).unwrap().remove(1).run;
    let mut value = serde_json::to_value(&run).unwrap();
    value["report"]["oracle"]["violations"] = serde_json::json!(["a byte is gone"]);
    let run: Run = serde_json::from_value(value).unwrap();
    let other = Temporary::new("violated");
    let violated = other.open();
    violated.put(&at(0), 2, 0.1, &run).unwrap();
    run_all(&figures, &violated, 2);
    let rows = figures[0].rows("s", &violated, 2).unwrap();
    let marked: Vec<Option<&str>> = rows.iter().map(|row| row.violation.as_deref()).collect();
    let violation = Some("seed 2: a byte is gone");
    assert_eq!(marked, [violation, None, violation]);
    assert_eq!(rows[2].ok, Some(false), "{:?}", rows[2]);
}

#[test]
fn a_name_that_no_run_has_is_an_error() {
    let file = Temporary::new("unknown");
    let results = file.open();
    let wrong: [fn(&Run) -> Reading; 4] = [
        |run| run.flow("bulk", "/goodputs"),
        |run| run.flow("bulks", "/goodput_kbps"),
        |run| run.node_sum("node-7", "/frames_sent"),
        |run| run.number("/simulated"),
    ];
    for read in wrong {
        let mut figure = Figure::new("f", "Wrong");
        figure.point(At::new("a", X::None), GOODPUT, &case(), read);
        run_all(std::slice::from_ref(&figure), &results, 1);
        let error = figure.rows("s", &results, 1).unwrap_err();
        assert!(matches!(error, StudyError::Unknown { .. }), "{error}");
        assert!(
            error.to_string().starts_with("figure f: a  goodput: "),
            "{error}"
        );
    }
}

#[test]
#[should_panic(expected = "f: a, goodput has no row at Number(5.0)")]
fn a_missing_position_of_a_line_panics_in_the_figure() {
    let mut figure = Figure::new("f", "Wrong");
    let line = figure.line("a", GOODPUT, [(0_u32, at(0))], goodput);
    line.at(5_u32);
}

#[test]
#[should_panic(expected = "the row belongs to another figure")]
fn a_handle_of_another_figure_fails_when_the_figure_is_built() {
    let mut one = Figure::new("one", "One");
    let row = one.known(At::new("a", X::None), GOODPUT, 1.0).handle();
    let mut other = Figure::new("other", "Other");
    other.ratio("nothing", row, row);
}

#[test]
#[should_panic(expected = "f: the row of a, goodput, at None is declared twice")]
fn a_row_declared_twice_fails_when_the_figure_is_built() {
    let mut figure = Figure::new("f", "Twice");
    figure.known(At::new("a", X::None), GOODPUT, 1.0);
    figure.known(At::new("a", X::None), GOODPUT, 2.0);
}
