//! Tests of links whose power differs by direction and by node, and changes with time.

use super::*;

/// Returns the power of each directed link between neighbours 5 m apart on a line, in dBm.
fn powers(sinr: Sinr, radios: &[RadioSpec], nodes: usize, seed: u64) -> Vec<(f64, f64)> {
    let positions: Vec<_> = (0..nodes).map(|i| (i as f64 * 5.0, 0.0)).collect();
    let config = Config::Sinr(sinr);
    let site = Site {
        radios,
        ..Site::of(&config, &positions)
    };
    let medium = Medium::new(&site, Seed(seed));
    let dbm = |from, to| oqpsk::to_db(link(&medium, from, to).power_mw);
    let pairs = (0..nodes - 1).map(|a| (dbm(a, a + 1), dbm(a + 1, a)));
    pairs.collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: Vec<f64> = values.iter().map(|v| (v - mean) * (v - mean)).collect();
    libm::sqrt(self::mean(&squares))
}

/// Checks that the two directions of a pair share the pair's shadowing, and that each direction
/// adds its own asymmetry: the difference of both has √2 times the deviation of one.
#[test]
fn directions_differ_by_the_configured_deviation() {
    let sinr = Sinr {
        shadowing_sigma_db: 4.0,
        asymmetry_sigma_db: 2.0,
        ..sinr_config()
    };
    let pairs = powers(sinr, &[], 2_000, 1);
    let there: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.0 - pair.1).collect();
    // Expected: √(4² + 2²) and 2√2. The standard error of a deviation of 2,000 values is 1.6 %.
    assert!(
        (deviation(&there) - 4.47).abs() < 0.25,
        "{}",
        deviation(&there)
    );
    assert!(
        (deviation(&differences) - 2.83).abs() < 0.16,
        "{}",
        deviation(&differences)
    );
    assert!(mean(&differences).abs() < 0.25);
    let symmetric = Sinr {
        asymmetry_sigma_db: 0.0,
        ..sinr
    };
    let sums = powers(symmetric, &[], 2_000, 1);
    assert!(sums.iter().all(|pair| pair.0 == pair.1));
}

/// Checks that a node's power is equal in all directions and correlated with its noise as
/// configured.
#[test]
fn nodes_differ_in_power_and_noise() {
    let sinr = Sinr {
        tx_power_sigma_db: 2.45,
        noise_sigma_db: 1.92,
        power_noise_correlation: -0.7,
        ..sinr_config()
    };
    let radios = radios::Radios::new(&sinr, &[], 4_000, Seed(1));
    let all: Vec<_> = (0..4_000).map(|node| radios.of(node)).collect();
    let power: Vec<f64> = all.iter().map(|radio| radio.tx_power_dbm).collect();
    let noise: Vec<f64> = all.iter().map(|radio| radio.noise_floor_dbm).collect();
    assert!(mean(&power).abs() < 0.15 && (mean(&noise) + 100.0).abs() < 0.12);
    assert!((deviation(&power) - 2.45).abs() < 0.11);
    assert!((deviation(&noise) - 1.92).abs() < 0.09);
    let both: Vec<f64> = power
        .iter()
        .zip(&noise)
        .map(|(p, n)| p * (n + 100.0))
        .collect();
    let correlation = mean(&both) / (2.45 * 1.92);
    assert!((correlation + 0.7).abs() < 0.05, "{correlation}");

    // Both links from a node carry the deviation of the node's transmit power.
    let pairs = powers(sinr, &[], 50, 2);
    let sent: Vec<f64> = pairs.windows(2).map(|two| two[1].0 - two[0].1).collect();
    assert!(sent.iter().all(|difference| difference.abs() < 1e-9));
    // Values given in the scenario replace drawn ones.
    let given = RadioSpec {
        tx_power_dbm: Some(-8.0),
        noise_floor_dbm: Some(-90.0),
    };
    let pairs = powers(sinr, &[given, given], 2, 3);
    assert!((pairs[0].0 - pairs[0].1).abs() < 1e-9);
    let own = Medium::new(
        &Site {
            radios: &[RadioSpec::default(), given],
            ..Site::of(&Config::Sinr(sinr_config()), &[(0.0, 0.0), (5.0, 0.0)])
        },
        Seed(1),
    );
    assert!(link(&own, 0, 1).power_mw > link(&own, 1, 0).power_mw);
}

