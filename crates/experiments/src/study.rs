//! A study: its figures, its criteria, and what its page says of it.

use std::path::PathBuf;

use redpoll_sim::{BuildError, ScenarioError};

use crate::criteria::judgements;
use crate::error::{CriteriaError, StudyError};
use crate::figure::Figure;

/// A published study.
#[derive(Debug)]
pub struct Study {
    /// Its short name, as on the command line.
    pub name: &'static str,
    /// Who, what, where and when.
    pub citation: &'static str,
    /// What the words mean that its figures use, such as the names of series.
    pub terms: &'static [(&'static str, &'static str)],
    /// The colour of each series, by the beginning of its name up to a comma.
    pub palette: &'static [(&'static str, Hue)],
    /// The text of its `criteria.toml`.
    pub criteria: &'static str,
    /// Its figures and tables, in the order in which they are told.
    pub figures: fn() -> Vec<Figure>,
    /// Its figure over links that were measured somewhere, if it has one. No criterion
    /// is about it: whose links they are is the user's choice.
    pub over_links: Option<OverLinks>,
}

/// Makes a study's figure over measured links.
pub type OverLinks = fn(&MeasuredLinks) -> Result<Figure, LinksError>;

/// A file of measured links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasuredLinks {
    /// The file, in the K7 format.
    pub file: PathBuf,
    /// The channel whose links count.
    pub channel: u8,
}

/// Measured links that no figure can be made over.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// The study has no such figure.
    #[error("the study {0} has no figure over measured links")]
    NotTaken(&'static str),
    /// The path of the file is not UTF-8, which scenarios are written in.
    #[error("{}: its path is not UTF-8; allowed: a path in UTF-8", .0.display())]
    Path(PathBuf),
    /// The file cannot be read, or is none of measured links.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// No mesh can be made of it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Fewer than two nodes of the file can reach each other.
    #[error("{}: no node reaches another one over channel {channel}", file.display())]
    Alone {
        /// The file.
        file: PathBuf,
        /// The channel.
        channel: u8,
    },
}

/// A colour of the page; those who do not see all colours tell them apart, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
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
    /// Its figures with their criteria.
    ///
    /// # Errors
    ///
    /// If a criterion has no row, a judged row no criterion, or the criteria are not
    /// valid.
    pub fn load(&self) -> Result<Vec<Figure>, StudyError> {
        let mut figures = (self.figures)();
        bind(&mut figures, self.criteria)?;
        Ok(figures)
    }

    /// Its figure over `links`.
    ///
    /// # Errors
    ///
    /// If it has none, or no mesh can be made of the links.
    pub fn over(&self, links: &MeasuredLinks) -> Result<Figure, LinksError> {
        let figure = self.over_links.ok_or(LinksError::NotTaken(self.name))?;
        figure(links)
    }
}

/// Gives each judged row of `figures` its judgement of the `criteria.toml` in `text`.
///
/// # Errors
///
/// If `text` is not valid, has a row that no figure declares, or lacks one.
pub fn bind(figures: &mut [Figure], text: &str) -> Result<(), CriteriaError> {
    let mut judgements = judgements(text)?;
    for figure in figures {
        let name = figure.name;
        for row in &mut figure.rows {
            let Some(own) = &row.id else { continue };
            let id = format!("{name}/{own}");
            // Removed, so that a second row of that name finds nothing.
            let judgement = judgements.remove(&id);
            row.judgement = Some(judgement.ok_or(CriteriaError::Missing(id))?);
        }
    }
    match judgements.into_keys().next() {
        Some(id) => Err(CriteriaError::Unused(id)),
        None => Ok(()),
    }
}
