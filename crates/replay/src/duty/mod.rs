//! Access to neighbours whose receivers are mostly off: NullRDC, ContikiMAC, X-MAC and LPP with the
//! constants and defects of Contiki's releases, and Contiki's CSMA layer.
//!
//! [`Duty`] makes the decisions, and the MAC carries them out.
//!
//! - `receiver.rs`: the receiver's cycle, with `wake.rs` (ContikiMAC), `onoff.rs` (X-MAC),
//!   `powercycle.rs` (CX-MAC) and `probing.rs` (LPP); the last two use the ticks of `clock.rs`;
//! - `phases.rs`: the learned wake-up times of neighbours;
//! - `layer.rs`: retransmissions by Contiki's CSMA layer;
//! - `header.rs`: the contents of frames; `constants.rs`: the constants.

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
use redpoll_mac::{
    Cargo, Channel, Cycle, CycleEvent, CycleProperties, CycleStatus, Errand, Meaning, Target,
};
use redpoll_wire::ieee802154::Address;

use crate::count;
use crate::{Strobe, Work};
use layer::Layer;
use phases::Phases;
use receiver::Receiver;

/// Counters of a duty-cycled MAC, in addition to `redpoll_mac::MacCounters`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DutyCounters {
    /// Times that the receiver was switched on to detect senders.
    pub wake_ups: u32,
    /// Channel assessments, including those before transmissions.
    pub assessments: u32,
    /// Wake-ups that detected energy.
    pub alarms: u32,
    /// Frames that were repeated, or sent after the receiver's probe.
    pub trains: u32,
    /// Trains that began at the expected wake-up of the receiver.
    pub locked_trains: u32,
    /// Attempts that found the channel busy before or during the transmission.
    pub collisions: u32,
}

/// X-MAC: number of wake-ups for which a node yields after it overheard a strobe for another node.
const YIELDS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Fresh,
    /// The frame may start: the receiver is expected to wake up soon, or its phase is unknown.
    Timed {
        locked: bool,
    },
    /// CX-MAC: the processor waits for the start time with the radio off.
    Dozing {
        locked: bool,
    },
    /// ContikiMAC: the channel is assessed `left` times before the frame is sent.
    Sensing {
        left: u8,
        locked: bool,
    },
    /// The frame is sent, because a strobe was answered (X-MAC) or a probe arrived (LPP). A
    /// broadcast of LPP then waits for further probes.
    Invited {
        until: Option<Instant>,
    },
    Awaiting {
        until: Instant,
    },
}

type Move = redpoll_mac::Move<Work>;

#[derive(Clone, Debug)]
pub struct Duty {
    config: DutyConfig,
    timing: Timing,
    layer: Option<Layer>,
    receiver: Receiver,
    phases: Phases,
    stage: Stage,
    /// X-MAC: number of wake-ups for which this node does not send, because another node does
    /// (Contiki's `someone_is_sending`).
    yields: u8,
    pub(crate) counters: DutyCounters,
}

impl Duty {
    /// Starts the node's cycle and clock with random phases.
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

    /// Returns the time at which to start a frame to a neighbour whose phase is known.
    fn phase_start(&self, now: Instant, target: &Target) -> Option<Instant> {
        let is_locked = self.config.phase_lock && !is_broadcast(target);
        let (cycle, guard) = (self.timing.cycle, self.timing.guard);
        is_locked.then(|| self.phases.start(now, target.dst, cycle, guard))?
    }

    fn sense(&mut self, left: u8, locked: bool) -> Move {
        self.stage = Stage::Sensing { left, locked };
        match left {
            0 => self.strobe(locked),
            _ => {
                count(&mut self.counters.assessments);
                Move::Assess(Work::Assess)
            }
        }
    }

    fn strobe(&mut self, locked: bool) -> Move {
        self.count_train(locked);
        self.stage = Stage::Fresh;
        Move::Repeat(Work::Strobe(Strobe {
            gap: self.timing.gap,
            detect: self.timing.detect,
            period: Duration::ZERO,
            span: match locked {
                true => self.timing.locked_strobe,
                false => self.timing.strobe,
            },
            any_ack: self.config.release == Release::Contiki25,
            gives_way: true,
        }))
    }

    fn count_train(&mut self, locked: bool) {
        count(&mut self.counters.trains);
        if locked {
            count(&mut self.counters.locked_trains);
        }
    }

