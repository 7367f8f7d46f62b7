//! What reaches the antenna of one receiver, and the frame it follows.

mod disk;
mod sinr;

use redpoll_base::{Instant, Rng};

use disk::DiskEar;
use sinr::{SinrEar, SinrRules};

use super::{Config, Link, LinkSource, Site, noise};
use crate::kernel::Seed;

/// The number of a transmission under way.
pub type TxId = u32;

/// How a reception ended, or why there was none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// Every bit is right.
    Intact,
    /// Other transmissions disturbed it.
    Collision,
    /// An interferer disturbed it, and no other transmission did.
    Interference,
    /// Noise or the link's success ratio.
    RandomLoss,
    /// Too far away, or too weak.
    OutOfRange,
}

/// What the start of a transmission does at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The receiver follows the frame.
    Followed,
    /// The receiver follows the frame and gives up the one named.
    Captured(TxId),
    /// The receiver was not ready to follow anything.
    NotReady,
    /// The frame is lost here, for this reason.
    Lost(Reception),
}

/// The ears of all nodes, which hear as the medium has it.
#[derive(Clone, Debug)]
pub enum Ears {
    /// Ranges, or links that are given: what disturbs destroys.
    Disk(Vec<DiskEar>),
    /// Powers: bits are lost at the rate that their ratio to all else gives.
    Sinr {
        /// What all of them judge by.
        rules: Box<SinrRules>,
        /// By node.
        ears: Vec<SinrEar>,
    },
}

impl Ears {
    /// Ears in silence, but for noise.
    pub fn new(site: &Site<'_>, seed: Seed) -> Ears {
        match (site.config, site.links) {
            (Config::UnitDisk(_), _) | (Config::Sinr(_), LinkSource::Listed(_)) => {
                Ears::Disk(vec![DiskEar::default(); site.positions_m.len()])
            }
            (Config::Sinr(sinr), _) => Ears::Sinr {
                rules: Box::new(SinrRules::new(sinr)),
                ears: noise::of_nodes(site, sinr, seed)
                    .map(SinrEar::new)
                    .collect(),
            },
        }
    }

    /// Bytes that one of them takes.
    pub fn bytes_each(&self) -> usize {
        match self {
            Ears::Disk(_) => size_of::<DiskEar>(),
            Ears::Sinr { .. } => size_of::<SinrEar>(),
        }
    }

    /// Transmission `tx` begins to arrive over `link`; `ready` says whether the
    /// receiver's radio could follow it.
    pub fn start(
        &mut self,
        now: Instant,
        tx: TxId,
        link: &Link,
        ready: bool,
        rng: &mut Rng,
    ) -> Start {
        let to = link.to as usize;
        match self {
            Ears::Disk(ears) => ears[to].start(now, tx, link, ready, rng),
            Ears::Sinr { rules, ears } => ears[to].start(now, tx, link, ready, rules, rng),
        }
    }

    /// Transmission `tx` no longer arrives over `link`. Says how the reception
    /// went if the receiver followed it.
    pub fn end(&mut self, now: Instant, tx: TxId, link: &Link, rng: &mut Rng) -> Option<Reception> {
        let to = link.to as usize;
        match self {
            Ears::Disk(ears) => ears[to].end(tx, link),
            Ears::Sinr { rules, ears } => ears[to].end(now, tx, link, rules, rng),
        }
    }

    /// The transmission that `node` follows.
    pub fn followed(&self, node: usize) -> Option<TxId> {
        match self {
            Ears::Disk(ears) => ears[node].followed(),
            Ears::Sinr { ears, .. } => ears[node].followed(),
        }
    }

    /// `node` stops following, as it is going to transmit, or off; says which
    /// transmission that was.
    pub fn abandon(&mut self, node: usize) -> Option<TxId> {
        match self {
            Ears::Disk(ears) => ears[node].abandon(),
            Ears::Sinr { ears, .. } => ears[node].abandon(),
        }
    }

    /// An interferer that arrives at `node` with this power begins or ends. It can
    /// arrive without any, where there are no powers.
    pub fn interfere(&mut self, now: Instant, node: usize, power_mw: f64, on: bool) {
        match self {
            Ears::Disk(ears) => ears[node].interfere(now, on),
            Ears::Sinr { rules, ears } => ears[node].interfere(now, power_mw, on, rules),
        }
    }

    /// Whether there is energy in the channel at `node`.
    pub fn is_busy(&mut self, now: Instant, node: usize) -> bool {
        match self {
            Ears::Disk(ears) => ears[node].is_busy(),
            Ears::Sinr { rules, ears } => ears[node].is_busy(now, rules),
        }
    }

    /// A clear channel assessment of `node` begins.
    pub fn watch(&mut self, now: Instant, node: usize) {
        match self {
            Ears::Disk(ears) => ears[node].watch(now),
            Ears::Sinr { rules, ears } => ears[node].watch(now, rules),
        }
    }

    /// Whether `node` found the channel busy at any time since
    /// [`watch`](Self::watch) and before `now`: what begins at the moment at
    /// which an assessment ends is too late for it.
    pub fn was_busy(&mut self, now: Instant, node: usize) -> bool {
        match self {
            Ears::Disk(ears) => ears[node].was_busy(now),
            Ears::Sinr { rules, ears } => ears[node].was_busy(now, rules),
        }
    }
}
