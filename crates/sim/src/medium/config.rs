//! Configuration of the medium. Every report includes it, because results about hidden terminals
//! depend on the ranges and the threshold of the clear channel assessment.

use std::sync::Arc;

use serde::Serialize;

use super::{Interferer, Measured, NoiseSource};

/// Propagation of radio waves.
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

/// The unit-disk medium of Cooja ("UDGM: distance loss"). A frame is received only if no other
/// transmission reaches the receiver during the frame; there is no capture. A distance that equals
/// a range is within this range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct UnitDisk {
    /// Range of reception in metres, over 0. Cooja: 50.
    pub transmission_range_m: f64,
    /// Range in which a transmission destroys other receptions, in metres; at least the
    /// transmission range. Cooja: 100.
    pub interference_range_m: f64,
    /// Range in which a clear channel assessment finds the channel busy, in metres. In Cooja this
    /// range follows from the receiver's CCA threshold, up to the interference range.
    pub carrier_sense_range_m: f64,
    /// Probability that a transmission reaches any node, even as interference; drawn once for each
    /// transmission. Cooja: 1.
    pub success_ratio_tx: f64,
    /// Probability p of reception at the edge R of the transmission range; at a distance d, the
    /// probability is 1 − (d/R)²·(1 − p). Cooja: 1.
    pub success_ratio_rx: f64,
}

impl Default for UnitDisk {
    /// Returns Cooja's defaults, with carrier sense up to the interference range.
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

/// Log-distance path loss with shadowing. The ratio of signal to interference and noise determines
/// the probability of reception. The defaults describe a 2.4 GHz radio indoors. They are
/// parameters, not measurements.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Sinr {
    /// Transmit power at the antenna of every node, in dBm.
    pub tx_power_dbm: f64,
    /// Path loss at the reference distance of 1 m, in dB. In free space at 2.45 GHz it is 40.2 dB.
    pub reference_loss_db: f64,
    /// Path loss exponent; 2 in free space, 3 to 4 indoors.
    pub path_loss_exponent: f64,
    /// Standard deviation of the shadowing, in dB. Each pair of nodes has one normal value from the
    /// seed, the same in both directions.
    pub shadowing_sigma_db: f64,
    /// Thermal noise and noise figure over the channel's 2 MHz, in dBm.
    pub noise_floor_dbm: f64,
    /// Lowest power at which a preamble is detected, in dBm.
    pub sensitivity_dbm: f64,
    /// Ratio to all other power from which a later frame captures the receiver, in dB. Capture is
    /// possible only during the earlier frame's synchronisation header.
    pub capture_db: f64,
    /// Additional weight of interfering frames compared with noise, in dB. Frames consist of the
    /// same chip sequences as the signal.
    pub co_channel_db: f64,
    /// Power from which a clear channel assessment finds the channel busy, in dBm (energy above
    /// threshold, CCA mode 1).
    pub cca_threshold_dbm: f64,
    /// Standard deviation of the power that is added to each directed link in addition to the
    /// shadowing of its pair, in dB: one normal value for each directed link.
    pub asymmetry_sigma_db: f64,
    pub tx_power_sigma_db: f64,
    /// Standard deviation of the nodes' noise floors, in dB.
    pub noise_sigma_db: f64,
    /// Correlation between the transmit power and the noise floor of a node, -1 to 1.
    pub power_noise_correlation: f64,
    /// Variation of a link's loss with time.
    pub fading: Fading,
    pub noise: NoiseModel,
}

/// Small-scale fading: a gain per directed link, drawn independently for each coherence time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Fading {
    pub gain: Gain,
    /// Duration of a gain in microseconds, over 0.
    pub coherence_us: u64,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    None,
    /// Many paths of similar strength: the power is exponential with mean 1.
    Rayleigh,
    /// One path has `k_db` more power than all others together; the mean power is 1.
    Rician {
        /// Rice's factor, in dB.
        k_db: f64,
    },
    /// Normally distributed in dB around the mean, as if people walked around.
    Lognormal {
        /// Standard deviation, in dB.
        sigma_db: f64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseModel {
    Constant,
    /// The noise of a trace is replayed, from a random start for each node.
    Replay,
    /// A model learned from a trace generates the noise (Lee, Cerpa, Levis 2007).
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

/// A link that a scenario lists, for both directions. With listed links, positions are unused.
/// Linked nodes receive, sense and disturb each other; other nodes do not. Frames collide as in the
/// unit-disk medium.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ListedLink {
    pub a: usize,
    pub b: usize,
    /// Probability that a frame without interference arrives, 0 to 1.
    pub success_ratio: f64,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub enum LinkSource {
    #[default]
    Positions,
    Listed(Vec<ListedLink>),
    Measured(Arc<Measured>),
}

impl LinkSource {
    /// Returns whether links are listed or measured, so node positions are unused.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self, LinkSource::Positions)
    }
}

/// Parameters of one node's radio that replace those of the SINR medium.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RadioSpec {
    /// Transmit power in dBm; `None`: the medium's value.
    pub tx_power_dbm: Option<f64>,
    /// Noise in the channel in dBm; `None`: the medium's value.
    pub noise_floor_dbm: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub config: &'a Config,
    pub positions_m: &'a [(f64, f64)],
    pub links: &'a LinkSource,
    /// Parameters by node; a node without an entry has the medium's values.
    pub radios: &'a [RadioSpec],
    pub interferers: &'a [Interferer],
    /// Trace for replayed or modelled noise.
    pub noise: Option<&'a NoiseSource>,
}

impl<'a> Site<'a> {
    /// Returns a site with positions, identical radios and no interferers.
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