    /// Advances a frame of X-MAC. Before the first strobe, the receiver is on for a strobe period.
    fn advance_xmac(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Invited { .. } => Move::Send { cca: false },
            Stage::Timed { locked } => {
                self.count_train(locked);
                Move::Repeat(Work::Strobe(Strobe {
                    gap: self.timing.gap,
                    detect: self.timing.detect,
                    period: self.timing.strobe_period,
                    span: self.timing.strobe,
                    any_ack: true,
                    gives_way: self.config.method == Method::CxMac,
                }))
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

    /// Returns when strobes begin: now, unless the neighbour has answered before. CX-MAC then uses
    /// the neighbour's phase; Contiki's X-MAC stores no phase and uses the sender's own cycle.
    fn encounter(&self, now: Instant, target: &Target) -> Instant {
        if !self.config.phase_lock || is_broadcast(target) || !self.phases.knows(target.dst) {
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
                match is_broadcast(target) {
                    true => Move::Done,
                    false => Move::Silence,
                }
            }
            Stage::Awaiting { until } => Move::Await(until),
            _ => {
                let until = now
                    + match is_broadcast(target) {
                        true => self.timing.broadcast_lifetime,
                        false => self.timing.lifetime,
                    };
                self.stage = Stage::Awaiting { until };
                self.receiver.on_send();
                Move::Await(until)
            }
        }
    }

    fn collide(&mut self) -> Move {
        count(&mut self.counters.collisions);
        self.stage = Stage::Fresh;
        Move::Collision
    }

    fn is_awake(&self, target: &Target) -> bool {
        target.continues && self.config.bursts && self.config.method == Method::ContikiMac
    }
}

/// Functions for the implementation of [`Cycle`].
impl Duty {
    pub(crate) fn properties(&self) -> CycleProperties {
        let layer = self.config.layer;
        CycleProperties {
            sleeps: self.receiver.sleeps(),
            asks_for_acks: match self.config.method {
                Method::NullRdc => self.config.link_acks,
                Method::CxMac => false,
                Method::ContikiMac | Method::XMac | Method::Lpp => true,
            },
            repeats_all: matches!(
                self.config.method,
                Method::ContikiMac | Method::XMac | Method::CxMac
            ),
            header_len: header::len(&self.config),
            neighbour_queues: layer.map_or(0, |layer| layer.neighbour_queues.into()),
        }
    }

    fn has_strobes(&self) -> bool {
        self.config.method.has_strobes() && self.stage != Stage::Fresh
    }

    fn listens(&self) -> bool {
        match self.stage {
            Stage::Dozing { .. } => false,
            _ => self.has_strobes() || self.receiver.listens(),
        }
    }

    fn cargo(&self, target: &Target) -> Cargo {
        let is_invited = matches!(self.stage, Stage::Invited { .. });
        match self.config.method {
            Method::XMac | Method::CxMac if !is_broadcast(target) && !is_invited => Cargo::Short,
            Method::Lpp if !is_invited => Cargo::Nothing,
            _ => Cargo::Frame,
        }
    }

    fn on_assessed(&mut self, now: Instant, channel: Channel, rng: &mut Rng) {
        let was_on = self.receiver.listens();
        self.receiver.on_assessed(now, channel, &self.timing, rng);
        if channel != Channel::Clear && !was_on && self.receiver.listens() {
            count(&mut self.counters.alarms);
        }
    }

    fn on_strobe(&mut self, now: Instant) {
        self.receiver.on_strobe(now, &self.timing);
        if self.config.method == Method::CxMac {
            self.yields = 1;
        }
    }

    fn on_overheard(&mut self, payload: &[u8]) {
        match self.read(payload) {
            Meaning::Strobe => self.yields = YIELDS,
            Meaning::Data(_) if self.config.method == Method::CxMac => self.yields = 0,
            _ => {}
        }
    }

    /// Returns when the first attempt of a frame starts.
    fn on_submitted(&mut self, now: Instant, target: &Target) -> Instant {
        self.stage = Stage::Fresh;
        match &self.layer {
            Some(layer) if !self.is_awake(target) => layer.first(now, &self.timing),
            _ => now,
        }
    }

    fn advance(&mut self, now: Instant, target: &Target) -> Move {
        match self.config.method {
            Method::NullRdc => Move::Send { cca: true },
            Method::ContikiMac => self.advance_contikimac(now, target),
            Method::XMac | Method::CxMac => self.advance_xmac(now, target),
            Method::Lpp => self.advance_lpp(now, target),
        }
    }

    fn on_sensed(&mut self, now: Instant, channel: Channel) -> Move {
        match (self.stage, channel) {
            (Stage::Sensing { left, locked }, Channel::Clear) => {
                let left = left.saturating_sub(1);
                self.stage = Stage::Sensing { left, locked };
                Move::Wait(now + self.timing.pause)
            }
            _ => self.collide(),
        }
    }

    /// Handles a probe of `src`. Returns whether to send the waiting frame now, because `src` is
    /// its destination or because it is a broadcast.
    fn on_probe(&mut self, src: Address, target: &Target) -> bool {
        let Stage::Awaiting { until } = self.stage else {
            return false;
        };
        let is_awaited = is_broadcast(target) || target.dst == src;
        if is_awaited {
            let until = is_broadcast(target).then_some(until);
            self.stage = Stage::Invited { until };
        }
        is_awaited
    }

    fn on_strobe_answered(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Invited { until: None };
        if self.config.method == Method::CxMac {
            self.phases.on_answer(target.dst, now);
        }
    }

