//! Fields of a capture file that contradict its format. The reader accepts such frames and reports
//! the fields at the end.

use std::collections::BTreeMap;

/// Maximum number of kinds of odd fields counted separately; all other kinds are counted together.
const KINDS_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Odd {
    pub what: String,
    pub count: u64,
    /// Number of the first frame with this odd field, or of the first frame after the field.
    pub first: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Odds {
    kinds: BTreeMap<String, (u64, u64)>,
}

impl Odds {
    pub(crate) fn add(&mut self, what: &str, frame: u64) {
        let what = match self.kinds.len() < KINDS_MAX || self.kinds.contains_key(what) {
            true => what,
            false => "other kinds of unusual fields",
        };
        if let Some((count, _)) = self.kinds.get_mut(what) {
            *count += 1;
            return;
        }
        self.kinds.insert(what.to_owned(), (1, frame));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Odd> + '_ {
        self.kinds.iter().map(|(what, (count, first))| Odd {
            what: what.clone(),
            count: *count,
            first: *first,
        })
    }
}
