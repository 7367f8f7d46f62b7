//! Receiver in the SINR medium, which adds the powers of all signals that overlap.

use redpoll_base::{Instant, Rng};

use super::{Reception, Start, TxId};
use crate::medium::noise::NodeNoise;
use crate::medium::oqpsk::{BitSuccess, US_PER_BIT, from_db};
use crate::medium::{Link, Sinr};

#[derive(Clone, Copy, Debug)]
struct Followed {
    tx: TxId,
    /// Whether another frame was transmitted during this one.
    disturbed: bool,
    /// Whether an interferer transmitted during this frame.
    foreign: bool,
    power_mw: f64,
    since: Instant,
    /// Time up to which `ln_success` includes the received bits.
    settled: Instant,
    ln_success: f64,
}

impl Followed {
    /// Returns the reason for wrong bits in the frame.
    fn failure(&self) -> Reception {
        if self.disturbed {
            Reception::Collision
        } else if self.foreign {
            Reception::Interference
        } else {
            Reception::RandomLoss
        }
    }
}

#[derive(Clone, Debug)]
pub struct SinrEar {
    /// Number of current transmissions whose power arrives here.
    audible: u16,
    /// First time since [`SinrEar::watch`] at which the power reached the threshold.
    busy_since: Option<Instant>,
    power_mw: f64,
    /// Number of interferers on the air; `foreign_mw` is the sum of their power in milliwatts.
    foreign: u16,
    foreign_mw: f64,
    noise: NodeNoise,
    followed: Option<Followed>,
}

#[derive(Clone, Debug)]
pub struct SinrRules {
    capture_ratio: f64,
    co_channel: f64,
    cca_mw: f64,
    bits: BitSuccess,
}

impl SinrRules {
    pub fn new(config: &Sinr) -> Self {
        SinrRules {
            capture_ratio: from_db(config.capture_db),
            co_channel: from_db(config.co_channel_db),
            cca_mw: from_db(config.cca_threshold_dbm),
            bits: BitSuccess::default(),
        }
    }

    /// Returns the ratio of signal to interference and noise. `noise_mw` includes interferers.
    fn sinr(&self, signal_mw: f64, others_mw: f64, noise_mw: f64) -> f64 {
        signal_mw / (noise_mw + self.co_channel * others_mw)
    }
}

/// Preamble and start-of-frame delimiter: 160 µs.
const SYNCHRONISATION_US: u64 = 160;
const SYNCHRONISATION_BITS: f64 = SYNCHRONISATION_US as f64 / US_PER_BIT;

impl SinrEar {
    /// Returns a receiver at which no transmission arrives yet.
    pub fn new(noise: NodeNoise) -> SinrEar {
        SinrEar {
            audible: 0,
            busy_since: None,
            power_mw: 0.0,
            foreign: 0,
            foreign_mw: 0.0,
            noise,
            followed: None,
        }
    }

    /// Returns the transmission that the receiver receives.
    pub fn followed(&self) -> Option<TxId> {
        self.followed.map(|followed| followed.tx)
    }

    pub fn abandon(&mut self) -> Option<TxId> {
        self.followed.take().map(|followed| followed.tx)
    }

    pub fn watch(&mut self, now: Instant, rules: &SinrRules) {
        self.busy_since = self.is_busy(now, rules).then_some(now);
    }

    pub fn was_busy(&mut self, now: Instant, rules: &SinrRules) -> bool {
        if self.busy_since.is_some_and(|since| since < now) {
            return true;
        }
        // Noise may have risen since `watch`. An assessment takes less than a millisecond, so only
        // the latest noise level can be new. A frame that begins at `now` sets `busy_since`, but
        // does not count.
        let last = Instant::from_micros(now.as_micros().saturating_sub(1));
        self.busy_since.is_none() && self.noise.changes() && self.is_busy(last, rules)
    }

    pub fn is_busy(&mut self, now: Instant, rules: &SinrRules) -> bool {
        self.power_mw + self.foreign_mw + self.noise.at(now) >= rules.cca_mw
    }