/// Checks that a frame 9 dB over the usual noise floor is lost at a node with 13 dB more noise, and
/// received at a node with the usual noise.
#[test]
fn a_noisy_receiver_loses_frames_that_others_receive() {
    // The power at the receiver is -91.1 dBm.
    let positions = [(0.0, 0.0), (50.0, 0.0)];
    let noisy = RadioSpec {
        noise_floor_dbm: Some(-87.0),
        ..RadioSpec::default()
    };
    let config = Config::Sinr(sinr_config());
    let site = Site {
        radios: &[RadioSpec::default(), noisy],
        ..Site::of(&config, &positions)
    };
    let mut medium = Medium::new(&site, Seed(1));
    let (there, back) = (link(&medium, 0, 1), link(&medium, 1, 0));
    assert_eq!(
        medium.start(at(0), 1, &there, true),
        Start::Lost(Reception::RandomLoss)
    );
    medium.end(at(4_256), 1, &there);
    assert_eq!(medium.start(at(5_000), 2, &back, true), Start::Followed);
    assert_eq!(medium.end(at(9_256), 2, &back), Some(Reception::Intact));
}

/// Returns the gain of the link from node 0 to node 1 at each of `times`, in microseconds.
fn gains(gain: Gain, coherence_us: u64, seed: u64, times: impl Iterator<Item = u64>) -> Vec<f64> {
    let sinr = Sinr {
        fading: Fading { gain, coherence_us },
        ..sinr_config()
    };
    let config = Config::Sinr(sinr);
    let positions = [(0.0, 0.0), (5.0, 0.0)];
    let mut medium = Medium::new(&Site::of(&config, &positions), Seed(seed));
    let mean = link(&medium, 0, 1).power_mw;
    times
        .map(|us| {
            medium.refresh(at(us), 0);
            link(&medium, 0, 1).power_mw / mean
        })
        .collect()
}

/// Checks the shares of 20,000 blocks with less than a tenth of the mean power, and with less than
/// the mean: 1 - e^-0.1 and 1 - e^-1 of an exponential power; with a direct path of 6 dB by Rice's
/// distribution (Marcum's Q function).
#[test]
fn gains_are_distributed_as_they_should_be() {
    let below = |gains: &[f64], limit: f64| {
        gains.iter().filter(|gain| **gain < limit).count() as f64 / gains.len() as f64
    };
    let draw = |gain| gains(gain, 1_000, 1, (0..20_000).map(|i| i * 1_000));
    let rayleigh = draw(Gain::Rayleigh);
    assert!((mean(&rayleigh) - 1.0).abs() < 0.03, "{}", mean(&rayleigh));
    assert!((below(&rayleigh, 0.1) - 0.0952).abs() < 0.008);
    assert!((below(&rayleigh, 1.0) - 0.6321).abs() < 0.014);
    let rician = draw(Gain::Rician { k_db: 6.0 });
    assert!((mean(&rician) - 1.0).abs() < 0.02, "{}", mean(&rician));
    // The variance of the gain is (1 + 2K) / (1 + K)², with K = 3.98.
    let variance = deviation(&rician) * deviation(&rician);
    assert!((variance - 0.361).abs() < 0.02, "{variance}");
    let decibels = |gains: &[f64]| {
        gains
            .iter()
            .map(|gain| oqpsk::to_db(*gain))
            .collect::<Vec<_>>()
    };
    let lognormal = decibels(&draw(Gain::Lognormal { sigma_db: 3.0 }));
    assert!(mean(&lognormal).abs() < 0.1);
    assert!((deviation(&lognormal) - 3.0).abs() < 0.08);
}

/// Checks that a gain lasts for the coherence time: sampled every millisecond, it changes at every
/// twentieth sample, and gains of different blocks are independent.
#[test]
fn a_gain_lasts_for_the_coherence_time() {
    let gains = gains(Gain::Rayleigh, 20_000, 1, (0..40_000).map(|i| i * 1_000));
    let changes: Vec<usize> = (1..gains.len())
        .filter(|i| gains[*i] != gains[i - 1])
        .collect();
    assert!(
        changes.windows(2).all(|pair| pair[1] - pair[0] == 20),
        "{changes:?}"
    );
    let correlation = |lag: usize| {
        let products = gains
            .iter()
            .zip(&gains[lag..])
            .map(|(a, b)| (a - 1.0) * (b - 1.0));
        mean(&products.collect::<Vec<_>>())
    };
    assert!(correlation(1) > 0.85, "{}", correlation(1));
    assert!((correlation(10) - 0.5).abs() < 0.1, "{}", correlation(10));
    assert!(correlation(20).abs() < 0.1 && correlation(40).abs() < 0.1);
}

