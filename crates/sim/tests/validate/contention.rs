//! Saturated senders, compared with `scripts/validate/contention.py`, an independent simulation.

use redpoll_base::{Duration, Instant};
use redpoll_mac::{Ifs, MacConfig, TxStatus};
use redpoll_sim::RadioModel;
use redpoll_sim::testing::kernel::Seed;
use redpoll_sim::{MediumConfig, RadioConfig};

use crate::is_long;
use crate::macs::{Above, MacReport, Macs, Outgoing};
use crate::script::{numbers, run};
use crate::table::{Row, check};

/// Every node except the first sends to the first as fast as it can.
struct Saturated {
    len: usize,
    delivered: u64,
    broadcast: bool,
    started: Vec<bool>,
}

impl Above for Saturated {
    fn on(&mut self, _now: Instant, node: usize, said: MacReport) {
        match said {
            MacReport::Start => self.started[node] = true,
            MacReport::Done(TxStatus::Delivered) => self.delivered += 1,
            MacReport::Done(_) | MacReport::Frame(_) => {}
        }
    }

    fn next(&mut self, _now: Instant, node: usize) -> Option<Outgoing> {
        self.started[node].then_some(Outgoing {
            to: (!self.broadcast).then_some(0),
            len: self.len,
            tag: [0; 3],
        })
    }
}

pub struct Shares {
    pub per_second: f64,
    /// Share of the sent frames that were not acknowledged.
    pub collisions: f64,
}

/// Runs `senders` senders within range of one another, with one receiver in their midst.
pub fn saturate(
    config: &MacConfig,
    senders: usize,
    len: usize,
    broadcast: bool,
    seconds: u64,
    seed: u64,
) -> Shares {
    let places = vec![(0.0, 0.0); senders + 1];
    let radio = RadioConfig::from(RadioModel::Ideal);
    let mut macs = Macs::new(&MediumConfig::default(), &places, &radio, config, seed);
    let mut rng = Seed(seed).stream("start");
    for node in 1..=senders {
        macs.start_at(Instant::from_micros(u64::from(rng.below(100_000))), node);
    }
    let mut above = Saturated {
        len,
        delivered: 0,
        broadcast,
        started: vec![false; senders + 1],
    };
    macs.run_until(Instant::from_millis(seconds * 1_000), &mut above);
    let sent: u64 = macs
        .macs
        .iter()
        .map(|mac| u64::from(mac.counters().frames_sent))
        .sum();
    Shares {
        per_second: above.delivered as f64 / seconds as f64,
        collisions: 1.0 - above.delivered as f64 / sent as f64,
    }
}

/// Returns the standard's parameters: three retries, without a delay before them.
pub fn standard() -> MacConfig {
    MacConfig::default().with(|it| {
        it.max_frame_retries = 3;
        it.link_retry_delay = Duration::ZERO;
    })
}

pub fn saturated(config: &MacConfig, senders: usize, seconds: u64, seeds: u64) -> [f64; 2] {
    mean(seeds, |seed| {
        let shares = saturate(config, senders, 100, false, seconds, seed);
        Some([shares.per_second, shares.collisions])
    })
    .unwrap()
}

/// Returns the mean of pairs over seeds, if there are any.
pub fn mean(seeds: u64, of: impl Fn(u64) -> Option<[f64; 2]>) -> Option<[f64; 2]> {
    let mut sum = [0.0; 2];
    for seed in 1..=seeds {
        let [a, b] = of(seed)?;
        sum = [sum[0] + a, sum[1] + b];
    }
    Some(sum.map(|sum| sum / seeds as f64))
}

/// Returns the result of `scripts/validate/contention.py`; `None` without Python.
pub fn outside(more: &[&str], senders: usize, seconds: u64, seeds: u64) -> Option<[f64; 2]> {
    let (seconds, senders) = (seconds.to_string(), senders.to_string());
    mean(seeds, |seed| {
        let seed = seed.to_string();
        let mut args = vec!["--seconds", &seconds, "--seed", &seed];
        args.extend(more);
        args.push(&senders);
        let found = numbers(&run("contention.py", &args)?);
        Some([found[1], found[2]])
    })
}

#[test]
fn contention_is_that_of_a_program_of_its_own() {
    for (ifs, name) in [
        (Ifs::Minimum, "minimum"),
        (Ifs::Sequential, "sequential"),
        (Ifs::Off, "off"),
    ] {
        // Senders keep their relative phase, so more seeds help more than longer runs.
        let (senders, seconds, seeds, limit) = match is_long() {
            true => (&[1, 2, 5, 10, 20][..], 50, 20, 0.03),
            false if ifs == Ifs::Minimum => (&[1, 2, 20][..], 10, 3, 0.06),
            false => (&[1][..], 10, 3, 0.06),
        };
        let config = standard().with(|it| it.ifs = ifs);
        let mut rows = Vec::new();
        for senders in senders.iter().copied() {
            let Some(theirs) = outside(&["--ifs", name], senders, seconds, seeds) else {
                return;
            };
            let ours = saturated(&config, senders, seconds, seeds);
            let what = |what| format!("{senders} senders, {what}");
            rows.push(Row::within(what("a second"), ours[0], theirs[0], limit));
            let off = limit * theirs[1];
            rows.push(Row::near(what("collisions"), ours[1], theirs[1], off));
        }
        check(&format!("contention, contention.py --ifs {name}"), &rows);
    }
}
