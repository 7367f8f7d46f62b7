//! Plain English: finds unclear turns of phrase, and fails if their number rises.
//!
//! The file `xtask/prose.toml` limits the number of blocks with a finding in each place: comments,
//! documents and texts of the interface.

mod blocks;
mod changes;
mod places;
mod tells;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blocks::Block;
use changes::Changes;
use places::{COMMENTS, DOCUMENTS, INTERFACE};

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

const RATCHET: &str = "xtask/prose.toml";
const HEAD: &str = "# Limits of each place: number of blocks with an unclear turn of phrase. `cargo xtask prose --accept` lowers the limits.\n";
const PLACES: [&str; 3] = [DOCUMENTS, INTERFACE, COMMENTS];

type Counts = BTreeMap<String, usize>;

/// Runs `cargo xtask prose` with `options`; `None` if they are wrong.
pub fn command(workspace: &Workspace, options: &[&str]) -> Option<Outcome> {
    let judged = || Judged::read(workspace);
    Some(match options {
        [] => run(workspace),
        ["--accept"] => judged().and_then(|it| it.accept(workspace)),
        ["--list"] => judged().map(|it| it.list(&PLACES)),
        ["--list", place] if PLACES.contains(place) => judged().map(|it| it.list(&[place])),
        ["--sample", count] => {
            let count = count.parse().ok()?;
            judged().map(|it| it.sample(count))
        }
        _ => return None,
    })
}

/// Fails if the comments, the documents or the texts of the interface have more blocks with a
/// finding than [`RATCHET`] allows.
pub fn run(workspace: &Workspace) -> Outcome {
    let judged = Judged::read(workspace)?;
    let (now, allowed) = (judged.counts(), ratchet(workspace)?);
    let mut findings = risen(&now, &allowed);
    if !findings.is_empty() {
        let changes = Changes::since(workspace, RATCHET);
        let new = judged
            .blocks
            .iter()
            .filter(|it| changes.meet(&it.file, &it.block));
        findings.extend(new.flat_map(Entry::described));
        findings.push("list every finding: cargo xtask prose --list PLACE".to_owned());
    }
    Failure::unless_empty(
        "prose: write plain technical English, see CONTRIBUTING.md; the blocks with an \
         unclear turn of phrase that were changed after the last commit that changed \
         xtask/prose.toml:",
        findings,
    )?;
    for (place, count) in &now {
        let all = judged.blocks.iter().filter(|it| it.place == place).count();
        println!(
            "prose: {place}: {count} of {all} blocks have an unclear turn of phrase, within the limit"
        );
    }
    if now != allowed {
        println!(
            "prose: a place has fewer blocks with an unclear turn of phrase than its limit; lower \
             the limit with `cargo xtask prose --accept`"
        );
    }
    Ok(())
}

/// A block with its findings. Each finding has the name of a pattern, the pattern's alternative,
/// and the words that match.
struct Entry {
    place: &'static str,
    file: PathBuf,
    block: Block,
    tells: Vec<(&'static str, &'static str, String)>,
}

impl Entry {
    fn described(&self) -> Vec<String> {
        let at = format!("{}:{}", self.file.display(), self.block.lines.0);
        let line = |(name, instead, words): &(_, _, String)| {
            format!("{at}: \"{words}\" ({name}: write {instead})")
        };
        self.tells.iter().map(line).collect()
    }
}

/// All blocks, with and without findings.
struct Judged {
    blocks: Vec<Entry>,
}

impl Judged {
    fn read(workspace: &Workspace) -> Result<Judged, Failure> {
        let tells = tells::all();
        let mut blocks = Vec::new();
        places::read(workspace, &mut |place, file: &Path, found| {
            blocks.extend(found.into_iter().map(|block| {
                let words = tells::words(&block.text);
                let found = tells
                    .iter()
                    .filter_map(|it| Some((it.name, it.instead, it.find(&words)?)));
                let (tells, file) = (found.collect(), file.to_path_buf());
                Entry {
                    place,
                    file,
                    block,
                    tells,
                }
            }));
        })?;
        Ok(Judged { blocks })
    }

    fn counts(&self) -> Counts {
        let mut counts: Counts = PLACES.map(|place| (place.to_owned(), 0)).into();
        for entry in self.blocks.iter().filter(|it| !it.tells.is_empty()) {
            *counts.entry(entry.place.to_owned()).or_default() += 1;
        }
        counts
    }

    /// Writes the present numbers of blocks with a finding into [`RATCHET`], unless one has risen.
    fn accept(&self, workspace: &Workspace) -> Outcome {
        let (now, path) = (self.counts(), workspace.root.join(RATCHET));
        // Before the first run, the file with the limits does not exist.
        let risen = if path.exists() {
            risen(&now, &ratchet(workspace)?)
        } else {
            Vec::new()
        };
        Failure::unless_empty(
            "prose: a limit can only be lowered; mend these blocks",
            risen,
        )?;
        let lines = now
            .iter()
            .map(|(place, count)| format!("{place} = {count}\n"));
        let text = HEAD.to_owned() + &lines.collect::<String>();
        std::fs::write(&path, text)
            .map_err(|e| Failure::new(format!("cannot write {RATCHET}: {e}")))
    }

    fn list(&self, places: &[&str]) {
        let listed = self.blocks.iter().filter(|it| places.contains(&it.place));
        listed
            .flat_map(Entry::described)
            .for_each(|line| println!("{line}"));
    }

    /// Prints random blocks, the same ones each time, to evaluate the patterns.
    fn sample(&self, count: usize) {
        let mut state: u64 = 2;
        for _ in 0..count {
            // The constants of Knuth's MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            let Some(entry) = self.blocks.get((state >> 33) as usize % self.blocks.len()) else {
                return;
            };
            println!(
                "{}:{}: {}",
                entry.file.display(),
                entry.block.lines.0,
                entry.block.text
            );
            let tells = entry.tells.iter();
            tells.for_each(|(name, _, words)| println!("  ({name}: \"{words}\")"));
        }
    }
}

/// Returns the places (comments, documents, interface) with more findings than allowed.
fn risen(now: &Counts, allowed: &Counts) -> Vec<String> {
    let limit = |place: &String| allowed.get(place).copied().unwrap_or(0);
    let over = now.iter().filter(|(place, count)| **count > limit(place));
    over.map(|(place, count)| format!("{place}: {count} blocks, the limit is {}", limit(place)))
        .collect()
}

fn ratchet(workspace: &Workspace) -> Result<Counts, Failure> {
    let text = source::read(&workspace.root.join(RATCHET))?;
    toml::from_str(&text).map_err(|e| Failure::new(format!("{RATCHET}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_is_found_and_a_fall_is_not() {
        let counts = |documents, comments| {
            let places = [("documents", documents), ("comments", comments)];
            Counts::from(places.map(|(place, count)| (place.to_owned(), count)))
        };
        assert_eq!(risen(&counts(3, 2), &counts(3, 5)), [""; 0]);
        let found = risen(&counts(4, 2), &counts(3, 2));
        assert_eq!(found, ["documents: 4 blocks, the limit is 3"]);
    }
}
