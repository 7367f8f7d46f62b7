//! Access to neighbours whose receivers are mostly off: NullRDC, ContikiMAC, X-MAC and LPP
//! with the constants and defects of Contiki's releases, and Contiki's CSMA layer.
//!
//! [`Duty`] decides; the [`Mac`](crate::Mac) carries out. What a receiver does is in
//! `receiver.rs`, with `wake.rs` (ContikiMAC), `onoff.rs` (X-MAC), `powercycle.rs` (CX-MAC)
//! and `probing.rs` (LPP), of which the last two go by the ticks of `clock.rs`; what a sender learns of its neighbours in `phases.rs`; when a frame is sent again in
//! `layer.rs`; what frames hold in `header.rs`; the constants in `constants.rs`.

mod clock;
mod config;
mod constants;
mod header;
mod layer;
mod onoff;
mod phases;
mod powercycle;
mod probing;
mod receiver;
mod wake;

use clock::Clock;
pub use config::{DutyConfig, LayerConfig, Method, Release};
use constants::Timing;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_wire::ieee802154::Address;

use crate::counters::count;
use crate::{Channel, Strobe};
pub(crate) use header::Meaning;
use layer::Layer;
use phases::Phases;
pub(crate) use receiver::Errand;
use receiver::Receiver;

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

/// X-MAC: so many wake-ups long a node yields to a sender whose strobe it has heard.
const YIELDS: u8 = 2;

/// How far the frame in service has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The attempt begins.
    Fresh,
    /// It is time: the receiver is expected to wake up soon, or nothing is known of it.
    Timed { locked: bool },
    /// CX-MAC: it is not; the processor waits, and the radio is off.
    Dozing { locked: bool },
    /// ContikiMAC: the channel is to be assessed so often before the frame is sent.
    Sensing { left: u8, locked: bool },
    /// X-MAC: a strobe has been answered. LPP: a probe has come. The frame goes out; a
    /// broadcast of LPP then goes on waiting for other probes.
    Invited { until: Option<Instant> },
    /// LPP: waiting for a probe.
    Awaiting { until: Instant },
}

/// What the MAC is to do with the frame in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// Nothing before this time.
    Wait(Instant),
    /// Listen until then, unless a probe comes.
    Await(Instant),
    /// Assess the channel.
    Assess,
    /// Send the frame once, with an assessment or without.
    Send { cca: bool },
    /// Repeat what [`Duty::cargo`] has put into the radio.
    Strobe(Strobe),
    /// The attempt fails as on a busy channel.
    Collision,
    /// It fails as without an acknowledgement.
    Silence,
    /// The broadcast has been sent to all who asked for it.
    Done,
}

/// What the radio must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cargo {
    /// Nothing yet.
    Nothing,
    /// The frame in service.
    Frame,
    /// A strobe.
    Short,
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
    receiver: Receiver,
    phases: Phases,
    stage: Stage,
    /// X-MAC: wake-ups for which this node sends nothing, for others do
    /// (`someone_is_sending`).
    yields: u8,
    pub(crate) counters: DutyCounters,
}

impl Duty {
    /// The node's cycle and clock begin anywhere within their first round.
    pub(crate) fn new(config: DutyConfig, rng: &mut Rng) -> Self {
        let timing = Timing::of(&config);
        let first_us = rng.below_u64(timing.cycle.as_micros().max(1));
        let clock = Clock::new(rng);
        let release = config.release;
        Duty {
            layer: config.layer.map(|layer| Layer::new(layer, release, clock)),
            receiver: Receiver::new(&config, Instant::from_micros(first_us), clock),
            phases: Phases::new(),
            stage: Stage::Fresh,
            yields: 0,
            counters: DutyCounters::default(),
            config,
            timing,
        }
    }

    // --- this node's receiver ---

    /// Whether the receiver is mostly off.
    pub(crate) fn sleeps(&self) -> bool {
        self.receiver.sleeps()
    }

