//! Changes that a viewer makes to the medium during a run: positions of nodes, and interferers.
//!
//! A transmission ends on the same links on which it began. When a node is moved, the transmissions
//! in progress keep the old links, which have a number, the *layout*.

use redpoll_base::Instant;

use super::links::{self, Links};
use super::{BurstSequence, Interferer, LinkChanges, Medium, Site};
use crate::kernel::Seed;

/// Maximum number of old layouts that are kept for transmissions in progress.
const LAYOUTS: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    layout: u32,
    links: Vec<(u32, Links)>,
}

impl Medium {
    pub fn layout(&self) -> u32 {
        self.retired.layout
    }

    pub fn links_of(&self, layout: u32) -> &Links {
        let retired = self.retired.links.iter();
        let found = retired.clone().find(|(of, _)| *of == layout);
        found.map_or(&self.links, |(_, links)| links)
    }

    pub fn has_room(&self) -> bool {
        self.retired.links.len() < LAYOUTS
    }

    /// Drops the layouts before `oldest`, which have no transmissions in progress.
    pub fn forget(&mut self, oldest: u32) {
        self.retired.links.retain(|(layout, _)| *layout >= oldest);
    }

    pub fn rearrange(&mut self, now: Instant, site: &Site<'_>, moved: usize, seed: Seed) {
        let before = std::mem::replace(&mut self.links, Links::new(site, seed));
        self.retired.links.push((self.retired.layout, before));
        self.retired.layout += 1;
        self.change = LinkChanges::new(site, &self.links, seed);
        for index in 0..self.interferers.len() {
            let reached = reached(site, self.interferers[index].spec(), index, seed);
            let power = |all: &[(u32, f64)]| {
                let found = all.iter().find(|(node, _)| *node as usize == moved);
                found.map(|(_, power_mw)| *power_mw)
            };
            // The power of a burst in progress changes at the moved node.
            if self.interferers[index].is_on() {
                if let Some(power_mw) = power(&self.reached[index]) {
                    self.ears.interfere(now, moved, power_mw, false);
                }
                if let Some(power_mw) = power(&reached) {
                    self.ears.interfere(now, moved, power_mw, true);
                }
            }
            self.reached[index] = reached;
        }
    }

    /// Adds an interferer. Returns its number, and the time of its first burst after `now`.
    pub fn add_interferer(
        &mut self,
        now: Instant,
        site: &Site<'_>,
        spec: Interferer,
        seed: Seed,
    ) -> (usize, Instant) {
        let index = self.interferers.len();
        self.reached.push(reached(site, &spec, index, seed));
        let mut course = BurstSequence::new(spec, seed.node_stream("interferer", index));
        let first = course.first_after(now);
        self.interferers.push(course);
        (index, first)
    }

    /// Silences an interferer. Returns false if it does not exist.
    pub fn silence(&mut self, interferer: usize) -> bool {
        let course = self.interferers.get_mut(interferer);
        course.map(BurstSequence::silence).is_some()
    }
}

fn reached(site: &Site<'_>, spec: &Interferer, index: usize, seed: Seed) -> Vec<(u32, f64)> {
    let place = (site.positions_m.len() + index, links::shadowing(seed));
    links::reached(site, spec, place)
}
