//! What a scenario says about the medium. Every result states it: figures
//! about hidden terminals mean nothing without the ranges and the threshold of
//! the clear channel assessment.

use std::sync::Arc;

use serde::Serialize;

use super::{Interferer, Measured, NoiseSource};

/// How radio waves travel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Config {
    /// Sharp ranges, as in Cooja's UDGM.
    UnitDisk(UnitDisk),
    /// Log-distance path loss, SINR, capture.
    Sinr(Sinr),
}

impl Default for Config {
    fn default() -> Self {
        Config::UnitDisk(UnitDisk::default())
    }
}

/// The unit-disk medium of Cooja ("UDGM: distance loss").
///
/// A frame is received only if no other transmission reaches its receiver at
/// any time; there is no capture. Distances that equal a range are within it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct UnitDisk {
    /// How far a frame can be received, in metres, over 0. Cooja: 50.
    pub transmission_range_m: f64,
    /// How far a transmission destroys the reception of others, in metres, at
    /// least the transmission range. Cooja: 100.
    pub interference_range_m: f64,
    /// How far a transmission makes the channel busy for a clear channel
    /// assessment, in metres. In Cooja it follows from the receiver's CCA
    /// threshold and is at most the interference range.
    pub carrier_sense_range_m: f64,
    /// Probability that a transmission is heard by anyone, even as
    /// interference; drawn once a transmission. Cooja: 1.
    pub success_ratio_tx: f64,
    /// Probability of reception at the edge of the transmission range; at a
    /// distance d it is 1 − (d/R)²·(1 − ratio). Cooja: 1.
    pub success_ratio_rx: f64,
}

impl Default for UnitDisk {
    /// Cooja's defaults; carrier sense works to the edge of interference.
    fn default() -> Self {
        UnitDisk {
            transmission_range_m: 50.0,
            interference_range_m: 100.0,
            carrier_sense_range_m: 100.0,
            success_ratio_tx: 1.0,
            success_ratio_rx: 1.0,
        }
    }
}

/// Log-distance path loss with shadowing; a frame is received as well as its
/// ratio of signal to interference and noise allows.
///
/// The defaults describe a 2.4 GHz radio indoors. None of them is attributed
/// to a measurement: they are parameters.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Sinr {
    /// Power that leaves every antenna, in dBm.
    pub tx_power_dbm: f64,
    /// Path loss at the reference distance of 1 m, in dB. 40.2 dB is free
    /// space at 2.45 GHz.
    pub reference_loss_db: f64,
    /// Path loss exponent; 2 in free space, 3 to 4 indoors.
    pub path_loss_exponent: f64,
    /// Standard deviation of the shadowing, in dB. One normal value a pair of
    /// nodes, the same in both directions, drawn once from the seed.
    pub shadowing_sigma_db: f64,
    /// Thermal noise and noise figure over the channel's 2 MHz, in dBm.
    pub noise_floor_dbm: f64,
    /// Below this power a frame's preamble is not found, in dBm.
    pub sensitivity_dbm: f64,
    /// By how much a later frame must exceed all else for the receiver to
    /// leave a frame for it, in dB. Only while the earlier frame's
    /// synchronisation header lasts; a receiver that has found a start of
    /// frame stays with it.
    pub capture_db: f64,
    /// By how much more than its power interference counts beside noise, in dB.
    /// Other frames are no noise: they are made of the same chip sequences.
    pub co_channel_db: f64,
    /// At this power in the channel a clear channel assessment finds it busy,
    /// in dBm (energy above threshold, CCA mode 1).
    pub cca_threshold_dbm: f64,
    /// Standard deviation of what a direction has beside the shadowing of its
    /// pair, in dB: one normal value a directed link, drawn once.
    pub asymmetry_sigma_db: f64,
    /// Standard deviation of the nodes' powers, in dB.
    pub tx_power_sigma_db: f64,
    /// Standard deviation of the nodes' noise floors, in dB.
    pub noise_sigma_db: f64,
    /// Correlation between power and noise floor of one node, -1 to 1.
    pub power_noise_correlation: f64,
    /// How a link's loss changes with time.
    pub fading: Fading,
    /// How noise changes with time.
    pub noise: NoiseModel,
}

