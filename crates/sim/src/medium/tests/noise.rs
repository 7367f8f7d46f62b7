//! Noise that changes with time: replayed and modelled.

use std::sync::Arc;

use redpoll_base::Duration;

use super::*;
use crate::measured::NoiseTrace;
use crate::medium::noise::{NodeNoise, of_nodes};

/// Returns an artificial trace: about -98 dBm, and -60 dBm in bursts of 3 to 12 ms, 20 to 80 ms
/// apart.
fn bursty(samples: usize) -> NoiseTrace {
    let mut rng = Rng::new(11);
    let mut samples_dbm = Vec::new();
    while samples_dbm.len() < samples {
        for _ in 0..20 + rng.below(61) {
            samples_dbm.push(-99.0 + rng.below(3) as f32);
        }
        for _ in 0..3 + rng.below(10) {
            samples_dbm.push(-62.0 + rng.below(4) as f32);
        }
    }
    samples_dbm.truncate(samples);
    NoiseTrace { samples_dbm }
}

fn source(trace: NoiseTrace, span: Option<Duration>) -> NoiseSource {
    NoiseSource {
        trace: Arc::new(trace),
        span,
    }
}

fn noise_of(source: &NoiseSource, noise: NoiseModel, nodes: usize, seed: u64) -> Vec<NodeNoise> {
    let sinr = Sinr {
        noise,
        noise_floor_dbm: -120.0,
        ..sinr_config()
    };
    let config = Config::Sinr(sinr);
    let positions = vec![(0.0, 0.0); nodes];
    let site = Site {
        noise: Some(source),
        ..Site::of(&config, &positions)
    };
    of_nodes(&site, &sinr, Seed(seed)).collect()
}

/// Returns `samples` values of the noise in dBm, one for each millisecond.
fn course(noise: &mut NodeNoise, samples: u64) -> Vec<f32> {
    let sample = |i: u64| oqpsk::to_db(noise.at(at(i * 1_000 + 3))) as f32;
    (0..samples).map(sample).collect()
}

/// Statistics of noise: `loud` is the share over -80 dBm, `burst` the mean length of bursts over it
/// in ms, `correlation` that of samples 1, 5 and 15 ms apart, less than the model's history.
#[derive(Debug)]
struct Statistics {
    mean: f64,
    loud: f64,
    burst: f64,
    correlation: [f64; 3],
    quantiles: [f32; 3],
}

fn statistics(samples: &[f32]) -> Statistics {
    let len = samples.len() as f64;
    let mean = samples.iter().map(|s| f64::from(*s)).sum::<f64>() / len;
    let is_loud = |s: &f32| *s > -80.0;
    let loud = samples.iter().filter(|s| is_loud(s)).count() as f64;
    let bursts = samples
        .windows(2)
        .filter(|two| !is_loud(&two[0]) && is_loud(&two[1]))
        .count();
    let product = |lag: usize| {
        let pairs = samples.iter().zip(&samples[lag..]);
        pairs
            .map(|(a, b)| (f64::from(*a) - mean) * (f64::from(*b) - mean))
            .sum::<f64>()
    };
    let mut sorted = samples.to_vec();
    sorted.sort_by(f32::total_cmp);
    let at = |share: f64| sorted[(share * len) as usize];
    Statistics {
        mean,
        loud: loud / len,
        burst: loud / bursts as f64,
        correlation: [1, 5, 15].map(|lag| product(lag) / product(0)),
        quantiles: [at(0.1), at(0.5), at(0.95)],
    }
}

