//! Changes that a viewer makes to the air during a run.

use redpoll_base::Instant;

use super::{Air, Event};
use crate::fault::{FrameKind, Rule, Spec};
use crate::kernel::{Queue, Seed};
use crate::medium::{Interferer, Site};

impl Air {
    /// Switches off the radio of `node` until [`switch_on`](Self::switch_on).
    pub fn switch_off(&mut self, now: Instant, node: usize) {
        self.faults.add(Spec {
            from: now,
            until: Instant::FAR_FUTURE,
            rule: Rule::NodeOff { node },
        });
        self.on_switch(now, node);
    }

    /// Switches on the radio of `node`, whatever switched it off. Returns false if it was on.
    pub fn switch_on(&mut self, now: Instant, node: usize) -> bool {
        let rules = [Rule::NodeOff { node }, Rule::NodeRestart { node }];
        let was_off = self.faults.end(now, |rule| rules.contains(rule));
        self.on_switch(now, node);
        was_off
    }

    /// Sets the share of the frames between two nodes that is lost; `None` means any node.
    pub fn set_loss(
        &mut self,
        now: Instant,
        (from, to): (Option<usize>, Option<usize>),
        share: f64,
    ) {
        let pair = (from, to);
        self.faults.end(
            now,
            |rule| matches!(rule, Rule::DropFrames { from, to, .. } if (*from, *to) == pair),
        );
        if share > 0.0 {
            self.faults.add(Spec {
                from: now,
                until: Instant::FAR_FUTURE,
                rule: Rule::DropFrames {
                    from,
                    to,
                    kind: FrameKind::Any,
                    probability: share,
                },
            });
        }
    }

    /// Moves node `moved` to its place in `site`. Returns false, without a change, if too many
    /// nodes were moved while the present transmissions were on the air.
    pub fn rearrange(&mut self, now: Instant, site: &Site<'_>, moved: usize, seed: Seed) -> bool {
        let layouts = self.flights.under_way().map(|flight| flight.layout);
        let oldest = layouts.min().unwrap_or(self.medium.layout());
        self.medium.forget(oldest);
        let may = self.medium.has_room();
        if may {
            self.medium.rearrange(now, site, moved, seed);
        }
        may
    }

    pub fn add_interferer<E: From<Event>>(
        &mut self,
        now: Instant,
        site: &Site<'_>,
        spec: Interferer,
        seed: Seed,
        queue: &mut Queue<E>,
    ) -> usize {
        let (index, first) = self.medium.add_interferer(now, site, spec, seed);
        let interferer = index as u32;
        queue.schedule(first, Event::Burst { interferer }.into());
        index
    }

    pub fn silence(&mut self, interferer: usize) -> bool {
        self.medium.silence(interferer)
    }
}