/// Checks that a gain does not depend on the order of sampling.
#[test]
fn a_gain_belongs_to_seed_link_and_time_alone() {
    let times = [0, 17_000, 23_000, 400_000, 401_000, 9_000_000];
    let all = gains(Gain::Rayleigh, 20_000, 7, times.into_iter());
    let often = gains(Gain::Rayleigh, 20_000, 7, (0..=9_000_000).step_by(1_000));
    for (time, gain) in times.iter().zip(&all) {
        assert_eq!(often[*time as usize / 1_000], *gain);
    }
    assert_ne!(all, gains(Gain::Rayleigh, 20_000, 8, times.into_iter()));
    let config = Config::Sinr(Sinr {
        fading: Fading {
            gain: Gain::Rayleigh,
            coherence_us: 20_000,
        },
        ..sinr_config()
    });
    let mut medium = Medium::new(&Site::of(&config, &[(0.0, 0.0), (5.0, 0.0)]), Seed(7));
    medium.refresh(at(0), 0);
    medium.refresh(at(0), 1);
    let (there, back) = (link(&medium, 0, 1), link(&medium, 1, 0));
    assert_ne!(there.power_mw, back.power_mw, "each direction has its own");
}

/// Checks that frames over a link 20 dB above its requirement are lost, whatever their length,
/// while the gain is below a hundredth of its mean. The probability of such an exponential gain
/// is 1 - e^-0.01.
#[test]
fn frames_are_lost_in_deep_fades() {
    let sinr = Sinr {
        // -75 dBm at the receiver, 20 dB over `sensitivity_dbm`.
        tx_power_dbm: -13.8,
        sensitivity_dbm: -95.0,
        noise_floor_dbm: -110.0,
        fading: Fading {
            gain: Gain::Rayleigh,
            coherence_us: 10_000,
        },
        ..sinr_config()
    };
    let config = Config::Sinr(sinr);
    let mut medium = Medium::new(&Site::of(&config, &[(0.0, 0.0), (5.0, 0.0)]), Seed(1));
    let mut lost = 0;
    for i in 0..40_000u64 {
        let begin = at(i * 10_000);
        medium.refresh(begin, 0);
        let there = link(&medium, 0, 1);
        if medium.start(begin, 1, &there, true) != Start::Followed {
            lost += 1;
        }
        medium.end(
            begin + redpoll_base::Duration::from_micros(4_256),
            1,
            &there,
        );
    }
    // At 5 m with exponent 3: -13.8 - 40.2 - 21.0 = -75.0 dBm. Expected losses: 398.
    assert!((330..470).contains(&lost), "{lost}");
}

/// Checks that a link's measured loss also applies to capture. Node 2's link to node 1 loses half
/// of the frames. They are 20 dB stronger than node 0's and begin in its synchronisation header:
/// half of them capture node 1.
#[test]
fn a_measured_link_loses_its_share_beside_other_frames_as_well() {
    let row = |from: u8, dbm: i8, pdr: f64| {
        format!("2018-01-11T16:00:00.0,{from},1,26,{dbm},{pdr},100\n")
    };
    let head = "{\"node_count\": 3, \"channels\": [26]}\n\
                datetime,src,dst,channel,mean_rssi,pdr,tx_count\n";
    let text = format!("{head}{}{}", row(0, -80, 1.0), row(2, -60, 0.5));
    let k7 = crate::measured::K7::read(text.as_bytes(), 26).unwrap();
    let measured = Measured::new(k7, redpoll_base::Duration::ZERO);
    let links = LinkSource::Measured(std::sync::Arc::new(measured));
    let config = Config::Sinr(sinr_config());
    let positions = [(0.0, 0.0); 3];
    let site = Site {
        links: &links,
        ..Site::of(&config, &positions)
    };
    let mut medium = Medium::new(&site, Seed(1));
    let (weak, strong) = (link(&medium, 0, 1), link(&medium, 2, 1));
    let (mut captured, mut spoilt) = (0, 0);
    for i in 0..4_000u64 {
        let begin = i * 10_000;
        assert_eq!(medium.start(at(begin), 1, &weak, true), Start::Followed);
        match medium.start(at(begin + 100), 2, &strong, true) {
            Start::Captured(1) => captured += 1,
            Start::Lost(Reception::RandomLoss) => {}
            other => panic!("{other:?}"),
        }
        if medium.end(at(begin + 4_000), 1, &weak) == Some(Reception::Collision) {
            spoilt += 1;
        }
        medium.end(at(begin + 4_100), 2, &strong);
    }
    assert!((1_870..2_130).contains(&captured), "{captured}");
    assert_eq!(
        captured + spoilt,
        4_000,
        "what is not followed still disturbs"
    );
}
