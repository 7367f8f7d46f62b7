//! Access to neighbours whose receivers are mostly off: NullRDC, ContikiMAC, X-MAC and LPP
//! with the constants and defects of Contiki's releases, and Contiki's CSMA layer.
//!
//! [`Duty`] decides; the [`Mac`](crate::Mac) carries out. `wake.rs` has what a receiver does,
//! `phases.rs` what a sender learns of it, `layer.rs` when a frame is sent again,
//! `constants.rs` the constants.

mod config;
mod constants;
mod layer;
mod phases;
mod wake;

pub use config::{DutyConfig, LayerConfig, Method, Release};
use constants::Timing;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_wire::ieee802154::{Address, timing};

use crate::counters::count;
use crate::{Channel, Strobe};
use layer::Layer;
use phases::Phases;
use wake::Wake;

/// What a duty-cycled MAC counts beside [`MacCounters`](crate::MacCounters).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DutyCounters {
    /// Times that the receiver was switched on to see whether somebody sends.
    pub wake_ups: u32,
    /// Channel assessments, those before sending included.
    pub assessments: u32,
    /// Wake-ups that found something in the channel.
    pub alarms: u32,
    /// Frames that were repeated, or sent when the receiver said that it listens.
    pub trains: u32,
    /// Of those, how many began when the receiver was expected to wake up.
    pub locked_trains: u32,
    /// Attempts that found the channel busy before or while they were made.
    pub collisions: u32,
}

/// The frame check sequence, which frames at the seam to the radio lack.
const FCS: usize = 2;

/// How far the frame in service has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The attempt begins.
    Fresh,
    /// It is time: the receiver is expected to wake up soon.
    Locked,
    /// The channel is to be assessed so often before the frame is sent.
    Sensing { left: u8, locked: bool },
}

/// What the MAC is to do with the frame in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// Nothing before this time.
    Wait(Instant),
    /// Assess the channel.
    Assess,
    /// Send the frame once, after an assessment.
    Send,
    /// Repeat it.
    Strobe(Strobe),
    /// The attempt fails as on a busy channel.
    Collision,
}

/// To whom, and under which circumstances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) dst: Address,
    /// The frame before it promised this one to the same neighbour, which has
    /// acknowledged that.
    pub(crate) continues: bool,
}

impl Target {
    fn is_broadcast(&self) -> bool {
        self.dst == Address::BROADCAST
    }
}

/// The state of a duty-cycled MAC.
#[derive(Clone, Debug)]
pub(crate) struct Duty {
    config: DutyConfig,
    timing: Timing,
    layer: Option<Layer>,
    wake: Option<Wake>,
    phases: Phases,
    stage: Stage,
    pub(crate) counters: DutyCounters,
}

impl Duty {
    /// The node's cycle and clock begin anywhere within their first round.
    pub(crate) fn new(config: DutyConfig, rng: &mut Rng) -> Self {
        let timing = Timing::of(&config);
        let first_us = rng.below_u64(timing.cycle.as_micros().max(1));
        let tick_offset_us = layer::tick_offset(rng);
        let release = config.release;
        Duty {
            layer: config
                .layer
                .map(|layer| Layer::new(layer, release, tick_offset_us)),
            wake: config
                .sleeps()
                .then(|| Wake::new(&config, Instant::from_micros(first_us))),
            phases: Phases::new(),
            stage: Stage::Fresh,
            counters: DutyCounters::default(),
            config,
            timing,
        }
    }

    // --- this node's receiver ---

    /// Whether the receiver is mostly off.
    pub(crate) fn sleeps(&self) -> bool {
        self.wake.is_some()
    }

    /// Whether a receiver that is mostly off is to be on.
    pub(crate) fn listens(&self) -> bool {
        self.wake.as_ref().is_none_or(Wake::listens)
    }

