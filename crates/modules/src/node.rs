//! A loaded module as a node of the simulator: schedules the module and runs its radio's actions.

use redpoll_base::{Duration, Instant};
use redpoll_sim::foreign::{ForeignNode, ForeignSpec, Occasion, Wish};

use crate::interface::{FRAME_MAX, Interface};
use crate::watch::Ward;

/// Signal level at an antenna without a signal, in dBm; below the CCA threshold of modules.
const SILENCE_DBM: i8 = -100;
/// Signal level at an antenna with energy that the radio cannot receive as a frame, in dBm; above
/// the CCA threshold of modules.
const ENERGY_DBM: i8 = -80;

pub(crate) struct Module {
    interface: Interface,
    ward: Ward,
    quantum: Duration,
    /// Time of the module's last tick, in microseconds of the node's clock.
    ticked_us: Option<u64>,
    /// Signal strength of the arriving frame, if there is one.
    hears_dbm: Option<i8>,
    sends: bool,
    frame: Vec<u8>,
}

impl Module {
    pub(crate) fn new(mut interface: Interface, ward: Ward, spec: &ForeignSpec<'_>) -> Module {
        ward.during(|| interface.begin(spec.number, spec.seed));
        Module {
            interface,
            ward,
            quantum: spec.quantum,
            ticked_us: None,
            hears_dbm: None,
            sends: false,
            frame: Vec::with_capacity(FRAME_MAX),
        }
    }

    /// Returns the time of the node's clock. The module's timer expires only if the clock shows
    /// exactly the timer's time, which a fast clock may skip. The first call after the timer's time
    /// therefore returns that time.
    fn clock_us(&self, now: Instant) -> u64 {
        let now_us = now.as_micros();
        let timer_us = self.interface.timers().rtimer_us;
        let passed = timer_us.filter(|at| *at <= now_us && self.ticked_us.is_none_or(|t| t < *at));
        passed.unwrap_or(now_us)
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let timers = self.interface.timers();
        let soon = now + self.quantum;
        // A timer whose time is in the past never expires.
        let rtimer = timers.rtimer_us.map(Instant::from_micros);
        let rtimer = rtimer.filter(|at| *at >= now);
        let other = match (self.sends, timers.runs_on, timers.timer_ms) {
            // The module waits for the end of its transmission.
            (true, ..) => None,
            (_, true, _) => Some(soon),
            (_, _, Some(ms)) => Some(Instant::from_millis(ms)).map(|at| match at > now {
                true => at,
                false => soon,
            }),
            _ => None,
        };
        [rtimer, other].into_iter().flatten().min()
    }
}

impl ForeignNode for Module {
    fn run(&mut self, now: Instant, busy: bool, occasion: Occasion<'_>) -> Wish {
        match occasion {
            Occasion::Due => {}
            Occasion::FrameBegins { info } => {
                self.hears_dbm = Some(info.rssi_dbm);
                self.interface.set_lqi(info.lqi);
                self.interface.frame_begins(now.as_micros());
            }
            Occasion::FrameEnds { frame } => {
                self.hears_dbm = None;
                self.interface.receive(frame.unwrap_or_default());
            }
            Occasion::Sent => {
                self.sends = false;
                self.interface.sent();
            }
        }
        let energy = if busy { ENERGY_DBM } else { SILENCE_DBM };
        let signal_dbm = self.hears_dbm.unwrap_or(energy);
        self.interface
            .set_channel(self.hears_dbm.is_some(), signal_dbm);
        let now_us = self.clock_us(now);
        self.ward.during(|| self.interface.tick(now_us));
        self.ticked_us = Some(now_us);
        let listens = self.interface.radio_is_on();
        let begins = !self.sends && self.interface.frame(&mut self.frame);
        if begins && !listens {
            // The radio is off: discard the frame and report it as sent.
            self.interface.sent();
        }
        let sends = begins && listens;
        self.sends |= sends;
        Wish {
            wakes_at: self.wakes_at(now),
            listens,
            sends,
        }
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }

    fn take_text(&mut self, text: &mut Vec<u8>) {
        self.interface.take_text(text);
    }
}
