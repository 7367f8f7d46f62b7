//! The cycle of a node's own receiver, by method.

use redpoll_base::{Instant, Rng};

use super::clock::Clock;
use super::onoff::OnOff;
use super::powercycle::PowerCycle;
use super::probing::{Need, Probing};
use super::wake::Wake;
use super::{DutyConfig, DutyCounters, Method, Timing};
use crate::{Work, count};
use redpoll_mac::Channel;

/// What a receiver's cycle needs its radio for.
type Errand = redpoll_mac::Errand<Work>;

/// A receiver that is mostly off, or not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    /// Always on.
    Awake,
    ContikiMac(Wake),
    XMac(OnOff),
    CxMac(PowerCycle),
    Lpp(Probing),
}

impl Receiver {
    /// The receiver of a configuration, whose first cycle begins at `first`, or with the next
    /// tick of the clock.
    pub(super) fn new(config: &DutyConfig, first: Instant, clock: Clock) -> Self {
        match config.method {
            _ if !config.sleeps() => Receiver::Awake,
            Method::NullRdc => Receiver::Awake,
            Method::ContikiMac => Receiver::ContikiMac(Wake::new(config, first)),
            Method::XMac => Receiver::XMac(OnOff::new(first)),
            Method::CxMac => Receiver::CxMac(PowerCycle::new(first, clock)),
            Method::Lpp => Receiver::Lpp(Probing::new(first, clock)),
        }
    }

    pub(super) fn sleeps(&self) -> bool {
        !matches!(self, Receiver::Awake)
    }

    /// Whether it is to be on between works.
    pub(super) fn listens(&self) -> bool {
        match self {
            Receiver::Awake => true,
            Receiver::ContikiMac(wake) => wake.listens(),
            Receiver::XMac(onoff) => onoff.listens(),
            Receiver::CxMac(cycle) => cycle.listens(),
            Receiver::Lpp(probing) => probing.listens(),
        }
    }

    /// Whether a frame that was promised is still to come.
    pub(super) fn is_in_burst(&self, now: Instant) -> bool {
        matches!(self, Receiver::ContikiMac(wake) if wake.is_in_burst(now))
    }

    /// When [`Self::poll`] has something to do.
    pub(super) fn next(&self) -> Option<Instant> {
        match self {
            Receiver::Awake => None,
            Receiver::ContikiMac(wake) => wake.next(),
            Receiver::XMac(onoff) => Some(onoff.next()),
            Receiver::CxMac(cycle) => Some(cycle.next()),
            Receiver::Lpp(probing) => probing.next(),
        }
    }

    /// Goes on with the cycle. What it needs the radio for must be done. `waits`: a frame
    /// waits for a probe.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        waits: bool,
        timing: &Timing,
        counters: &mut DutyCounters,
    ) -> Option<Errand> {
        let (errand, woke_up) = match self {
            Receiver::Awake => (None, false),
            Receiver::ContikiMac(wake) => {
                let was_off = wake.is_off();
                let needs = wake.poll(now, timing);
                (
                    needs.then_some(Errand::Assess(Work::Assess)),
                    was_off && needs,
                )
            }
            Receiver::XMac(onoff) => (None, onoff.poll(now, timing)),
            Receiver::CxMac(cycle) => (None, cycle.poll(now, timing)),
            Receiver::Lpp(probing) => match probing.poll(now, waits, timing) {
                Some(Need::Assess) => (Some(Errand::Assess(Work::Assess)), true),
                Some(Need::Probe) => (Some(Errand::Probe), false),
                None => (None, false),
            },
        };
        if woke_up {
            count(&mut counters.wake_ups);
        }
        if errand == Some(Errand::Assess(Work::Assess)) {
            count(&mut counters.assessments);
        }
        errand
    }

    /// The channel has been assessed.
    pub(super) fn on_assessed(
        &mut self,
        now: Instant,
        channel: Channel,
        timing: &Timing,
        rng: &mut Rng,
    ) {
        match self {
            Receiver::ContikiMac(wake) => wake.on_assessed(now, channel, timing),
            Receiver::Lpp(probing) => probing.on_assessed(now, channel, rng),
            Receiver::Awake | Receiver::XMac(_) | Receiver::CxMac(_) => {}
        }
    }

    /// The probe has been sent, or could not be.
    pub(super) fn on_probed(&mut self, now: Instant) {
        if let Receiver::Lpp(probing) = self {
            probing.on_probed(now);
        }
    }

    /// LPP: whether the radio is off until the next cycle, whatever waits.
    pub(super) fn is_off(&self) -> bool {
        matches!(self, Receiver::Lpp(probing) if probing.is_off())
    }

    /// CX-MAC: the node begins to send. LPP: a frame begins to wait for a probe.
    pub(super) fn on_send(&mut self) {
        match self {
            Receiver::CxMac(cycle) => cycle.on_send(),
            Receiver::Lpp(probing) => probing.switch(true),
            _ => {}
        }
    }

    /// LPP: a frame no longer waits.
    pub(super) fn on_sent(&mut self) {
        if let Receiver::Lpp(probing) = self {
            probing.switch(false);
        }
    }

    /// A strobe for this node has come.
    pub(super) fn on_strobe(&mut self, now: Instant, timing: &Timing) {
        match self {
            Receiver::XMac(onoff) => onoff.on_strobe(now, timing),
            Receiver::CxMac(cycle) => cycle.on_strobe(),
            _ => {}
        }
    }

    /// A frame for this node has come; `more`: its sender has another.
    pub(super) fn on_frame(&mut self, now: Instant, more: bool, timing: &Timing) {
        match self {
            Receiver::ContikiMac(wake) => wake.on_frame(now, more, timing),
            Receiver::XMac(onoff) => onoff.on_frame(),
            Receiver::CxMac(cycle) => cycle.on_frame(),
            Receiver::Lpp(probing) => probing.switch(false),
            Receiver::Awake => {}
        }
    }
}
