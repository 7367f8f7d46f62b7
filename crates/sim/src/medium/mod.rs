//! How radio waves travel: who hears whom, how loud, and what gets through.
//!
//! Three kinds: the unit disk of Cooja, log-distance path loss with SINR and
//! capture, and links that are given: listed by hand or measured. All links are
//! worked out once, with a grid, so that the cost of a transmission grows with
//! its neighbours and not with the network. What changes with time, by fading or
//! from one measurement to the next, is looked up when a transmission begins,
//! and holds until it ends. Waves travel without delay.

mod change;
mod config;
mod ear;
mod fading;
mod grid;
mod interferer;
mod links;
mod measured;
mod noise;
pub mod oqpsk;
mod radios;
#[cfg(test)]
mod tests;

pub use config::{
    Config, Fading, Gain, LinkSource, ListedLink, NoiseModel, RadioSpec, Sinr, Site, UnitDisk,
};
pub use ear::{Reception, Start, TxId};
pub use interferer::{Course, Interferer, Lengths};
pub use links::{Link, Links};
pub use measured::Measured;
pub use noise::{HISTORY, NoiseSource};

use change::Retired;
use ear::Ears;
use fading::Fader;
use measured::Replay;
use redpoll_base::{Instant, Rng};

use crate::fault::chance;
use crate::kernel::Seed;

/// The air between the nodes of a network.
#[derive(Clone, Debug)]
pub struct Medium {
    links: Links,
    /// Links of before a node was moved, for what was on the air then.
    retired: Retired,
    change: Change,
    ears: Ears,
    interferers: Vec<Course>,
    /// The nodes that each of them reaches, and with how much power.
    reached: Vec<Vec<(u32, f64)>>,
    success_ratio_tx: f64,
    rng: Rng,
}

/// How links change with time.
#[derive(Clone, Debug)]
enum Change {
    Never,
    Replay(Replay),
    Fading(Fader),
}

impl Change {
    fn new(site: &Site<'_>, links: &Links, seed: Seed) -> Change {
        match (site.links, site.config) {
            (LinkSource::Measured(measured), config) => {
                Change::Replay(Replay::new(measured, config, site.positions_m.len()))
            }
            (LinkSource::Positions, Config::Sinr(sinr)) if sinr.fading.gain != Gain::None => {
                Change::Fading(Fader::new(sinr, links, seed))
            }
            _ => Change::Never,
        }
    }
}

impl Medium {
    /// The medium of a site.
    pub fn new(site: &Site<'_>, seed: Seed) -> Self {
        let nodes = site.positions_m.len();
        let shadowing = links::shadowing(seed);
        let success_ratio_tx = match site.config {
            Config::UnitDisk(disk) => disk.success_ratio_tx,
            Config::Sinr(_) => 1.0,
        };
        let links = Links::new(site, seed);
        Medium {
            change: Change::new(site, &links, seed),
            links,
            retired: Retired::default(),
            ears: Ears::new(site, seed),
            interferers: courses(site.interferers, seed),
            reached: (site.interferers.iter().enumerate())
                .map(|(index, interferer)| {
                    let place = (nodes + index, shadowing);
                    links::reached(site, interferer, place)
                })
                .collect(),
            success_ratio_tx,
            rng: seed.stream("medium"),
        }
    }

    /// Brings the links of node `from` up to date. To be called before each of
    /// its transmissions, while no other of its own is on the air: what has begun
    /// over a link ends over the same one.
    pub fn refresh(&mut self, now: Instant, from: usize) {
        match &mut self.change {
            Change::Never => {}
            Change::Replay(replay) => replay.refresh(now, from, &mut self.links),
            Change::Fading(fader) => fader.refresh(now, from, &mut self.links),
        }
    }

    /// Whether links change with time.
    pub fn changes(&self) -> bool {
        !matches!(self.change, Change::Never)
    }

    /// All links.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Bytes that the links of `node` and what it hears take.
    pub fn memory_bytes(&self, node: usize) -> usize {
        self.ears.bytes_each() + size_of_val(self.links.of(node))
    }

    /// Whether anyone hears the transmission that begins now; to be asked once
    /// for each. If not, it is not on the air at all.
    pub fn is_heard(&mut self) -> bool {
        chance(&mut self.rng, self.success_ratio_tx)
    }

    /// Transmission `tx` begins to arrive over `link`; `ready` says whether
    /// the receiver's radio could follow it.
    pub fn start(&mut self, now: Instant, tx: TxId, link: &Link, ready: bool) -> Start {
        self.ears.start(now, tx, link, ready, &mut self.rng)
    }

    /// Transmission `tx` no longer arrives over `link`. Says how the reception
    /// went if the receiver followed it.
    pub fn end(&mut self, now: Instant, tx: TxId, link: &Link) -> Option<Reception> {
        self.ears.end(now, tx, link, &mut self.rng)
    }

    /// The transmission that `node` follows.
    pub fn followed(&self, node: usize) -> Option<TxId> {
        self.ears.followed(node)
    }

    /// `node` stops following; says which transmission that was.
    pub fn abandon(&mut self, node: usize) -> Option<TxId> {
        self.ears.abandon(node)
    }

    /// When each interferer begins for the first time, if ever.
    pub fn first_bursts(&mut self) -> Vec<Option<Instant>> {
        self.interferers.iter_mut().map(Course::first).collect()
    }

    /// An interferer begins or ends a burst; says when it changes next.
    pub fn interfere(&mut self, now: Instant, interferer: usize) -> Instant {
        let was_on = self.interferers[interferer].is_on();
        let (on, next) = self.interferers[interferer].turn(now);
        if on == was_on {
            // It was silenced between two bursts.
            return next;
        }
        for (node, power_mw) in &self.reached[interferer] {
            self.ears.interfere(now, *node as usize, *power_mw, on);
        }
        next
    }

    /// The interferers, and how many nodes each of them reaches.
    pub fn interferers(&self) -> impl Iterator<Item = (&Course, usize)> {
        let reached = self.reached.iter().map(Vec::len);
        self.interferers.iter().zip(reached)
    }

    /// Whether there is energy in the channel at `node`.
    pub fn is_busy(&mut self, now: Instant, node: usize) -> bool {
        self.ears.is_busy(now, node)
    }

    /// `node` begins a clear channel assessment.
    pub fn watch(&mut self, now: Instant, node: usize) {
        self.ears.watch(now, node);
    }

    /// Whether `node` found the channel busy at any time since
    /// [`watch`](Self::watch) and before `now`.
    pub fn was_busy(&mut self, now: Instant, node: usize) -> bool {
        self.ears.was_busy(now, node)
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
