//! Differences between the radios of a network: power and noise floor of each node, given or drawn
//! (Zuniga and Krishnamachari, "An Analysis of Unreliability and Asymmetry in Low-Power Wireless
//! Links", ACM TOSN 3(2), 2007: power and noise are normal in dB, and correlated).

use super::links::normal;
use super::{RadioSpec, Sinr};
use crate::kernel::Seed;

/// Limit of drawn values, in standard deviations.
const LIMIT: f64 = 4.0;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Radio {
    pub tx_power_dbm: f64,
    pub noise_floor_dbm: f64,
}

pub struct Radios(Vec<Radio>);

impl Radios {
    /// Returns the radios of `nodes` nodes. Values in `specs` replace drawn ones.
    pub fn new(sinr: &Sinr, specs: &[RadioSpec], nodes: usize, seed: Seed) -> Radios {
        let draws = sinr.tx_power_sigma_db > 0.0 || sinr.noise_sigma_db > 0.0;
        let radio = |node: usize| {
            let spec = specs.get(node).copied().unwrap_or_default();
            let (power_db, noise_db) = match draws {
                true => deviations(sinr, node, seed),
                false => (0.0, 0.0),
            };
            Radio {
                tx_power_dbm: spec.tx_power_dbm.unwrap_or(sinr.tx_power_dbm + power_db),
                noise_floor_dbm: spec
                    .noise_floor_dbm
                    .unwrap_or(sinr.noise_floor_dbm + noise_db),
            }
        };
        Radios((0..nodes).map(radio).collect())
    }

    pub fn of(&self, node: usize) -> Radio {
        self.0[node]
    }

    pub fn loudest_dbm(&self) -> f64 {
        let powers = self.0.iter().map(|radio| radio.tx_power_dbm);
        powers.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Draws the deviations of a node's power and noise, in dB.
fn deviations(sinr: &Sinr, node: usize, seed: Seed) -> (f64, f64) {
    let mut rng = seed.node_stream("radio", node);
    let rho = sinr.power_noise_correlation;
    let (one, other) = (normal(&mut rng), normal(&mut rng));
    let noise = rho * one + libm::sqrt((1.0 - rho * rho).max(0.0)) * other;
    (
        sinr.tx_power_sigma_db * one.clamp(-LIMIT, LIMIT),
        sinr.noise_sigma_db * noise.clamp(-LIMIT, LIMIT),
    )
}