#[test]
fn a_replayed_trace_is_the_trace_from_a_place_that_each_node_draws() {
    let trace = bursty(5_000);
    let samples = trace.samples_dbm.clone();
    let source = source(trace, Some(Duration::from_millis(3_000)));
    let mut offsets = Vec::new();
    for noise in &mut noise_of(&source, NoiseModel::Replay, 8, 1) {
        let course = course(noise, 3_000);
        let fits = |from: &usize| {
            let pairs = course.iter().zip(&samples[*from..]);
            pairs.clone().count() == 3_000 && pairs.clone().all(|(a, b)| (a - b).abs() < 1e-3)
        };
        offsets.push((0..=2_000).find(fits).expect("a part of the trace"));
    }
    offsets.sort_unstable();
    offsets.dedup();
    assert!(offsets.len() > 6, "{offsets:?}");
}

#[test]
fn a_repeated_trace_starts_again_and_another_ends_in_silence() {
    let trace = NoiseTrace {
        samples_dbm: (0..100).map(|i| -90.0 + i as f32 / 10.0).collect(),
    };
    let repeated = source(trace.clone(), None);
    let mut noise = noise_of(&repeated, NoiseModel::Replay, 1, 1);
    let all = course(&mut noise[0], 1_000);
    assert!((100..1_000).all(|i| all[i] == all[i - 100]));
    let once = source(trace, Some(Duration::from_millis(100)));
    let mut noise = noise_of(&once, NoiseModel::Replay, 1, 1);
    let all = course(&mut noise[0], 150);
    assert!((all[0] + 90.0).abs() < 1e-3 && (all[99] + 80.1).abs() < 1e-3);
    assert!((all[100] + 120.0).abs() < 1e-3, "the noise floor");
}

/// Checks that generated noise has the trace's quantiles, lengths and numbers of bursts, and
/// correlation of neighbouring samples. Samples drawn independently from the same values have no
/// bursts.
#[test]
fn the_model_has_the_statistics_of_the_trace() {
    let trace = bursty(60_000);
    let expected = statistics(&trace.samples_dbm);
    let source = source(trace, None);
    let mut noise = noise_of(&source, NoiseModel::Cpm, 1, 3);
    let samples = course(&mut noise[0], 200_000);
    let found = statistics(&samples);
    let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() < tolerance;
    assert!(
        near(found.mean, expected.mean, 0.5),
        "{found:?} {expected:?}"
    );
    assert!(
        near(found.loud, expected.loud, 0.01),
        "{found:?} {expected:?}"
    );
    assert!(
        near(found.burst, expected.burst, 0.4),
        "{found:?} {expected:?}"
    );
    for (a, b) in found.quantiles.iter().zip(&expected.quantiles) {
        assert!((a - b).abs() < 0.01, "{found:?} {expected:?}");
    }
    for (a, b) in found.correlation.iter().zip(&expected.correlation) {
        assert!(near(*a, *b, 0.03), "{found:?} {expected:?}");
    }
    let mut rng = Rng::new(1);
    let shuffled: Vec<f32> = (0..200_000)
        .map(|_| samples[rng.below(200_000) as usize])
        .collect();
    assert!(statistics(&shuffled).burst < 1.3);
    // The noise is not a copy: no tenth of a second of it is in the trace.
    let piece = &samples[100_000..100_100];
    let is_in = |whole: &[f32]| {
        whole
            .windows(100)
            .any(|part| part.iter().zip(piece).all(|(a, b)| (a - b).abs() < 1e-3))
    };
    assert!(!is_in(&source.trace.samples_dbm));
}

/// Compares the model with the trace that `REDPOLL_NOISE_TRACE` names, or with an artificial one,
/// and prints the statistics of both.
#[test]
fn the_noise_model_has_the_statistics_of_its_trace() {
    let trace = match std::env::var_os("REDPOLL_NOISE_TRACE") {
        Some(path) => {
            let file = std::fs::File::open(path).expect("REDPOLL_NOISE_TRACE names a file");
            let reader = std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file));
            NoiseTrace::read(std::io::BufReader::new(reader)).expect("a trace, by gzip")
        }
        None => bursty(200_000),
    };
    let samples = trace.samples_dbm.len().min(400_000);
    let expected = statistics(&trace.samples_dbm[..samples]);
    println!("trace: {expected:?}");
    let source = source(trace, None);
    for seed in [1, 2] {
        let mut noise = noise_of(&source, NoiseModel::Cpm, 1, seed);
        let found = statistics(&course(&mut noise[0], samples as u64));
        println!("model, seed {seed}: {found:?}");
        assert!((found.loud - expected.loud).abs() < 0.05 * expected.loud);
        for (a, b) in found.correlation.iter().zip(&expected.correlation) {
            assert!((a - b).abs() < 0.03, "{found:?} {expected:?}");
        }
    }
}