    fn on_answered(&mut self, now: Instant, target: &Target, begun_ago: Duration) {
        self.stage = Stage::Fresh;
        if self.is_awake(target) {
            return;
        }
        let at_us = now.as_micros().saturating_sub(begun_ago.as_micros());
        self.phases
            .on_answer(target.dst, Instant::from_micros(at_us));
    }

    fn on_acked(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        self.receiver.on_sent();
        if self.config.method == Method::XMac {
            self.phases.on_answer(target.dst, now);
        }
    }

    fn on_silence(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        self.receiver.on_sent();
        if !self.is_awake(target) && self.config.method == Method::ContikiMac {
            self.phases.on_silence(now, target.dst);
        }
    }

    /// Returns whether a broadcast waits for more probes.
    fn goes_on(&mut self) -> bool {
        match self.stage {
            Stage::Invited { until: Some(until) } => {
                self.stage = Stage::Awaiting { until };
                true
            }
            _ => false,
        }
    }

    fn on_blocked(&mut self, now: Instant) -> Move {
        if self.goes_on() {
            return Move::Wait(now);
        }
        let collision = self.collide();
        match self.config.method {
            Method::CxMac => self.yields = self.yields.saturating_add(1),
            Method::Lpp => return Move::Silence,
            Method::NullRdc | Method::ContikiMac | Method::XMac => {}
        }
        collision
    }

    /// Applies the rules of Contiki's CSMA layer, if there is one.
    fn on_failed(&self, now: Instant, transmissions: u8, rng: &mut Rng) -> Option<Move> {
        let layer = self.layer.as_ref()?;
        Some(match layer.gives_up(transmissions) {
            true => Move::Done,
            false => Move::Wait(layer.again(now, transmissions, &self.timing, rng)),
        })
    }

    fn on_ended(&mut self, now: Instant) {
        self.stage = Stage::Fresh;
        if let Some(layer) = &mut self.layer {
            layer.on_end(now);
        }
    }
}

impl Cycle<Work> for Duty {
    fn status(&self, target: &Target) -> CycleStatus {
        let awaits = matches!(self.stage, Stage::Awaiting { .. });
        let is_sending = matches!(self.stage, Stage::Sensing { .. } | Stage::Invited { .. });
        CycleStatus {
            listens: self.listens(),
            next: self.receiver.next(),
            has_channel: self.has_strobes() || is_sending,
            awaits_probe: awaits && !self.receiver.is_off(),
            cargo: self.cargo(target),
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Errand<Work>> {
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

    fn on_event(&mut self, now: Instant, event: CycleEvent<'_>, rng: &mut Rng) -> Option<Move> {
        match event {
            CycleEvent::Assessed(channel) => self.on_assessed(now, channel, rng),
            CycleEvent::Probed => self.receiver.on_probed(now),
            CycleEvent::Frame { more } => {
                self.yields = 0;
                self.receiver.on_frame(now, more, &self.timing);
            }
            CycleEvent::Strobe => self.on_strobe(now),
            CycleEvent::Overheard(payload) => self.on_overheard(payload),
            CycleEvent::Submitted(target) => {
                return Some(Move::Wait(self.on_submitted(now, &target)));
            }
            CycleEvent::Ready(target) => return Some(self.advance(now, &target)),
            CycleEvent::Sensed(channel) => return Some(self.on_sensed(now, channel)),
            CycleEvent::Probe { src, target } => {
                return self.on_probe(src, &target).then_some(Move::Wait(now));
            }
            CycleEvent::StrobeAnswered(target) => self.on_strobe_answered(now, &target),
            CycleEvent::Answered { target, begun_ago } => {
                self.on_answered(now, &target, begun_ago);
            }
            CycleEvent::Acked(target) => self.on_acked(now, &target),
            CycleEvent::Silence(target) => self.on_silence(now, &target),
            CycleEvent::Sent => return self.goes_on().then_some(Move::Wait(now)),
            CycleEvent::Blocked => return Some(self.on_blocked(now)),
            CycleEvent::Failed { transmissions } => return self.on_failed(now, transmissions, rng),
            CycleEvent::Preempted => self.stage = Stage::Fresh,
            CycleEvent::Ended => self.on_ended(now),
        }
        None
    }

    fn write_header(
        &self,
        src: Address,
        dst: Address,
        mac_header_len: usize,
        area: &mut [u8],
        payload_len: usize,
    ) -> usize {
        header::write(&self.config, (src, dst), mac_header_len, area, payload_len)
    }

    fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f> {
        self.config.read(payload)
    }

    fn short(&self, from: Address) -> ([u8; 6], usize) {
        header::short(&self.config, from)
    }
}

fn is_broadcast(target: &Target) -> bool {
    target.dst == Address::BROADCAST
}

/// Advances `next` in steps of `cycle` beyond `now`; returns the last step that is not after `now`.
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
