//! Studies and figures by name.

use crate::{Figure, STUDIES, Study};

/// Nothing has that name.
#[derive(Debug, thiserror::Error)]
#[error("unknown {what} {name:?}; allowed: {allowed}")]
pub struct Unknown {
    what: &'static str,
    name: String,
    allowed: String,
}

/// The study called `name`.
///
/// # Errors
///
/// That there is none, with the names of all.
pub fn find(name: &str) -> Result<&'static Study, Unknown> {
    STUDIES
        .iter()
        .find(|study| study.name == name)
        .ok_or_else(|| Unknown {
            what: "study",
            name: name.to_owned(),
            allowed: list(STUDIES.iter().map(|study| study.name)),
        })
}

/// The figures of `study` called `names`, or all if there are no names.
///
/// # Errors
///
/// Which name no figure has, with the names of all.
pub fn select(study: &Study, names: &[String]) -> Result<Vec<Figure>, Unknown> {
    let mut figures = (study.figures)();
    for name in names {
        if !figures.iter().any(|figure| figure.name == name) {
            return Err(Unknown {
                what: "figure",
                name: name.clone(),
                allowed: list(figures.iter().map(|figure| figure.name)),
            });
        }
    }
    figures.retain(|figure| names.is_empty() || names.iter().any(|name| name == figure.name));
    Ok(figures)
}

fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