    pub fn start(
        &mut self,
        now: Instant,
        tx: TxId,
        link: &Link,
        ready: bool,
        rules: &SinrRules,
        rng: &mut Rng,
    ) -> Start {
        self.settle(now, rules);
        let others_mw = self.power_mw;
        self.audible += 1;
        self.power_mw += link.power_mw;
        if self.is_busy(now, rules) {
            self.busy_since.get_or_insert(now);
        }
        if let Some(followed) = &mut self.followed {
            followed.disturbed = true;
        }
        if !link.receives {
            return Start::Lost(Reception::OutOfRange);
        }
        if !ready {
            return Start::NotReady;
        }
        let noise_mw = self.noise.at(now) + self.foreign_mw;
        let ratio = link.power_mw / (noise_mw + others_mw);
        let follow = Followed {
            tx,
            disturbed: others_mw > 0.0,
            foreign: self.foreign > 0,
            power_mw: link.power_mw,
            since: now,
            settled: now,
            ln_success: 0.0,
        };
        if let Some(earlier) = self.followed {
            let synchronising = now.since(earlier.since).as_micros() < SYNCHRONISATION_US;
            if !synchronising || ratio < rules.capture_ratio {
                return Start::Lost(Reception::Collision);
            }
            if link.loses(rng) {
                return Start::Lost(Reception::RandomLoss);
            }
            self.followed = Some(follow);
            return Start::Captured(earlier.tx);
        }
        // The header is detected if the probability that all its bits are correct is at least 1/2.
        let found = rules.sinr(link.power_mw, others_mw, noise_mw);
        let ln_found = rules.bits.ln_of(found) * SYNCHRONISATION_BITS;
        if ln_found < -std::f64::consts::LN_2 {
            return Start::Lost(follow.failure());
        }
        if link.loses(rng) {
            return Start::Lost(Reception::RandomLoss);
        }
        self.followed = Some(follow);
        Start::Followed
    }

    pub fn end(
        &mut self,
        now: Instant,
        tx: TxId,
        link: &Link,
        rules: &SinrRules,
        rng: &mut Rng,
    ) -> Option<Reception> {
        self.settle(now, rules);
        self.audible -= 1;
        // With no audible sender the power is exactly zero, so rounding errors do not accumulate.
        self.power_mw = if self.audible == 0 {
            0.0
        } else {
            (self.power_mw - link.power_mw).max(0.0)
        };
        let followed = self.followed.take_if(|followed| followed.tx == tx)?;
        let chance = libm::exp(followed.ln_success);
        Some(if chance >= 1.0 || crate::fault::unit(rng) < chance {
            Reception::Intact
        } else {
            followed.failure()
        })
    }

    pub fn interfere(&mut self, now: Instant, power_mw: f64, on: bool, rules: &SinrRules) {
        self.settle(now, rules);
        if !on {
            self.foreign -= 1;
            self.foreign_mw = match self.foreign {
                0 => 0.0,
                _ => (self.foreign_mw - power_mw).max(0.0),
            };
            return;
        }
        self.foreign += 1;
        self.foreign_mw += power_mw;
        if self.is_busy(now, rules) {
            self.busy_since.get_or_insert(now);
        }
        if let Some(followed) = &mut self.followed {
            followed.foreign = true;
        }
    }

    /// Accounts for the bits received since the last change of interference.
    fn settle(&mut self, now: Instant, rules: &SinrRules) {
        let Some(followed) = &mut self.followed else {
            return;
        };
        let (from, until) = (followed.settled, now);
        followed.settled = now;
        let others_mw = (self.power_mw - followed.power_mw).max(0.0);
        let (signal_mw, foreign_mw) = (followed.power_mw, self.foreign_mw);
        self.noise.for_each_level(from, until, |noise_mw, us| {
            let ratio = rules.sinr(signal_mw, others_mw, noise_mw + foreign_mw);
            followed.ln_success += rules.bits.ln_of(ratio) * (us as f64 / US_PER_BIT);
        });
    }
}
