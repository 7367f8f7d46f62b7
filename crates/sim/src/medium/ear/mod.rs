//! Signals at the antennas of receivers, and the frames that they receive.

mod disk;
mod sinr;

use redpoll_base::{Instant, Rng};

use disk::DiskEar;
use sinr::{SinrEar, SinrRules};

use super::{Config, Link, LinkSource, Site, noise};
use crate::kernel::Seed;

pub type TxId = u32;

/// Result of a frame at one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    Intact,
    /// Other transmissions overlapped the frame and destroyed it.
    Collision,
    /// An interferer destroyed the frame; no other transmission overlapped it.
    Interference,
    /// Noise, or a random draw by the link's success ratio, destroyed the frame.
    RandomLoss,
    /// The sender is too far away or too weak.
    OutOfRange,
}

/// Effect of a transmission's start at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    Followed,
    /// The receiver starts to receive the frame and abandons the named one.
    Captured(TxId),
    NotReady,
    /// The frame is lost here for this reason.
    Lost(Reception),
}

#[derive(Clone, Debug)]
pub enum Ears {
    /// Receivers without signal powers: any overlapping signal destroys a frame.
    Disk(Vec<DiskEar>),
    /// Receivers with powers: the SINR of a frame determines its bit error rate.
    Sinr {
        rules: Box<SinrRules>,
        ears: Vec<SinrEar>,
    },
}

impl Ears {
    /// Returns a receiver for each node, at which no transmission arrives yet.
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

    pub fn bytes_each(&self) -> usize {
        match self {
            Ears::Disk(_) => size_of::<DiskEar>(),
            Ears::Sinr { .. } => size_of::<SinrEar>(),
        }
    }

    /// Begins the arrival of `tx` over `link`; `ready`: whether the receiver can receive now.
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

    /// Ends the arrival of `tx` over `link`. Returns the result if the receiver received it.
    pub fn end(&mut self, now: Instant, tx: TxId, link: &Link, rng: &mut Rng) -> Option<Reception> {
        let to = link.to as usize;
        match self {
            Ears::Disk(ears) => ears[to].end(tx, link),
            Ears::Sinr { rules, ears } => ears[to].end(now, tx, link, rules, rng),
        }
    }

    pub fn followed(&self, node: usize) -> Option<TxId> {
        match self {
            Ears::Disk(ears) => ears[node].followed(),
            Ears::Sinr { ears, .. } => ears[node].followed(),
        }
    }

    /// Ends the reception of `node`, which will transmit or be off. Returns the transmission that
    /// `node` was receiving.
    pub fn abandon(&mut self, node: usize) -> Option<TxId> {
        match self {
            Ears::Disk(ears) => ears[node].abandon(),
            Ears::Sinr { ears, .. } => ears[node].abandon(),
        }
    }

    /// Begins or ends a burst that arrives at `node` with `power_mw`, which [`Ears::Disk`] ignores.
    pub fn interfere(&mut self, now: Instant, node: usize, power_mw: f64, on: bool) {
        match self {
            Ears::Disk(ears) => ears[node].interfere(now, on),
            Ears::Sinr { rules, ears } => ears[node].interfere(now, power_mw, on, rules),
        }
    }

    pub fn is_busy(&mut self, now: Instant, node: usize) -> bool {
        match self {
            Ears::Disk(ears) => ears[node].is_busy(),
            Ears::Sinr { rules, ears } => ears[node].is_busy(now, rules),
        }
    }

    /// Begins a clear channel assessment of `node`.
    pub fn watch(&mut self, now: Instant, node: usize) {
        match self {
            Ears::Disk(ears) => ears[node].watch(now),
            Ears::Sinr { rules, ears } => ears[node].watch(now, rules),
        }
    }

    /// Returns whether `node` found the channel busy since [`watch`](Self::watch) and before `now`.
    /// A signal that begins exactly at `now` does not count.
    pub fn was_busy(&mut self, now: Instant, node: usize) -> bool {
        match self {
            Ears::Disk(ears) => ears[node].was_busy(now),
            Ears::Sinr { rules, ears } => ears[node].was_busy(now, rules),
        }
    }
}
