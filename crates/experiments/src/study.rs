//! A study: its figures, its criteria, and the texts of its page.

use std::path::PathBuf;

use redpoll_sim::{BuildError, ScenarioError};

use crate::criteria::judgements;
use crate::error::{CriteriaError, StudyError};
use crate::figure::Figure;

#[derive(Debug)]
pub struct Study {
    /// Short name on the command line.
    pub name: &'static str,
    /// Authors, title, place of publication and date.
    pub citation: &'static str,
    /// Definitions of the terms in its figures, such as the names of series.
    pub terms: &'static [(&'static str, &'static str)],
    /// Colour of each series, by its name before the first comma.
    pub palette: &'static [(&'static str, Hue)],
    pub criteria: &'static str,
    /// Figures and tables of the study, in the order of the page.
    pub figures: fn() -> Vec<Figure>,
    /// Figure whose runs use measured links, if the study has one. Criteria do not judge this
    /// figure, because the user chooses the links.
    pub over_links: Option<OverLinks>,
}

pub type OverLinks = fn(&MeasuredLinks) -> Result<Figure, LinksError>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasuredLinks {
    /// Path of the file, which is in K7 format.
    pub file: PathBuf,
    pub channel: u8,
}

#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// The study has no figure whose runs use measured links.
    #[error("the study {0} has no figure whose runs use measured links")]
    NotTaken(&'static str),
    /// The path of the file is not UTF-8, which a scenario requires.
    #[error("{}: its path is not UTF-8; allowed: a path in UTF-8", .0.display())]
    Path(PathBuf),
    /// The file cannot be read, or does not contain measured links.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The links do not form a usable mesh.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No two nodes of the file can reach each other.
    #[error(
        "{}: no two nodes reach each other over channel {channel}; choose another channel",
        file.display()
    )]
    Alone { file: PathBuf, channel: u8 },
}

/// A colour of the page; colour-blind readers can distinguish all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hue {
    Blue,
    Vermilion,
    Green,
    Purple,
    Orange,
    Sky,
    Grey,
}

impl Study {
    /// Returns the figures with their criteria. Fails if the criteria are invalid, a criterion has
    /// no row, or a judged row has no criterion.
    pub fn load(&self) -> Result<Vec<Figure>, StudyError> {
        let mut figures = (self.figures)();
        bind(&mut figures, self.criteria)?;
        Ok(figures)
    }

    /// Returns the figure over `links`. Fails if the study has no such figure, or the links do not
    /// form a mesh.
    pub fn over(&self, links: &MeasuredLinks) -> Result<Figure, LinksError> {
        let figure = self.over_links.ok_or(LinksError::NotTaken(self.name))?;
        figure(links)
    }
}

/// Assigns each judged row of `figures` its entry of the `criteria.toml` in `text`. Fails if `text`
/// is invalid, has an entry that no figure declares, or lacks an entry for a judged row.
pub fn bind(figures: &mut [Figure], text: &str) -> Result<(), CriteriaError> {
    let mut judgements = judgements(text)?;
    for figure in figures {
        let name = figure.name;
        for row in &mut figure.rows {
            let Some(own) = &row.id else { continue };
            let id = format!("{name}/{own}");
            // Removing the entry makes a second row of the same name fail.
            let judgement = judgements.remove(&id);
            row.judgement = Some(judgement.ok_or(CriteriaError::Missing(id))?);
        }
    }
    match judgements.into_keys().next() {
        Some(id) => Err(CriteriaError::Unused(id)),
        None => Ok(()),
    }
}