    /// When the receiver's cycle goes on.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.wake.as_ref().and_then(Wake::next)
    }

    /// Whether the receiver's cycle needs an assessment of the channel now.
    pub(crate) fn poll(&mut self, now: Instant) -> bool {
        let Some(wake) = &mut self.wake else {
            return false;
        };
        let was_off = wake.is_off();
        let needs = wake.poll(now, &self.timing);
        if needs {
            count(&mut self.counters.assessments);
            if was_off {
                count(&mut self.counters.wake_ups);
            }
        }
        needs
    }

    /// That assessment is done.
    pub(crate) fn on_assessed(&mut self, now: Instant, channel: Channel) {
        if let Some(wake) = &mut self.wake {
            let was_on = wake.listens();
            wake.on_assessed(now, channel, &self.timing);
            if wake.listens() && !was_on {
                count(&mut self.counters.alarms);
            }
        }
    }

    /// A frame for this node has come; `more`: its sender has another.
    pub(crate) fn on_frame(&mut self, now: Instant, more: bool) {
        if let Some(wake) = &mut self.wake {
            wake.on_frame(now, more, &self.timing);
        }
    }

    // --- the frame in service ---

    /// Whether frames to a neighbour ask for an acknowledgement.
    pub(crate) fn asks_for_acks(&self) -> bool {
        self.config.method != Method::NullRdc || self.config.link_acks
    }

    /// Whether what has been received once is not received again, also if it asked for no
    /// acknowledgement.
    pub(crate) fn repeats_all(&self) -> bool {
        self.config.method == Method::ContikiMac
    }

    /// Whether the frame in service has the channel, so that the receiver's cycle waits.
    pub(crate) fn is_sensing(&self) -> bool {
        matches!(self.stage, Stage::Sensing { .. })
    }

    /// A frame comes into service; when its first attempt begins.
    pub(crate) fn on_submit(&mut self, now: Instant, target: &Target) -> Instant {
        self.stage = Stage::Fresh;
        match &self.layer {
            Some(layer) if !self.is_awake(target) => layer.first(now, &self.timing),
            _ => now,
        }
    }

    /// The service of a frame ends.
    pub(crate) fn on_end(&mut self, now: Instant) {
        self.stage = Stage::Fresh;
        if let Some(layer) = &mut self.layer {
            layer.on_end(now);
        }
    }

    /// What is to be done for the frame in service.
    pub(crate) fn advance(&mut self, now: Instant, target: &Target) -> Move {
        if self.config.method == Method::NullRdc {
            return Move::Send;
        }
        match self.stage {
            Stage::Fresh => self.begin(now, target),
            Stage::Locked => self.sense(self.timing.assessments, true),
            Stage::Sensing { left: 0, locked } => self.strobe(locked),
            Stage::Sensing { .. } => {
                count(&mut self.counters.assessments);
                Move::Assess
            }
        }
    }

    fn begin(&mut self, now: Instant, target: &Target) -> Move {
        if self.wake.as_ref().is_some_and(|wake| wake.is_in_burst(now)) {
            return self.collide();
        }
        if self.is_awake(target) {
            return self.strobe(true);
        }
        let (cycle, guard) = (self.timing.cycle, self.timing.guard);
        let is_locked = self.config.phase_lock && !target.is_broadcast();
        let start = is_locked.then(|| self.phases.start(now, target.dst, cycle, guard));
        match start.flatten() {
            Some(at) => {
                self.stage = Stage::Locked;
                Move::Wait(at)
            }
            None => self.sense(self.timing.assessments, false),
        }
    }

    fn sense(&mut self, left: u8, locked: bool) -> Move {
        self.stage = Stage::Sensing { left, locked };
        match left {
            0 => self.strobe(locked),
            _ => {
                count(&mut self.counters.assessments);
                Move::Assess
            }
        }
    }

    fn strobe(&mut self, locked: bool) -> Move {
        count(&mut self.counters.trains);
        if locked {
            count(&mut self.counters.locked_trains);
        }
        self.stage = Stage::Fresh;
        Move::Strobe(Strobe {
            gap: self.timing.gap,
            detect: self.timing.detect,
            period: Duration::ZERO,
            span: match locked {
                true => self.timing.locked_strobe,
                false => self.timing.strobe,
            },
            any_ack: self.config.release == Release::Contiki25,
        })
    }

    /// An assessment before sending is done: when the next step follows, or none does.
    pub(crate) fn on_sensed(&mut self, now: Instant, channel: Channel) -> Move {
        match (self.stage, channel) {
            (Stage::Sensing { left, locked }, Channel::Clear) => {
                let left = left.saturating_sub(1);
                self.stage = Stage::Sensing { left, locked };
                Move::Wait(now + self.timing.pause)
            }
            _ => self.collide(),
        }
    }

    fn collide(&mut self) -> Move {
        count(&mut self.counters.collisions);
        self.stage = Stage::Fresh;
        Move::Collision
    }

    /// While the frame was repeated something else came.
    pub(crate) fn on_collision(&mut self) {
        let _ = self.collide();
    }

    /// `target` has acknowledged a copy that began so long ago.
    /// Contiki 2.5 remembers the copy before that one.
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        target: &Target,
        begun_ago: Duration,
        mpdu_len: usize,
    ) {
        self.stage = Stage::Fresh;
        if self.is_awake(target) {
            return;
        }
        let ago = match self.config.release {
            Release::Contiki25 => begun_ago.plus(self.copy_time(mpdu_len)),
            Release::Contiki27 | Release::Contiki30 => begun_ago,
        };
        let at_us = now.as_micros().saturating_sub(ago.as_micros());
        self.phases
            .on_answer(target.dst, Instant::from_micros(at_us));
    }

    /// From the beginning of one copy of a frame to that of the next.
    fn copy_time(&self, mpdu_len: usize) -> Duration {
        let psdu_len = mpdu_len.saturating_add(FCS);
        let fixed = timing::CCA_US.saturating_add(timing::TURNAROUND_US);
        Duration::from_micros(timing::air_time_us(psdu_len).saturating_add(fixed))
            .plus(self.timing.gap)
    }

    /// Nobody has acknowledged a frame.
    pub(crate) fn on_silence(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        if !self.is_awake(target) {
            self.phases.on_silence(now, target.dst);
        }
    }

    /// Whether the receiver is known to listen.
    fn is_awake(&self, target: &Target) -> bool {
        target.continues && self.config.bursts && self.config.method == Method::ContikiMac
    }

    // --- Contiki's CSMA layer ---

    /// Whether frames are sent again by the rules of Contiki's CSMA layer.
    pub(crate) fn has_layer(&self) -> bool {
        self.layer.is_some()
    }

    /// When a frame is sent again that went unacknowledged so often; `None`: it is given up.
    pub(crate) fn again(&self, now: Instant, transmissions: u8, rng: &mut Rng) -> Option<Instant> {
        let layer = self.layer.as_ref()?;
        (!layer.gives_up(transmissions)).then(|| layer.again(now, transmissions, &self.timing, rng))
    }
}
