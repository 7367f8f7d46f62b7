//! A node whose radio obeys somebody else: what attacks a mesh from the air.
//!
//! The node is one of the scenario, with a place on the medium; its own protocols are
//! silent from the moment at which it becomes an outlaw. Frames that it is given leave
//! as they are, one at a time, each after a clear channel assessment: whoever does not
//! even assess the channel is a jammer, against which no protocol helps.

use std::collections::VecDeque;

use redpoll_base::{Duration, Rng};
use redpoll_mac::{RadioResult, RadioWork};

use super::{Event, World};
use crate::air::AirResult;

/// Frames that wait at most for the radio.
const QUEUE: usize = 64;
/// Assessments in vain that end a frame, as macMaxCSMABackoffs does.
const ASSESSMENTS: u8 = 5;
/// aUnitBackoffPeriod of the O-QPSK PHY at 2.4 GHz (IEEE 802.15.4-2015 §8.4.2).
const UNIT_BACKOFF_US: u64 = 320;

/// What an outlaw keeps.
pub(super) struct Outlaw {
    waiting: VecDeque<Vec<u8>>,
    /// Assessments of the frame in the radio that found the channel busy.
    assessments: u8,
    is_busy: bool,
    /// It assesses the channel again when it is woken.
    backs_off: bool,
    rng: Rng,
    figures: OutlawFigures,
}

/// What an outlaw has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutlawFigures {
    /// Frames that left.
    pub sent: u64,
    /// Of those, how many a radio acknowledged.
    pub acknowledged: u64,
    /// Frames that found no room, or no free channel.
    pub withheld: u64,
}

impl Outlaw {
    fn new(rng: Rng) -> Self {
        Outlaw {
            waiting: VecDeque::new(),
            assessments: 0,
            is_busy: false,
            backs_off: false,
            rng,
            figures: OutlawFigures::default(),
        }
    }
}

impl World {
    /// Takes the radio of node `index` from its protocols; only what is
    /// [injected](World::inject) leaves it from here on.
    pub fn outlaw(&mut self, index: usize) {
        let rng = self.seed.node_stream("outlaw", index);
        self.inhabitants[index].outlaw = Some(Box::new(Outlaw::new(rng)));
        self.start_work(index, RadioWork::Listen, &[]);
    }

    /// Has the outlaw `index` send a frame, without its check sequence, whatever it
    /// says. Frames for which there is no room are counted as withheld.
    pub fn inject(&mut self, index: usize, frame: &[u8]) {
        let Some(outlaw) = &mut self.inhabitants[index].outlaw else {
            return;
        };
        if outlaw.waiting.len() >= QUEUE || frame.len() > redpoll_mac::FrameBuf::CAPACITY {
            outlaw.figures.withheld += 1;
            return;
        }
        outlaw.waiting.push_back(frame.to_vec());
        self.load_next(index);
        self.drain();
    }

    /// What the outlaw `index` has done; nothing for any other node.
    pub fn outlaw_figures(&self, index: usize) -> OutlawFigures {
        let outlaw = self.inhabitants[index].outlaw.as_ref();
        outlaw.map_or_else(OutlawFigures::default, |outlaw| outlaw.figures)
    }

    fn start_work(&mut self, index: usize, work: RadioWork, frame: &[u8]) {
        self.air
            .start_work(self.now, index, work.widen(), frame, &mut self.queue);
    }

    fn load_next(&mut self, index: usize) {
        let Some(outlaw) = &mut self.inhabitants[index].outlaw else {
            return;
        };
        if outlaw.is_busy {
            return;
        }
        if let Some(frame) = outlaw.waiting.pop_front() {
            outlaw.is_busy = true;
            outlaw.assessments = 0;
            self.start_work(index, RadioWork::Load, &frame);
        }
    }

    pub(super) fn is_outlaw(&self, index: usize) -> bool {
        self.inhabitants[index].outlaw.is_some()
    }

    /// The radio of an outlaw is done with something; `false` if the node is none.
    pub(super) fn on_outlaw_done(&mut self, index: usize, result: AirResult) -> bool {
        let Some(outlaw) = &mut self.inhabitants[index].outlaw else {
            return false;
        };
        match result {
            // It neither repeats frames nor assesses the channel for its own sake.
            RadioResult::Loaded | RadioResult::Cycled(_) => {}
            RadioResult::ChannelBusy if outlaw.assessments < ASSESSMENTS => {
                outlaw.assessments += 1;
                outlaw.backs_off = true;
                let slots = 1 + outlaw.rng.below_u64(8 << outlaw.assessments);
                let at = self.now + Duration::from_micros(slots * UNIT_BACKOFF_US);
                let node = index as u32;
                self.queue.schedule(at, Event::Wake { node });
                return true;
            }
            RadioResult::ChannelBusy => {
                outlaw.figures.withheld += 1;
                outlaw.is_busy = false;
            }
            RadioResult::Sent | RadioResult::Acked { .. } | RadioResult::NoAck => {
                let acknowledged = matches!(result, RadioResult::Acked { .. });
                outlaw.figures.sent += 1;
                outlaw.figures.acknowledged += u64::from(acknowledged);
                outlaw.is_busy = false;
            }
        }
        if outlaw.is_busy {
            self.start_work(index, RadioWork::Transmit { cca: true }, &[]);
        } else {
            self.load_next(index);
        }
        true
    }

    /// An outlaw's backoff has ended; `false` if the node is none.
    pub(super) fn on_outlaw_wake(&mut self, index: usize) -> bool {
        let Some(outlaw) = &mut self.inhabitants[index].outlaw else {
            return false;
        };
        if std::mem::take(&mut outlaw.backs_off) {
            self.start_work(index, RadioWork::Transmit { cca: true }, &[]);
        }
        true
    }
}
