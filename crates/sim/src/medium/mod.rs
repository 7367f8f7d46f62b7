//! Propagation of radio waves: reception, signal strength and losses.
//!
//! There are three kinds of media: the unit disk of Cooja, log-distance path loss with SINR and
//! capture, and given links, which are listed or measured. All links are computed in advance
//! (`grid.rs` finds the nodes within reach), so the work per transmission grows with the sender's
//! neighbours, not with the network. Fading and measurements change with time; a transmission keeps
//! the values at its beginning. Waves travel without delay.

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
pub use interferer::{BurstSequence, Interferer, Lengths};
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

#[derive(Clone, Debug)]
pub struct Medium {
    links: Links,
    /// Links before the move of a node, for the transmissions in progress.
    retired: Retired,
    change: LinkChanges,
    ears: Ears,
    interferers: Vec<BurstSequence>,
    /// By interferer: the nodes that it reaches, and the power in mW that arrives at each.
    reached: Vec<Vec<(u32, f64)>>,
    success_ratio_tx: f64,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum LinkChanges {
    Never,
    Replay(Replay),
    Fading(Fader),
}

impl LinkChanges {
    fn new(site: &Site<'_>, links: &Links, seed: Seed) -> LinkChanges {
        match (site.links, site.config) {
            (LinkSource::Measured(measured), config) => {
                LinkChanges::Replay(Replay::new(measured, config, site.positions_m.len()))
            }
            (LinkSource::Positions, Config::Sinr(sinr)) if sinr.fading.gain != Gain::None => {
                LinkChanges::Fading(Fader::new(sinr, links, seed))
            }
            _ => LinkChanges::Never,
        }
    }
}

impl Medium {
    pub fn new(site: &Site<'_>, seed: Seed) -> Self {
        let nodes = site.positions_m.len();
        let shadowing = links::shadowing(seed);
        let success_ratio_tx = match site.config {
            Config::UnitDisk(disk) => disk.success_ratio_tx,
            Config::Sinr(_) => 1.0,
        };
        let links = Links::new(site, seed);
        Medium {
            change: LinkChanges::new(site, &links, seed),
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

    /// Updates the links of node `from`. Called before each of the node's transmissions and not
    /// during one, because a transmission ends over the links over which it began.
    pub fn refresh(&mut self, now: Instant, from: usize) {
        match &mut self.change {
            LinkChanges::Never => {}
            LinkChanges::Replay(replay) => replay.refresh(now, from, &mut self.links),
            LinkChanges::Fading(fader) => fader.refresh(now, from, &mut self.links),
        }
    }

    pub fn changes(&self) -> bool {
        !matches!(self.change, LinkChanges::Never)
    }

    pub fn links(&self) -> &Links {
        &self.links
    }

    pub fn memory_bytes(&self, node: usize) -> usize {
        self.ears.bytes_each() + size_of_val(self.links.of(node))
    }

    /// Draws with the medium's `success_ratio_tx` whether the frame that begins now is transmitted.
    /// If not, it reaches no node. Called once for each transmission.
    pub fn is_heard(&mut self) -> bool {
        chance(&mut self.rng, self.success_ratio_tx)
    }

    /// Begins the arrival of `tx` over `link`; `ready`: whether the receiver can receive now.
    pub fn start(&mut self, now: Instant, tx: TxId, link: &Link, ready: bool) -> Start {
        self.ears.start(now, tx, link, ready, &mut self.rng)
    }

    /// Ends the arrival of `tx` over `link`. Returns the result if the receiver received it.
    pub fn end(&mut self, now: Instant, tx: TxId, link: &Link) -> Option<Reception> {
        self.ears.end(now, tx, link, &mut self.rng)
    }

    pub fn followed(&self, node: usize) -> Option<TxId> {
        self.ears.followed(node)
    }

    /// Ends the reception of `node`. Returns the transmission.
    pub fn abandon(&mut self, node: usize) -> Option<TxId> {
        self.ears.abandon(node)
    }

    pub fn first_bursts(&mut self) -> Vec<Option<Instant>> {
        self.interferers
            .iter_mut()
            .map(BurstSequence::first)
            .collect()
    }

    /// Begins or ends a burst of an interferer. Returns the time of the next change.
    pub fn interfere(&mut self, now: Instant, interferer: usize) -> Instant {
        let was_on = self.interferers[interferer].is_on();
        let (on, next) = self.interferers[interferer].turn(now);
        if on == was_on {
            // The interferer was silenced between two bursts.
            return next;
        }
        for (node, power_mw) in &self.reached[interferer] {
            self.ears.interfere(now, *node as usize, *power_mw, on);
        }
        next
    }

    pub fn interferers(&self) -> impl Iterator<Item = (&BurstSequence, usize)> {
        let reached = self.reached.iter().map(Vec::len);
        self.interferers.iter().zip(reached)
    }

    pub fn is_busy(&mut self, now: Instant, node: usize) -> bool {
        self.ears.is_busy(now, node)
    }

    /// Begins a clear channel assessment of `node`.
    pub fn watch(&mut self, now: Instant, node: usize) {
        self.ears.watch(now, node);
    }

    /// Returns whether `node` found the channel busy since [`watch`](Self::watch) and before `now`.
    pub fn was_busy(&mut self, now: Instant, node: usize) -> bool {
        self.ears.was_busy(now, node)
    }
}

/// Returns the bursts of all interferers. Each has its own random numbers, so an additional
/// interferer does not change the others.
fn courses(interferers: &[Interferer], seed: Seed) -> Vec<BurstSequence> {
    let numbered = interferers.iter().cloned().enumerate();
    numbered
        .map(|(index, spec)| BurstSequence::new(spec, seed.node_stream("interferer", index)))
        .collect()
}
