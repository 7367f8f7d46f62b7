//! Pictures of results and sweeps as SVG, the same as those of `redpoll plot`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll_results::picture::{Fit, Picture, Source, pictures_of, self_contained};
use redpoll_results::report::Report;

use crate::table::Table;

/// The name of a picture, its omitted parts, and its SVG.
pub type Drawn = (&'static str, String, String);

pub fn drawn(pictures: Vec<Picture>) -> Vec<Drawn> {
    let one = |it: Picture| (it.name, it.note, self_contained(&it.svg));
    pictures.into_iter().map(one).collect()
}

/// Returns the pictures of `report`, which is JSON text, and of `series` if it is given. If `of` is
/// not empty, the pictures show only the flows and nodes with these names.
#[pyfunction]
#[pyo3(signature = (report, series=None, of=Vec::new()))]
pub fn report_pictures(
    report: &str,
    series: Option<&Table>,
    of: Vec<String>,
) -> PyResult<Vec<Drawn>> {
    let wrong = |text: String| PyValueError::new_err(text);
    let value = serde_json::from_str(report).map_err(|error| wrong(error.to_string()))?;
    let report = Report::of(value).ok_or_else(|| wrong("not a report".to_owned()))?;
    let rows = series.map(Table::rows);
    let series = rows.as_deref().map(Source::Rows);
    let pictures = pictures_of(Some(&report), series, &of, Fit::Page);
    let pictures = pictures.map_err(|problem| wrong(problem.to_string()))?;
    Ok(drawn(pictures))
}