/// Small-scale fading: a gain for each directed link, the same for a coherence
/// time, then another one that has nothing to do with it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Fading {
    /// Distribution of the gain.
    pub gain: Gain,
    /// How long a gain lasts, in microseconds, over 0.
    pub coherence_us: u64,
}

/// Distribution of a fading gain.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// None: links keep their power.
    None,
    /// Many paths of like strength: the power is exponential, its mean 1.
    Rayleigh,
    /// One path outweighs the others by `k_db`; the mean power is 1.
    Rician {
        /// Rice's factor, in dB.
        k_db: f64,
    },
    /// Normal in dB around the mean, as by people who walk about.
    Lognormal {
        /// Standard deviation, in dB.
        sigma_db: f64,
    },
}

/// How noise changes with time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseModel {
    /// It does not.
    Constant,
    /// As in a trace, from a place in it that each node draws.
    Replay,
    /// As a model has learnt from a trace (Lee, Cerpa, Levis 2007).
    Cpm,
}

impl Default for Sinr {
    fn default() -> Self {
        Sinr {
            tx_power_dbm: 0.0,
            reference_loss_db: 40.2,
            path_loss_exponent: 3.0,
            shadowing_sigma_db: 0.0,
            noise_floor_dbm: -100.0,
            sensitivity_dbm: -95.0,
            capture_db: 3.0,
            co_channel_db: 0.0,
            cca_threshold_dbm: -80.0,
            asymmetry_sigma_db: 0.0,
            tx_power_sigma_db: 0.0,
            noise_sigma_db: 0.0,
            power_noise_correlation: 0.0,
            fading: Fading {
                gain: Gain::None,
                coherence_us: 50_000,
            },
            noise: NoiseModel::Constant,
        }
    }
}

/// A link that a scenario lists by hand; it works in both directions.
///
/// Where links are listed, positions do not count: nodes that share a link
/// hear each other, sense each other and disturb each other, all others do
/// not. Collisions are those of the unit-disk medium.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ListedLink {
    /// Index of one node.
    pub a: usize,
    /// Index of the other node.
    pub b: usize,
    /// Probability that a frame which meets no interference arrives, 0 to 1.
    pub success_ratio: f64,
}

/// Where the links between nodes come from.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum LinkSource {
    /// From positions and the medium.
    #[default]
    Positions,
    /// From a list.
    Listed(Vec<ListedLink>),
    /// From measurements, over time.
    Measured(Arc<Measured>),
}

impl LinkSource {
    /// Whether positions do not count.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self, LinkSource::Positions)
    }
}

/// What sets one node's radio apart, in the SINR medium.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RadioSpec {
    /// The power that leaves its antenna, in dBm; `None`: the medium's.
    pub tx_power_dbm: Option<f64>,
    /// Noise in its channel, in dBm; `None`: the medium's.
    pub noise_floor_dbm: Option<f64>,
}

/// What a medium lies between.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// How radio waves travel.
    pub config: &'a Config,
    /// Where the nodes stand, in metres.
    pub positions_m: &'a [(f64, f64)],
    /// Where links come from.
    pub links: &'a LinkSource,
    /// What sets the nodes' radios apart; nothing if it is empty.
    pub radios: &'a [RadioSpec],
    /// Who else is on the air.
    pub interferers: &'a [Interferer],
    /// The trace that noise is taken from or learnt from.
    pub noise: Option<&'a NoiseSource>,
}

impl<'a> Site<'a> {
    /// A site of nodes alone, whose radios are all alike.
    pub fn of(config: &'a Config, positions_m: &'a [(f64, f64)]) -> Site<'a> {
        Site {
            config,
            positions_m,
            links: &LinkSource::Positions,
            radios: &[],
            interferers: &[],
            noise: None,
        }
    }
}
