//! How radio waves travel: who hears whom, how loud, and what gets through.
//!
//! Three kinds: the unit disk of Cooja, log-distance path loss with SINR and
//! capture, and links listed by hand. All links are worked out once, with a
//! grid, so that the cost of a transmission grows with its neighbours and not
//! with the network. Waves travel without delay.

mod config;
mod ear;
mod grid;
mod interferer;
mod links;
pub mod oqpsk;
#[cfg(test)]
mod tests;

pub use config::{Config, ListedLink, Sinr, UnitDisk};
pub use ear::{Reception, Start, TxId};
pub use interferer::{Course, Interferer, Lengths};
pub use links::{Link, Links};

use ear::{Ear, SinrRules};
use redpoll_base::{Instant, Rng};

use crate::fault::chance;
use crate::kernel::Seed;

/// The air between the nodes of a network.
#[derive(Clone, Debug)]
pub struct Medium {
    links: Links,
    ears: Vec<Ear>,
    /// `None` for unit disk and listed links.
    sinr: Option<SinrRules>,
    interferers: Vec<Course>,
    /// The nodes that each of them reaches, and with how much power.
    reached: Vec<Vec<(u32, f64)>>,
    success_ratio_tx: f64,
    rng: Rng,
}

impl Medium {
    /// The medium between nodes at `positions_m` and interferers; listed links,
    /// where given, replace what follows from the positions.
    pub fn new(
        config: &Config,
        positions_m: &[(f64, f64)],
        listed: Option<&[ListedLink]>,
        interferers: &[Interferer],
        seed: Seed,
    ) -> Self {
        let shadowing = seed.stream("shadowing").next_u64();
        let (sinr, success_ratio_tx) = match config {
            Config::UnitDisk(disk) => (None, disk.success_ratio_tx),
            Config::Sinr(_) if listed.is_some() => (None, 1.0),
            Config::Sinr(sinr) => (Some(SinrRules::new(sinr)), 1.0),
        };
        Medium {
            links: Links::new(config, positions_m, listed, shadowing),
            ears: vec![Ear::default(); positions_m.len()],
            sinr,
            interferers: courses(interferers, seed),
            reached: (interferers.iter().enumerate())
                .map(|(index, interferer)| {
                    let place = (positions_m.len() + index, shadowing);
                    links::reached(config, positions_m, listed.is_some(), interferer, place)
                })
                .collect(),
            success_ratio_tx,
            rng: seed.stream("medium"),
        }
    }

    /// All links.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Bytes that the links of `node` and what it hears take.
    pub fn memory_bytes(&self, node: usize) -> usize {
        size_of::<Ear>() + size_of_val(self.links.of(node))
    }

    /// Whether anyone hears the transmission that begins now; to be asked once
    /// for each. If not, it is not on the air at all.
    pub fn is_heard(&mut self) -> bool {
        chance(&mut self.rng, self.success_ratio_tx)
    }

    /// Transmission `tx` begins to arrive over `link`; `ready` says whether
    /// the receiver's radio could follow it.
    pub fn start(&mut self, now: Instant, tx: TxId, link: &Link, ready: bool) -> Start {
        let ear = &mut self.ears[link.to as usize];
        match &self.sinr {
            None => ear.start_disk(now, tx, link, ready, &mut self.rng),
            Some(rules) => ear.start_sinr(now, tx, link, ready, rules),
        }
    }

    /// Transmission `tx` no longer arrives over `link`. Says how the reception
    /// went if the receiver followed it.
    pub fn end(&mut self, now: Instant, tx: TxId, link: &Link) -> Option<Reception> {
        let ear = &mut self.ears[link.to as usize];
        match &self.sinr {
            None => ear.end_disk(tx, link),
            Some(rules) => ear.end_sinr(now, tx, link, rules, &mut self.rng),
        }
    }

    /// The transmission that `node` follows.
    pub fn followed(&self, node: usize) -> Option<TxId> {
        self.ears[node].followed()
    }

    /// `node` stops following; says which transmission that was.
    pub fn abandon(&mut self, node: usize) -> Option<TxId> {
        self.ears[node].abandon()
    }

    /// When each interferer begins for the first time, if ever.
    pub fn first_bursts(&mut self) -> Vec<Option<Instant>> {
        self.interferers.iter_mut().map(Course::first).collect()
    }

    /// An interferer begins or ends a burst; says when it changes next.
    pub fn interfere(&mut self, now: Instant, interferer: usize) -> Instant {
        let (on, next) = self.interferers[interferer].turn(now);
        for (node, power_mw) in &self.reached[interferer] {
            self.ears[*node as usize].interfere(now, *power_mw, on, self.sinr.as_ref());
        }
        next
    }

    /// The interferers, and how many nodes each of them reaches.
    pub fn interferers(&self) -> impl Iterator<Item = (&Course, usize)> {
        let reached = self.reached.iter().map(Vec::len);
        self.interferers.iter().zip(reached)
    }

    /// `node` begins a clear channel assessment.
    pub fn watch(&mut self, now: Instant, node: usize) {
        self.ears[node].watch(now, self.sinr.as_ref());
    }

    /// Whether `node` found the channel busy at any time since
    /// [`watch`](Self::watch) and before `now`.
    pub fn was_busy(&self, now: Instant, node: usize) -> bool {
        self.ears[node].was_busy(now)
    }
}

/// Each with random numbers of its own, so that one more does not change the
/// others.
fn courses(interferers: &[Interferer], seed: Seed) -> Vec<Course> {
    let numbered = interferers.iter().cloned().enumerate();
    numbered
        .map(|(index, spec)| Course::new(spec, seed.node_stream("interferer", index)))
        .collect()
}
