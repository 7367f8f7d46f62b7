//! Compares the list of text ranges beyond RCV.NXT with a set of positions.

use super::ranges::{RANGES, Ranges, TextSpan};
use crate::{Model, hash_of};

/// Number of positions in the window. Twelve positions have room for six separate ranges, more than
/// the list stores.
const WINDOW: u16 = 12;

/// An operation on the list.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A range of text arrives.
    Add(u16, u16),
    /// RCV.NXT advances over this many bytes received in order.
    Absorb(u16),
}

/// The list and the reference.
#[derive(Clone, Debug)]
pub struct World {
    ranges: Ranges,
    /// Whether the text at each position has arrived; position 0 is RCV.NXT.
    arrived: [bool; WINDOW as usize],
    /// The range that changed last.
    latest: Option<TextSpan>,
}

/// The model. The defect lengthens every added range by one byte if it ends at an even position.
#[derive(Default)]
pub struct RangesModel {
    /// Whether the defect is planted.
    pub defect: bool,
}

impl World {
    /// Returns the runs of consecutive arrived positions.
    fn runs(&self) -> Vec<TextSpan> {
        let mut runs: Vec<TextSpan> = Vec::new();
        for (at, _) in (0..WINDOW).zip(self.arrived).filter(|(_, is)| *is) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end = at + 1,
                _ => runs.push(TextSpan {
                    start: at,
                    end: at + 1,
                }),
            }
        }
        runs
    }

    /// Returns the run that contains `position`.
    fn run_at(&self, position: u16) -> Option<TextSpan> {
        let mut runs = self.runs().into_iter();
        runs.find(|run| run.start <= position && position < run.end)
    }

    fn compare(&self) -> Result<(), String> {
        let mut got: Vec<TextSpan> = self.ranges.iter().collect();
        if got.first().copied() != self.latest.or(got.first().copied()) {
            return Err(format!("{got:?} does not start with the latest range"));
        }
        got.sort_by_key(|span| span.start);
        let runs = self.runs();
        if got != runs {
            return Err(format!("the list has {got:?} instead of {runs:?}"));
        }
        for start in 0..WINDOW {
            for end in start + 1..=WINDOW {
                self.compare_span(&runs, TextSpan { start, end })?;
            }
        }
        Ok(())
    }

    fn compare_span(&self, runs: &[TextSpan], span: TextSpan) -> Result<(), String> {
        let touches = |run: &&TextSpan| run.start <= span.end && span.start <= run.end;
        let can_add = runs.len() < RANGES || runs.iter().any(|run| touches(&run));
        if self.ranges.can_add(span) != can_add {
            return Err(format!("can_add({span:?}) is wrong with {runs:?}"));
        }
        let common = |run: &TextSpan| {
            let (start, end) = (run.start.max(span.start), run.end.min(span.end));
            (start < end).then_some(TextSpan { start, end })
        };
        let known = runs.iter().find_map(common);
        if self.ranges.known_part(span) != known {
            return Err(format!("known_part({span:?}) is wrong with {runs:?}"));
        }
        Ok(())
    }
}

impl Model for RangesModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        World {
            ranges: Ranges::default(),
            arrived: [false; WINDOW as usize],
            latest: None,
        }
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions: Vec<_> = (1..=WINDOW).map(Action::Absorb).collect();
        // Text at RCV.NXT is absorbed, so `Add` starts at position 1.
        for start in 1..WINDOW {
            for end in start + 1..=WINDOW {
                if world.ranges.can_add(TextSpan { start, end }) {
                    actions.push(Action::Add(start, end));
                }
            }
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        match action {
            Action::Add(start, end) => {
                let longer = u16::from(self.defect && end % 2 == 0 && end < WINDOW);
                world.ranges.add(TextSpan {
                    start,
                    end: end + longer,
                });
                world.arrived[usize::from(start)..usize::from(end)].fill(true);
                world.latest = world.run_at(start);
            }
            Action::Absorb(next) => {
                let got = world.ranges.absorb(next);
                world.arrived[..usize::from(next)].fill(true);
                let expected = world.runs()[0].end;
                if got != expected {
                    return Err(format!("RCV.NXT advances by {got} instead of {expected}"));
                }
                world.arrived.copy_within(usize::from(expected).., 0);
                world.arrived[usize::from(WINDOW - expected)..].fill(false);
                // The latest text has arrived in order and is in no range, so `compare` does not
                // check which range is first.
                world.latest = None;
            }
        }
        world.compare()
    }

    fn key(&self, world: &World) -> u64 {
        hash_of(&world.ranges.iter().collect::<Vec<_>>())
    }

    fn copy(&self, world: &World) -> Option<World> {
        Some(world.clone())
    }
}
