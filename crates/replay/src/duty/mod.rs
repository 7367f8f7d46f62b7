//! Access to neighbours whose receivers are mostly off: NullRDC, ContikiMAC, X-MAC and LPP with the
//! constants and defects of Contiki's releases, and Contiki's CSMA layer.
//!
//! [`Duty`] makes the decisions, and the MAC carries them out.
//!
//! - `receiver.rs`: the receiver's cycle, with `wake.rs` (ContikiMAC), `onoff.rs` (X-MAC),
//!   `powercycle.rs` (CX-MAC) and `probing.rs` (LPP); the last two use the ticks of `clock.rs`;
//! - `steps.rs`: the sender's steps of a frame; `outcomes.rs`: the events of these steps;
//! - `phases.rs`: the learned wake-up times of neighbours;
//! - `layer.rs`: retransmissions by Contiki's CSMA layer;
//! - `header.rs`: the contents of frames; `constants.rs`: the constants.

mod clock;
mod config;
mod constants;
mod header;
mod layer;
mod onoff;
mod outcomes;
mod phases;
mod powercycle;
mod probing;
mod receiver;
mod steps;
mod wake;

use clock::Clock;
pub use config::{DutyConfig, LayerConfig, Method, Release};
use constants::Timing;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{
    Cargo, Channel, Cycle, CycleEvent, CycleProperties, CycleStatus, Errand, Meaning, Target,
};
use redpoll_wire::ieee802154::Address;

use crate::Work;
use crate::count;
use layer::Layer;
use phases::Phases;
use receiver::Receiver;
use steps::Stage;

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
