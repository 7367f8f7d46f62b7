//! Published studies, with the feature `studies`.

use pyo3::prelude::*;
use redpoll_experiments::{jobs, select};
use redpoll_results::table::{Cell, CellType, Column};
use redpoll_studies::{FINGERPRINT, find};

use crate::keep::{Store, conduct_here};
use crate::scenario::{damaged, error};
use crate::table::Table;

/// Raises an error unless a study with this name exists.
#[pyfunction]
pub fn check_study(py: Python<'_>, name: &str) -> PyResult<()> {
    find(name)
        .map(drop)
        .map_err(|problem| no_study(py, &problem))
}

fn no_study(py: Python<'_>, problem: &dyn std::error::Error) -> PyErr {
    error(py, "StudyError", (problem.to_string(), String::new()))
}

/// Runs the named figures of a study, or all if none is named, with `seeds` seeds. Stores the runs
/// in the file at `path`, and returns a row for each number.
#[pyfunction]
#[pyo3(signature = (name, figures, seeds, path, at_once=None))]
pub fn study_rows(
    py: Python<'_>,
    name: &str,
    figures: Vec<String>,
    seeds: u64,
    path: &str,
    at_once: Option<usize>,
) -> PyResult<Table> {
    let unknown = |problem: &dyn std::error::Error| no_study(py, problem);
    let study = find(name).map_err(|problem| unknown(&problem))?;
    let all = study.load().map_err(|problem| unknown(&problem))?;
    let chosen = select(all, &figures).map_err(|problem| unknown(&problem))?;
    let store = Store {
        path,
        fingerprint: FINGERPRINT,
    };
    let results = store.open(py)?;
    let todo = jobs(&chosen, seeds, &results).map_err(|problem| damaged(py, &problem))?;
    conduct_here(py, &todo, at_once, &store, None)?;
    let mut rows = Vec::new();
    for figure in &chosen {
        let of_figure = figure.rows(study.name, &results, seeds);
        rows.extend(of_figure.map_err(|problem| unknown(&problem))?);
    }
    let text = |name| Column::new(name, CellType::Text);
    // The unit of the numbers differs from row to row, so the column `unit` names it.
    let number = |name| Column {
        unit: Some("in the column unit"),
        ..Column::new(name, CellType::Number)
    };
    let columns = [
        text("figure"),
        text("series"),
        text("x"),
        text("metric"),
        number("value"),
        text("unit"),
        number("low"),
        number("high"),
        Column::new("n", CellType::Whole),
        number("paper"),
        number("least"),
        number("most"),
        Column::new("ok", CellType::Truth),
        text("note"),
    ];
    let cells = rows.iter().map(|row| {
        let text = |text: &str| Some(Cell::Text(text.to_owned()));
        let number = |number: Option<f64>| number.map(Cell::Number);
        vec![
            text(row.figure),
            text(&row.series),
            text(&row.x.to_string()),
            text(row.metric),
            number(row.value),
            text(row.unit),
            number(row.low),
            number(row.high),
            i64::try_from(row.n).ok().map(Cell::Whole),
            number(row.paper),
            number(row.least),
            number(row.most),
            row.ok.map(Cell::Truth),
            text(&row.note),
        ]
    });
    Table::new(&columns, &cells.collect::<Vec<_>>())
}
