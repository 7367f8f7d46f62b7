//! How radio waves travel: who hears whom, how loud, and what gets through.
//!
//! Three kinds: the unit disk of Cooja, log-distance path loss with SINR and
//! capture, and links listed by hand. All links are worked out once, with a
//! grid, so that the cost of a transmission grows with its neighbours and not
//! with the network. Waves travel without delay.

mod config;
mod ear;
mod grid;
mod links;
pub mod oqpsk;
#[cfg(test)]
mod tests;

pub use config::{Config, ListedLink, Sinr, UnitDisk};
pub use ear::{Reception, Start, TxId};
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
    success_ratio_tx: f64,
    rng: Rng,
}

impl Medium {
    /// The medium between nodes at `positions_m`; listed links, where given,
    /// replace what follows from the positions.
    pub fn new(
        config: &Config,
        positions_m: &[(f64, f64)],
        listed: Option<&[ListedLink]>,
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
