//! Criteria: the purpose of each judged row, its band and the reason for the band. They come from a
//! study's `criteria.toml`, whose rows must match those that the study's figures declare.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::CriteriaError;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The paper and this study both measure the number, and the band limits their difference. Only
    /// such rows count as reproductions at the top of a study's page.
    Reproduces,
    /// A parameter was chosen so that this row matches.
    Calibrates,
    /// A target of the project; the paper has no number for it.
    Promises,
    /// Explains other rows, and is not judged.
    #[default]
    Explains,
}

impl Purpose {
    pub const ALL: [Purpose; 4] = [
        Purpose::Reproduces,
        Purpose::Calibrates,
        Purpose::Promises,
        Purpose::Explains,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Purpose::Reproduces => "reproduces",
            Purpose::Calibrates => "calibrates",
            Purpose::Promises => "promises",
            Purpose::Explains => "explains",
        }
    }
}

/// The allowed range of a number, both ends included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    pub least: Option<f64>,
    pub most: Option<f64>,
}

impl Band {
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

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The row, as the figure's name, a slash, and the row's name.
    pub id: String,
    pub kind: Purpose,
    least: Option<f64>,
    most: Option<f64>,
    /// The paper's statement, shortened.
    pub says: Option<String>,
    /// The section of the paper that contains the statement `says`.
    pub section: Option<String>,
    /// The reason for the band or, for a row that explains other rows, the explanation.
    pub why: String,
}

impl Judgement {
    /// Returns the band; `None` for a row without bounds, which is not judged.
    pub fn band(&self) -> Option<Band> {
        let band = Band {
            least: self.least,
            most: self.most,
        };
        (band.least.is_some() || band.most.is_some()).then_some(band)
    }

    /// Returns the first inconsistency within the entry.
    fn fault(&self) -> Option<&'static str> {
        let is_judged = self.band().is_some();
        let has_source = self.says.is_some() && self.section.is_some();
        let is_empty = self.least.zip(self.most).is_some_and(|(a, b)| a > b);
        match self.kind {
            _ if is_empty => Some("the lower bound is above the upper bound"),
            _ if self.why.trim().is_empty() => {
                Some("`why` is empty; it must state the reason for the band")
            }
            Purpose::Explains if is_judged => Some(
                "a row of the kind `explains` must not have a \
                 band",
            ),
            Purpose::Explains => None,
            _ if !is_judged => Some("both bounds are missing; a judged row needs at least one"),
            Purpose::Reproduces if !has_source => {
                Some("`says` or `section` is missing; a row of the kind `reproduces` needs both")
            }
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

/// Parses a `criteria.toml` into judgements, keyed by row. Fails if `text` is invalid or contains a
/// row twice.
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
