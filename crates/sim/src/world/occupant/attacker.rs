//! An attacker on the air.
//!
//! The attacker replaces a node of the scenario and uses the node's radio. The attacker sends the
//! given frames unchanged, one at a time, each after a clear channel assessment. A transmitter
//! without an assessment would be a jammer, which no protocol can withstand.

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{FrameBuf, RadioResult, RadioWork};

use super::Resident;
use crate::air::AirResult;
use crate::world::environment::Seat;

/// Maximum number of frames that wait for the radio.
const QUEUE: usize = 64;
/// Maximum number of backoffs of a frame after busy assessments, like macMaxCSMABackoffs.
const ASSESSMENTS: u8 = 5;
/// aUnitBackoffPeriod of the O-QPSK PHY at 2.4 GHz (IEEE 802.15.4-2015 §8.4.2).
const UNIT_BACKOFF_US: u64 = 320;

pub(in crate::world) struct Attacker {
    waiting: VecDeque<Vec<u8>>,
    /// Number of assessments that found the channel busy, for the frame in the radio.
    assessments: u8,
    is_busy: bool,
    /// Whether the next wake-up assesses the channel again.
    backs_off: bool,
    rng: Rng,
    counters: AttackerCounters,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AttackerCounters {
    pub sent: u64,
    /// Sent frames that a radio acknowledged.
    pub acknowledged: u64,
    /// Frames that were too long, or found no room in the queue or no free channel.
    pub withheld: u64,
}

impl Attacker {
    /// Replaces the occupant of a place, and starts the receiver of the place's radio.
    pub(in crate::world) fn new(seat: &mut Seat<'_>) -> Attacker {
        // The queued wake-ups of the previous occupant must have no effect.
        seat.timing.wakes_at = Instant::FAR_FUTURE;
        seat.start_work(RadioWork::Listen, &[]);
        Attacker {
            waiting: VecDeque::new(),
            assessments: 0,
            is_busy: false,
            backs_off: false,
            rng: seat.env.seed.node_stream("outlaw", seat.index),
            counters: AttackerCounters::default(),
        }
    }

    pub(in crate::world) fn inject(&mut self, seat: &mut Seat<'_>, frame: &[u8]) {
        if self.waiting.len() >= QUEUE || frame.len() > FrameBuf::CAPACITY {
            self.counters.withheld += 1;
            return;
        }
        self.waiting.push_back(frame.to_vec());
        self.load_next(seat);
    }

    pub(in crate::world) fn counters(&self) -> AttackerCounters {
        self.counters
    }

    fn load_next(&mut self, seat: &mut Seat<'_>) {
        if self.is_busy {
            return;
        }
        if let Some(frame) = self.waiting.pop_front() {
            self.is_busy = true;
            self.assessments = 0;
            seat.start_work(RadioWork::Load, &frame);
        }
    }

    fn back_off(&mut self, seat: &mut Seat<'_>) {
        self.assessments += 1;
        self.backs_off = true;
        let slots = 1 + self.rng.below_u64(8 << self.assessments);
        let backoff = Duration::from_micros(slots * UNIT_BACKOFF_US);
        seat.wake_at_global(seat.env.now + backoff);
    }
}

impl Resident for Attacker {
    fn on_wake(&mut self, seat: &mut Seat<'_>) {
        if std::mem::take(&mut self.backs_off) {
            seat.start_work(RadioWork::Transmit { cca: true }, &[]);
        }
    }

    /// Ignores frames: the attacker's answers are created outside the simulation.
    fn on_frame(&mut self, _: &mut Seat<'_>) {}

    fn on_radio_done(&mut self, seat: &mut Seat<'_>, result: AirResult) {
        match result {
            // A loaded frame is transmitted below. `Cycled` does not occur, because the attacker
            // has no duty cycle.
            RadioResult::Loaded | RadioResult::Cycled(_) => {}
            RadioResult::ChannelBusy if self.assessments < ASSESSMENTS => {
                self.back_off(seat);
                return;
            }
            RadioResult::ChannelBusy => {
                self.counters.withheld += 1;
                self.is_busy = false;
            }
            RadioResult::Sent | RadioResult::Acked { .. } | RadioResult::NoAck => {
                let acknowledged = matches!(result, RadioResult::Acked { .. });
                self.counters.sent += 1;
                self.counters.acknowledged += u64::from(acknowledged);
                self.is_busy = false;
            }
        }
        if self.is_busy {
            seat.start_work(RadioWork::Transmit { cca: true }, &[]);
        } else {
            self.load_next(seat);
        }
    }
}
