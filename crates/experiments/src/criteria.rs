//! What each judged row of a study is for, by which band it is judged and why: the
//! study's `criteria.toml`, held against the rows that its figures declare.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::CriteriaError;

/// What a row is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is measured in the paper and here, and held to be the same within a band.
    /// Such rows alone count in a study's headline.
    Reproduces,
    /// A parameter was chosen so that it comes out.
    Calibrates,
    /// The project promises it; the paper does not have it.
    Promises,
    /// It shows what others come from, and is not judged.
    #[default]
    Explains,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [
        Kind::Reproduces,
        Kind::Calibrates,
        Kind::Promises,
        Kind::Explains,
    ];

    /// Its word in `criteria.toml`.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Reproduces => "reproduces",
            Kind::Calibrates => "calibrates",
            Kind::Promises => "promises",
            Kind::Explains => "explains",
        }
    }
}

/// From the least to the most that a number may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    /// No less than this.
    pub least: Option<f64>,
    /// No more than this.
    pub most: Option<f64>,
}

impl Band {
    /// Whether `value` lies in it.
    pub fn holds(self, value: f64) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => Ok(()),
        }
    }
}

/// What `criteria.toml` says of a row.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The row: its figure's name, a slash, and its own.
    pub id: String,
    /// What it is for.
    pub kind: Kind,
    least: Option<f64>,
    most: Option<f64>,
    /// The paper's sentence, in short.
    pub says: Option<String>,
    /// Where that stands.
    pub section: Option<String>,
    /// Why this band, or what the row explains.
    pub why: String,
}

impl Judgement {
    /// The band; `None` if the row is not judged.
    pub fn band(&self) -> Option<Band> {
        let band = Band {
            least: self.least,
            most: self.most,
        };
        (band.least.is_some() || band.most.is_some()).then_some(band)
    }

    /// What is wrong with it by itself.
    fn fault(&self) -> Option<&'static str> {
        let is_judged = self.band().is_some();
        let has_source = self.says.is_some() && self.section.is_some();
        let is_empty = self.least.zip(self.most).is_some_and(|(a, b)| a > b);
        match self.kind {
            _ if is_empty => Some("the lower bound is above the upper one"),
            _ if self.why.trim().is_empty() => Some("`why` is empty"),
            Kind::Explains if is_judged => Some("a row that explains has no band"),
            Kind::Explains => None,
            _ if !is_judged => Some("the lower bound, the upper bound or both are missing"),
            Kind::Reproduces if !has_source => Some("`says` and `section` are missing"),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    row: Vec<Judgement>,
}

/// Reads a `criteria.toml`: each judgement by the name of its row.
///
/// # Errors
///
/// If `text` is not valid, or has a row twice.
pub(crate) fn judgements(text: &str) -> Result<BTreeMap<String, Judgement>, CriteriaError> {
    let mut judgements = BTreeMap::new();
    for judgement in toml::from_str::<File>(text)?.row {
        let id = judgement.id.clone();
        if let Some(fault) = judgement.fault() {
            return Err(CriteriaError::Fault { id, fault });
        }
        if judgements.insert(id.clone(), judgement).is_some() {
            return Err(CriteriaError::Twice(id));
        }
    }
    Ok(judgements)
}
