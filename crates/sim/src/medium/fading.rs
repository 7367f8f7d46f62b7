//! Block fading: time is divided into blocks of one coherence time, and a directed link has one
//! gain in each block.
//!
//! A hash of the seed, the link and the number of the time block determines a gain. The gain is
//! independent of other events, and is computed only when the link's sender begins to transmit. A
//! transmission keeps the gain of the block in which it begins.

use redpoll_base::{Instant, Rng};

use super::links::{Links, normal, whole_dbm};
use super::oqpsk::{from_db, to_db};
use super::{Fading, Gain, Sinr};
use crate::kernel::Seed;

/// Returns by how much a gain may exceed its mean, in dB. Links too weak even with it are omitted.
pub fn margin_db(fading: &Fading) -> f64 {
    match fading.gain {
        Gain::None => 0.0,
        // An exponential power exceeds ten times its mean once in 22,000 times.
        Gain::Rayleigh | Gain::Rician { .. } => 10.0,
        Gain::Lognormal { sigma_db } => 4.0 * sigma_db,
    }
}

#[derive(Clone, Debug)]
pub struct Fader {
    gain: Gain,
    coherence_us: u64,
    sensitivity_dbm: f64,
    faders: Vec<LinkFader>,
}

#[derive(Clone, Copy, Debug)]
struct LinkFader {
    mean_mw: f64,
    seed: u64,
    /// Random offset of the start of this link's time blocks.
    phase_us: u64,
    block: u64,
}

impl Fader {
    pub fn new(sinr: &Sinr, links: &Links, seed: Seed) -> Fader {
        let base = seed.stream("fading").next_u64();
        let coherence_us = sinr.fading.coherence_us.max(1);
        let fader = |(number, link): (usize, &super::Link)| {
            let mut rng = Rng::stream(base, number as u64);
            LinkFader {
                mean_mw: link.power_mw,
                seed: rng.next_u64(),
                phase_us: rng.below_u64(coherence_us),
                block: u64::MAX,
            }
        };
        Fader {
            gain: sinr.fading.gain,
            coherence_us,
            sensitivity_dbm: sinr.sensitivity_dbm,
            faders: links.all().iter().enumerate().map(fader).collect(),
        }
    }

    pub fn refresh(&mut self, now: Instant, from: usize, links: &mut Links) {
        for index in links.range(from) {
            let fader = &mut self.faders[index];
            let block = (now.as_micros() + fader.phase_us) / self.coherence_us;
            if block == fader.block {
                continue;
            }
            fader.block = block;
            let mut rng = Rng::stream(fader.seed, block);
            let power_mw = fader.mean_mw * self.gain.draw(&mut rng);
            let power_dbm = to_db(power_mw);
            let link = links.at_mut(index);
            link.power_mw = power_mw;
            link.rssi_dbm = whole_dbm(power_dbm);
            link.receives = power_dbm >= self.sensitivity_dbm;
        }
    }
}

impl Gain {
    pub(super) fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Gain::None => 1.0,
            Gain::Rayleigh => rice(0.0, rng),
            Gain::Rician { k_db } => rice(from_db(k_db), rng),
            Gain::Lognormal { sigma_db } => from_db(sigma_db * normal(rng)),
        }
    }
}

/// Draws the power of the sum of a direct path of power K/(K + 1) and of many scattered paths of
/// total mean power 1/(K + 1), with random phases.
fn rice(k: f64, rng: &mut Rng) -> f64 {
    let direct = libm::sqrt(k / (k + 1.0));
    let scatter = libm::sqrt(0.5 / (k + 1.0));
    let (re, im) = (direct + scatter * normal(rng), scatter * normal(rng));
    re * re + im * im
}
