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

type Errand = redpoll_mac::Errand<Work>;

/// A receiver that is duty-cycled or always on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    Awake,
    ContikiMac(Wake),
    XMac(OnOff),
    CxMac(PowerCycle),
    Lpp(Probing),
}

impl Receiver {
    /// Returns the receiver of a configuration. Its first cycle begins at `first` or, with CX-MAC
    /// and LPP, at the tick of the clock after `first`.
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

    pub(super) fn listens(&self) -> bool {
        match self {
            Receiver::Awake => true,
            Receiver::ContikiMac(wake) => wake.listens(),
            Receiver::XMac(onoff) => onoff.listens(),
            Receiver::CxMac(cycle) => cycle.listens(),
            Receiver::Lpp(probing) => probing.listens(),
        }
    }

    /// Returns whether an announced frame has not arrived yet.
    pub(super) fn is_in_burst(&self, now: Instant) -> bool {
        matches!(self, Receiver::ContikiMac(wake) if wake.is_in_burst(now))
    }

    pub(super) fn next(&self) -> Option<Instant> {
        match self {
            Receiver::Awake => None,
            Receiver::ContikiMac(wake) => wake.next(),
            Receiver::XMac(onoff) => Some(onoff.next()),
            Receiver::CxMac(cycle) => Some(cycle.next()),
            Receiver::Lpp(probing) => probing.next(),
        }
    }

    /// Advances the cycle. Returns the job that the radio must do now, if any. `waits` is whether a
    /// frame waits for a probe.
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

    pub(super) fn on_probed(&mut self, now: Instant) {
        if let Receiver::Lpp(probing) = self {
            probing.on_probed(now);
        }
    }

    /// LPP: returns whether the radio is off until the next cycle, even if a frame waits.
    pub(super) fn is_off(&self) -> bool {
        matches!(self, Receiver::Lpp(probing) if probing.is_off())
    }

    /// Handles the start of a transmission (CX-MAC), or of a frame's wait for a probe (LPP).
    pub(super) fn on_send(&mut self) {
        match self {
            Receiver::CxMac(cycle) => cycle.on_send(),
            Receiver::Lpp(probing) => probing.switch(true),
            _ => {}
        }
    }

    /// LPP: switches the radio off, because no frame waits for a probe any longer.
    pub(super) fn on_sent(&mut self) {
        if let Receiver::Lpp(probing) = self {
            probing.switch(false);
        }
    }

    pub(super) fn on_strobe(&mut self, now: Instant, timing: &Timing) {
        match self {
            Receiver::XMac(onoff) => onoff.on_strobe(now, timing),
            Receiver::CxMac(cycle) => cycle.on_strobe(),
            _ => {}
        }
    }

    /// Handles a frame for this node; `more` is whether its sender has another frame.
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
