//! Reads the model of radio propagation, and of noise.

use std::sync::Arc;

use crate::measured::NoiseTrace;
use crate::medium::{
    Config, Fading, Gain, HISTORY, LinkSource, NoiseModel, NoiseSource, Sinr, UnitDisk,
};
use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::files;
use crate::scenario::units::Measure;

pub(super) fn medium(values: &Values<'_>, links: &LinkSource) -> Result<Config, ScenarioError> {
    check_meaning(values, links)?;
    let real = |key| values.real(key);
    if values.text("medium.model") == "sinr" {
        return Ok(Config::Sinr(Sinr {
            tx_power_dbm: real("medium.tx_power"),
            reference_loss_db: real("medium.reference_loss"),
            path_loss_exponent: real("medium.path_loss_exponent"),
            shadowing_sigma_db: real("medium.shadowing_sigma"),
            noise_floor_dbm: real("medium.noise_floor"),
            sensitivity_dbm: real("medium.sensitivity"),
            capture_db: real("medium.capture"),
            co_channel_db: real("medium.co_channel"),
            cca_threshold_dbm: real("medium.cca_threshold"),
            asymmetry_sigma_db: real("medium.asymmetry_sigma"),
            tx_power_sigma_db: real("medium.tx_power_sigma"),
            noise_sigma_db: real("medium.noise_sigma"),
            power_noise_correlation: real("medium.power_noise_correlation"),
            fading: fading(values),
            noise: noise_model(values),
        }));
    }
    let disk = UnitDisk {
        transmission_range_m: real("medium.transmission_range"),
        interference_range_m: real("medium.interference_range"),
        carrier_sense_range_m: real("medium.carrier_sense_range"),
        success_ratio_tx: real("medium.success_ratio_tx"),
        success_ratio_rx: real("medium.success_ratio_rx"),
    };
    if disk.interference_range_m < disk.transmission_range_m {
        let problem = format!(
            "got {} m; allowed: at least {} m, the value of medium.transmission_range",
            disk.interference_range_m, disk.transmission_range_m
        );
        return Err(values.error("medium.interference_range", problem));
    }
    Ok(Config::UnitDisk(disk))
}

fn fading(values: &Values<'_>) -> Fading {
    Fading {
        gain: match values.text("medium.fading").as_str() {
            "rayleigh" => Gain::Rayleigh,
            "rician" => Gain::Rician {
                k_db: values.real("medium.rice_factor"),
            },
            "lognormal" => Gain::Lognormal {
                sigma_db: values.real("medium.fading_sigma"),
            },
            _ => Gain::None,
        },
        coherence_us: values.duration("medium.coherence_time").as_micros(),
    }
}

/// Keys that describe how links differ and change.
const WAYS: &[&str] = &[
    "medium.asymmetry_sigma",
    "medium.tx_power_sigma",
    "medium.fading",
    "medium.coherence_time",
];
/// Keys that describe the path loss. Measured links replace them.
const POWERS: &[&str] = &[
    "medium.tx_power",
    "medium.reference_loss",
    "medium.path_loss_exponent",
    "medium.shadowing_sigma",
    "medium.sensitivity",
];
/// Keys that describe the noise at receivers. They have no effect on listed links.
const RECEIVERS: &[&str] = &["medium.noise_sigma", "medium.noise_trace"];

/// Refuses keys that have no effect because links are given.
fn check_meaning(values: &Values<'_>, links: &LinkSource) -> Result<(), ScenarioError> {
    let without_effect: &[&[&str]] = match links {
        LinkSource::Positions => &[],
        LinkSource::Measured(_) => &[WAYS, POWERS],
        LinkSource::Listed(_) => &[WAYS, RECEIVERS],
    };
    let given = without_effect.iter().flat_map(|keys| keys.iter());
    let Some(key) = given.copied().find(|key| values.has(key)) else {
        return Ok(());
    };
    let kind = values.text("topology.kind");
    let problem = format!(
        "has no meaning where topology.kind is {kind}; allowed: with a topology.kind that computes \
         links from positions"
    );
    Err(values.error(key, problem))
}

fn noise_model(values: &Values<'_>) -> NoiseModel {
    match values.text("medium.noise_model").as_str() {
        _ if !values.has("medium.noise_trace") => NoiseModel::Constant,
        "cpm" => NoiseModel::Cpm,
        _ => NoiseModel::Replay,
    }
}

pub(super) fn noise(values: &Values<'_>) -> Result<Option<NoiseSource>, ScenarioError> {
    const KEY: &str = files::NOISE;
    let model = noise_model(values);
    if model == NoiseModel::Constant {
        let unused = ["medium.noise_model", "medium.noise_repeat"];
        return match unused.into_iter().find(|key| values.has(key)) {
            Some(key) => Err(values.error(
                key,
                format!("has no meaning without {KEY}; allowed: together with {KEY}"),
            )),
            None => Ok(None),
        };
    }
    let trace = Arc::new(files::read(values, KEY, |reader| NoiseTrace::read(reader))?);
    let samples = trace.samples_dbm.len();
    let run = values.duration("duration");
    let repeats = model == NoiseModel::Cpm || values.flag("medium.noise_repeat");
    let source = NoiseSource {
        trace,
        span: (!repeats).then_some(run),
    };
    if model == NoiseModel::Cpm && samples <= HISTORY {
        let problem =
            format!("got a trace of {samples} samples; allowed with cpm: more than {HISTORY}");
        return Err(values.error(KEY, problem));
    }
    if source.span.is_some_and(|span| span > source.length()) {
        let show = |time: redpoll_base::Duration| Measure::Time.show(time.as_micros() as f64);
        let problem = format!(
            "got a trace of {}, shorter than the run of {}; allowed: a longer one, \
             medium.noise_repeat = true, or medium.noise_model = \"cpm\"",
            show(source.length()),
            show(run)
        );
        return Err(values.error(KEY, problem));
    }
    Ok(Some(source))
}