    /// Whether the receiver is to be on between works: for its own cycle, or because strobes
    /// are about to be sent.
    pub(crate) fn listens(&self) -> bool {
        let strobes = self.config.method.has_strobes() && self.stage != Stage::Fresh;
        match self.stage {
            Stage::Dozing { .. } => false,
            _ => strobes || self.receiver.listens(),
        }
    }

    /// Whether the frame in service waits for a probe.
    pub(crate) fn awaits_probe(&self) -> bool {
        matches!(self.stage, Stage::Awaiting { .. }) && !self.receiver.is_off()
    }

    /// When the receiver's cycle goes on.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.receiver.next()
    }

    /// Goes on with the receiver's cycle. What it needs the radio for must be done.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Errand> {
        let wake_ups = self.counters.wake_ups;
        let waits = matches!(self.stage, Stage::Awaiting { .. });
        let errand = self
            .receiver
            .poll(now, waits, &self.timing, &mut self.counters);
        if self.counters.wake_ups != wake_ups {
            self.yields = self.yields.saturating_sub(1);
        }
        errand
    }

    /// The assessment is done that the receiver's cycle needed.
    pub(crate) fn on_assessed(&mut self, now: Instant, channel: Channel, rng: &mut Rng) {
        let was_on = self.receiver.listens();
        self.receiver.on_assessed(now, channel, &self.timing, rng);
        if channel != Channel::Clear && !was_on && self.receiver.listens() {
            count(&mut self.counters.alarms);
        }
    }

    /// The probe that the receiver's cycle needed has been sent, or could not be.
    pub(crate) fn on_probed(&mut self, now: Instant) {
        self.receiver.on_probed(now);
    }

    /// A frame for this node has come; `more`: its sender has another.
    pub(crate) fn on_frame(&mut self, now: Instant, more: bool) {
        self.yields = 0;
        self.receiver.on_frame(now, more, &self.timing);
    }

    /// A strobe for this node has come.
    pub(crate) fn on_strobe(&mut self, now: Instant) {
        self.receiver.on_strobe(now, &self.timing);
        if self.config.method == Method::CxMac {
            self.yields = 1;
        }
    }

    /// A frame for another node has come.
    pub(crate) fn on_overheard(&mut self, payload: &[u8]) {
        match self.read(payload) {
            Meaning::Strobe => self.yields = YIELDS,
            Meaning::Data(_) if self.config.method == Method::CxMac => self.yields = 0,
            _ => {}
        }
    }

    // --- what frames hold ---

    /// Whether frames to a neighbour ask for an acknowledgement.
    pub(crate) fn asks_for_acks(&self) -> bool {
        match self.config.method {
            Method::NullRdc => self.config.link_acks,
            Method::CxMac => false,
            Method::ContikiMac | Method::XMac | Method::Lpp => true,
        }
    }

    /// Whether what has been received once is not received again, also if it asked for no
    /// acknowledgement.
    pub(crate) fn repeats_all(&self) -> bool {
        matches!(
            self.config.method,
            Method::ContikiMac | Method::XMac | Method::CxMac
        )
    }

    /// The bytes of the method's own header before a payload.
    pub(crate) fn header_len(&self) -> usize {
        header::len(&self.config)
    }

    /// Writes that header; how long the part of the frame is behind the MAC header.
    pub(crate) fn write_header(
        &self,
        addresses: (Address, Address),
        mac_header_len: usize,
        area: &mut [u8],
        payload_len: usize,
    ) -> usize {
        header::write(&self.config, addresses, mac_header_len, area, payload_len)
    }

    /// What the payload of a frame is.
    pub(crate) fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f> {
        header::read(&self.config, payload)
    }

    /// What a strobe or a probe holds behind the MAC header, and how much of it.
    pub(crate) fn short(&self, from: Address) -> ([u8; 6], usize) {
        header::short(&self.config, from)
    }

    // --- the frame in service ---

    /// Whether the frame in service has the channel, so that the receiver's cycle waits.
    pub(crate) fn is_sensing(&self) -> bool {
        let strobes = self.config.method.has_strobes() && self.stage != Stage::Fresh;
        strobes || matches!(self.stage, Stage::Sensing { .. } | Stage::Invited { .. })
    }

    /// What the radio must have before the next step: the frame in service, or a short
    /// frame that is repeated in its place.
    pub(crate) fn cargo(&self, target: &Target) -> Cargo {
        let is_invited = matches!(self.stage, Stage::Invited { .. });
        match self.config.method {
            Method::XMac | Method::CxMac if !target.is_broadcast() && !is_invited => Cargo::Short,
            Method::Lpp if !is_invited => Cargo::Nothing,
            _ => Cargo::Frame,
        }
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

    /// The frame in service is given back.
    pub(crate) fn on_preempted(&mut self) {
        self.stage = Stage::Fresh;
    }

    /// What is to be done for the frame in service.
    pub(crate) fn advance(&mut self, now: Instant, target: &Target) -> Move {
        match self.config.method {
            Method::NullRdc => Move::Send { cca: true },
            Method::ContikiMac => self.advance_contikimac(now, target),
            Method::XMac | Method::CxMac => self.advance_xmac(now, target),
            Method::Lpp => self.advance_lpp(now, target),
        }
    }

    fn advance_contikimac(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Timed { locked } => self.sense(self.timing.assessments, locked),
            Stage::Sensing { left, locked } => self.sense(left, locked),
            _ if self.receiver.is_in_burst(now) => self.collide(),
            _ if self.is_awake(target) => self.strobe(true),
            _ => match self.phase_start(now, target) {
                Some(at) => {
                    self.stage = Stage::Timed { locked: true };
                    Move::Wait(at)
                }
                None => self.sense(self.timing.assessments, false),
            },
        }
    }

    /// When a frame is to begin to a neighbour whose phase is known.
    fn phase_start(&self, now: Instant, target: &Target) -> Option<Instant> {
        let is_locked = self.config.phase_lock && !target.is_broadcast();
        let (cycle, guard) = (self.timing.cycle, self.timing.guard);
        is_locked.then(|| self.phases.start(now, target.dst, cycle, guard))?
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
        self.count_train(locked);
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
            gives_way: true,
        })
    }

    fn count_train(&mut self, locked: bool) {
        count(&mut self.counters.trains);
        if locked {
            count(&mut self.counters.locked_trains);
        }
    }

    /// The receiver is on for one strobe's time before the first of them.
    fn advance_xmac(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Invited { .. } => Move::Send { cca: false },
            Stage::Timed { locked } => {
                self.count_train(locked);
                Move::Strobe(Strobe {
                    gap: self.timing.gap,
                    detect: self.timing.detect,
                    period: self.timing.strobe_period,
                    span: self.timing.strobe,
                    any_ack: true,
                    gives_way: self.config.method == Method::CxMac,
                })
            }
            Stage::Dozing { locked } => {
                self.stage = Stage::Timed { locked };
                Move::Wait(now + self.timing.strobe_period)
            }
            _ if self.yields > 0 => self.collide(),
            _ => {
                let start = self.encounter(now, target);
                let locked = start > now;
                if self.config.method == Method::CxMac {
                    self.receiver.on_send();
                    self.stage = Stage::Dozing { locked };
                    return Move::Wait(start);
                }
                self.stage = Stage::Timed { locked };
                Move::Wait(start + self.timing.strobe_period)
            }
        }
    }

    /// When strobes begin. Of a neighbour that has answered once Contiki's X-MAC believes to
    /// know the phase, but has never stored it: it waits for a multiple of the cycle by its
    /// own clock.
    fn encounter(&self, now: Instant, target: &Target) -> Instant {
        if !self.config.phase_lock || target.is_broadcast() || !self.phases.knows(target.dst) {
            return now;
        }
        if self.config.method == Method::CxMac {
            let next = self
                .phases
                .start(now, target.dst, self.timing.cycle, Duration::ZERO);
            let wait = next.unwrap_or(now).since(now).minus(self.timing.guard);
            return now + wait;
        }
        let cycle_us = self.timing.cycle.as_micros().max(1);
        let into_cycle = now.as_micros().checked_rem(cycle_us).unwrap_or(0);
        let mut wait_us = cycle_us.saturating_sub(into_cycle);
        if wait_us < self.timing.guard.as_micros() {
            wait_us = wait_us.saturating_add(cycle_us);
        }
        now + Duration::from_micros(wait_us).minus(self.timing.guard)
    }

    fn advance_lpp(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Invited { .. } => {
                self.count_train(true);
                Move::Send { cca: true }
            }
            Stage::Awaiting { until } if until <= now => {
                self.stage = Stage::Fresh;
                self.receiver.on_sent();
                match target.is_broadcast() {
                    true => Move::Done,
                    false => Move::Silence,
                }
            }
            Stage::Awaiting { until } => Move::Await(until),
            _ => {
                let until = now
                    + match target.is_broadcast() {
                        true => self.timing.broadcast_lifetime,
                        false => self.timing.lifetime,
                    };
                self.stage = Stage::Awaiting { until };
                self.receiver.on_send();
                Move::Await(until)
            }
        }
    }

    /// A probe has come from `src`; whether the frame in service goes out now.
    pub(crate) fn on_probe(&mut self, src: Address, target: &Target) -> bool {
        let Stage::Awaiting { until } = self.stage else {
            return false;
        };
        let is_awaited = target.is_broadcast() || target.dst == src;
        if is_awaited {
            let until = target.is_broadcast().then_some(until);
            self.stage = Stage::Invited { until };
        }
        is_awaited
    }

    /// The frame in service has been sent, or its channel was busy, and asks for no
    /// acknowledgement; whether it goes on waiting for probes.
    pub(crate) fn goes_on(&mut self) -> bool {
        match self.stage {
            Stage::Invited { until: Some(until) } => {
                self.stage = Stage::Awaiting { until };
                true
            }
            _ => false,
        }
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

    /// While the frame was repeated something else came. Whether that is a collision to the
    /// layer above, and not just silence.
    pub(crate) fn on_collision(&mut self) -> bool {
        let _ = self.collide();
        if self.config.method == Method::CxMac {
            self.yields = self.yields.saturating_add(1);
        }
        self.config.method != Method::Lpp
    }

    /// X-MAC: a strobe has been answered.
    pub(crate) fn on_strobe_answer(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Invited { until: None };
        if self.config.method == Method::CxMac {
            self.phases.on_answer(target.dst, now);
        }
    }

    /// `target` has acknowledged a copy that began so long ago.
    pub(crate) fn on_answer(&mut self, now: Instant, target: &Target, begun_ago: Duration) {
        self.stage = Stage::Fresh;
        if self.is_awake(target) {
            return;
        }
        let at_us = now.as_micros().saturating_sub(begun_ago.as_micros());
        self.phases
            .on_answer(target.dst, Instant::from_micros(at_us));
    }

    /// `target` has acknowledged a frame that was sent once.
    pub(crate) fn on_ack(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        self.receiver.on_sent();
        if self.config.method == Method::XMac {
            self.phases.on_answer(target.dst, now);
        }
    }

    /// Nobody has acknowledged a frame.
    pub(crate) fn on_silence(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        self.receiver.on_sent();
        if !self.is_awake(target) && self.config.method == Method::ContikiMac {
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

/// Moves `next`, a time in steps of `cycle`, behind `now`; the last step that `now` is not
/// before.
fn skip(next: &mut Instant, now: Instant, cycle: Duration) -> Instant {
    let cycle_us = cycle.as_micros().max(1);
    let late_us = now.since(*next).as_micros();
    let into_us = late_us.checked_rem(cycle_us).unwrap_or(0);
    let began = *next + Duration::from_micros(late_us.saturating_sub(into_us));
    *next = began + cycle;
    began
}

#[cfg(test)]
mod tests;
