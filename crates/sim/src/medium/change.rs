//! What a viewer changes while a run goes on: where a node stands, and who else is on the
//! air.
//!
//! What is on the air when a node is moved ends over the links that it began over. So these
//! are kept until it has, under the number of the *layout* that they belong to.

use redpoll_base::Instant;

use super::links::{self, Links};
use super::{Change, Course, Interferer, Medium, Site};
use crate::kernel::Seed;

/// So many layouts may have frames on the air.
const LAYOUTS: usize = 16;

/// Links of earlier layouts.
#[derive(Clone, Debug, Default)]
pub(super) struct Retired {
    /// The number of the present layout.
    layout: u32,
    links: Vec<(u32, Links)>,
}

impl Medium {
    /// The number of the present layout.
    pub fn layout(&self) -> u32 {
        self.retired.layout
    }

    /// The links of a layout that has frames on the air.
    pub fn links_of(&self, layout: u32) -> &Links {
        let retired = self.retired.links.iter();
        let found = retired.clone().find(|(of, _)| *of == layout);
        found.map_or(&self.links, |(_, links)| links)
    }

    /// Whether a node can be moved now: not too many layouts have frames on the air.
    pub fn has_room(&self) -> bool {
        self.retired.links.len() < LAYOUTS
    }

    /// Layouts before `oldest` have no frames on the air any more.
    pub fn forget(&mut self, oldest: u32) {
        self.retired.links.retain(|(layout, _)| *layout >= oldest);
    }

    /// Node `moved` stands elsewhere, as `site` says.
    pub fn rearrange(&mut self, now: Instant, site: &Site<'_>, moved: usize, seed: Seed) {
        let before = std::mem::replace(&mut self.links, Links::new(site, seed));
        self.retired.links.push((self.retired.layout, before));
        self.retired.layout += 1;
        self.change = Change::new(site, &self.links, seed);
        for index in 0..self.interferers.len() {
            let reached = reached(site, self.interferers[index].spec(), index, seed);
            let power = |all: &[(u32, f64)]| {
                let found = all.iter().find(|(node, _)| *node as usize == moved);
                found.map(|(_, power_mw)| *power_mw)
            };
            // A burst that is on the air goes on at the new place, and is over at the old one.
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

    /// One more interferer, as `site` says, from now on; its number, and when its first
    /// burst begins.
    pub fn add_interferer(
        &mut self,
        now: Instant,
        site: &Site<'_>,
        spec: Interferer,
        seed: Seed,
    ) -> (usize, Instant) {
        let index = self.interferers.len();
        self.reached.push(reached(site, &spec, index, seed));
        let mut course = Course::new(spec, seed.node_stream("interferer", index));
        let first = course.first_after(now);
        self.interferers.push(course);
        (index, first)
    }

    /// An interferer has no more bursts. `false` if there is no such one.
    pub fn silence(&mut self, interferer: usize) -> bool {
        let course = self.interferers.get_mut(interferer);
        course.map(Course::silence).is_some()
    }
}

fn reached(site: &Site<'_>, spec: &Interferer, index: usize, seed: Seed) -> Vec<(u32, f64)> {
    let place = (site.positions_m.len() + index, links::shadowing(seed));
    links::reached(site, spec, place)
}