#[test]
fn the_models_noise_depends_on_seed_node_and_time_alone() {
    let source = source(bursty(5_000), None);
    let mut one = noise_of(&source, NoiseModel::Cpm, 2, 1);
    let all = course(&mut one[0], 30_000);
    assert_ne!(all, course(&mut one[1], 30_000), "each node has its own");
    let mut other = noise_of(&source, NoiseModel::Cpm, 2, 1);
    for i in [25_000u64, 3, 12_345, 12_344, 29_999, 12_345] {
        let dbm = oqpsk::to_db(other[0].at(at(i * 1_000))) as f32;
        assert_eq!(dbm, all[i as usize], "{i}");
    }
    let mut other_seed = noise_of(&source, NoiseModel::Cpm, 1, 2);
    assert_ne!(course(&mut other_seed[0], 30_000), all);
}

/// Returns two nodes 10 m apart. Noise: `loud_dbm` in the milliseconds `loud`, otherwise -100 dBm.
fn between(loud: std::ops::Range<usize>, loud_dbm: f32) -> Medium {
    let mut samples_dbm = vec![-100.0; 100];
    samples_dbm[loud].fill(loud_dbm);
    let source = source(NoiseTrace { samples_dbm }, Some(Duration::from_millis(100)));
    let config = Config::Sinr(Sinr {
        noise: NoiseModel::Replay,
        ..sinr_config()
    });
    let positions = [(0.0, 0.0), (10.0, 0.0)];
    let site = Site {
        noise: Some(&source),
        ..Site::of(&config, &positions)
    };
    Medium::new(&site, Seed(1))
}

#[test]
fn noise_within_a_frame_counts() {
    for (loud, dbm, expected) in [
        (12..13, -60.0, Reception::RandomLoss),
        (14..15, -60.0, Reception::RandomLoss),
        (12..13, -80.0, Reception::Intact),
        (8..10, -60.0, Reception::Intact),
        (15..20, -60.0, Reception::Intact),
    ] {
        let mut medium = between(loud.clone(), dbm);
        let there = link(&medium, 0, 1);
        assert_eq!(medium.start(at(10_500), 1, &there, true), Start::Followed);
        let end = medium.end(at(14_756), 1, &there);
        assert_eq!(end, Some(expected), "{loud:?} {dbm}");
    }
}

#[test]
fn a_frame_that_begins_in_noise_is_lost() {
    let mut medium = between(10..11, -60.0);
    let there = link(&medium, 0, 1);
    let start = medium.start(at(10_500), 1, &there, true);
    assert_eq!(start, Start::Lost(Reception::RandomLoss));
}

/// Checks that noise over the threshold of -80 dBm makes the channel busy if it rises within the
/// assessment's 128 µs, but not after it.
#[test]
fn assessments_hear_noise() {
    for (begin, is_busy) in [
        (9_800, false),
        (9_872, false),
        (9_873, true),
        (10_400, true),
        (10_999, true),
        (11_000, false),
    ] {
        let mut medium = between(10..11, -70.0);
        medium.watch(at(begin), 1);
        assert_eq!(medium.was_busy(at(begin + 128), 1), is_busy, "{begin}");
        let mut quiet = between(10..11, -83.0);
        quiet.watch(at(begin), 1);
        assert!(!quiet.was_busy(at(begin + 128), 1), "{begin}");
    }
}
