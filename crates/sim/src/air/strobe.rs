//! Radio operations of duty-cycled MACs: separate channel assessments, and repetition of a frame
//! until it is acknowledged.

use redpoll_base::{Duration, Instant};
use redpoll_mac::{Channel, CycledResult, RadioResult};
use redpoll_replay::Strobe;

use super::flight::Flight;
use super::send::is_occupied;
use super::{Air, Event, Outcome};
use crate::fault::Treatment;
use crate::kernel::Queue;
use crate::radio::{CCA, State, TURNAROUND, Train, Work};

impl Air {
    // Channel assessments.

    pub(super) fn start_assessment<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        let station = &mut self.stations[node];
        station.assessments += 1;
        let settles_in = match station.state() {
            State::Sleep => self.chip.wake_up,
            State::Idle => self.chip.receiver_on,
            _ => Duration::ZERO,
        };
        if settles_in.is_zero() {
            return self.sample(now, node, queue);
        }
        self.step_for(now, node, Work::Settle, settles_in, queue);
        self.stations[node].rest(now);
    }

    fn sample<E: From<Event>>(&mut self, now: Instant, node: usize, queue: &mut Queue<E>) {
        self.medium.watch(now, node);
        let occupied = is_occupied(&self.stations[node]);
        self.step_for(now, node, Work::Assess { occupied }, CCA, queue);
        let station = &mut self.stations[node];
        if matches!(station.state(), State::Sleep | State::Idle) {
            station.rest(now);
        }
    }

    fn sampled(&mut self, now: Instant, node: usize, occupied: bool) -> Channel {
        let station = &self.stations[node];
        let begins = station.state() == State::Receive && station.times.since() == now;
        if occupied || (is_occupied(station) && !begins) {
            return Channel::Receiving;
        }
        let is_off = station.state() == State::Off;
        match !is_off && self.medium.was_busy(now, node) {
            true => Channel::Busy,
            false => Channel::Clear,
        }
    }

    // Repetition.

    pub(super) fn start_strobe<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        strobe: Strobe,
        queue: &mut Queue<E>,
    ) {
        let station = &mut self.stations[node];
        if is_occupied(station) || station.reading {
            // The MAC gets the result after the duration of an assessment, so it cannot retry
            // endlessly at one instant.
            return self.step_for(now, node, Work::Refuse, CCA, queue);
        }
        station.train = Some(Box::new(Train::new(strobe)));
        self.start_transmit(now, node, false, queue);
    }

    /// Begins the gap after a copy of a repeated frame.
    pub(super) fn open_gap<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        let gap = self.stations[node]
            .train
            .as_ref()
            .map_or(Duration::ZERO, |train| train.strobe.gap);
        self.step_for(now, node, Work::Gap, gap, queue);
        self.stations[node].rest(now);
    }

    /// Handles an acknowledgment that arrives while a frame is repeated.
    pub(super) fn receive_answer(&mut self, now: Instant, node: usize, flight: &Flight) -> Outcome {
        let station = &self.stations[node];
        let is_own = station.dsn == flight.label.dsn;
        let takes = |train: &Train| is_own || train.strobe.any_ack;
        if !station.wants_ack || !station.train.as_deref().is_some_and(takes) {
            return Outcome::Unexpected;
        }
        if self.treatment(now, node, flight, true) == Treatment::Drop {
            return Outcome::Fault;
        }
        if let Some(train) = &mut self.stations[node].train {
            train.answer = Some(flight.label.frame_pending);
        }
        Outcome::Delivered
    }

    /// Handles the end of a step that only duty-cycled MACs use.
    pub(super) fn on_strobe_step<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        match self.stations[node].work {
            Work::Settle => self.sample(now, node, queue),
            Work::Assess { occupied } => {
                let channel = self.sampled(now, node, occupied);
                let time = self.chip.answer_time();
                match time.is_zero() {
                    true => self.finish(
                        now,
                        node,
                        RadioResult::Cycled(CycledResult::Assessed(channel)),
                    ),
                    false => self.step_for(now, node, Work::Answer { channel }, time, queue),
                }
            }
            Work::Answer { channel } => self.finish(
                now,
                node,
                RadioResult::Cycled(CycledResult::Assessed(channel)),
            ),
            Work::Refuse => self.finish(now, node, RadioResult::ChannelBusy),
            Work::Gap if self.stations[node].wants_ack => {
                self.medium.watch(now, node);
                let occupied = is_occupied(&self.stations[node]);
                self.step_for(now, node, Work::Look { occupied }, CCA, queue);
            }
            Work::Look { occupied } => self.on_looked(now, node, occupied, queue),
            Work::Detect => self.on_detected(now, node, queue),
            Work::Gap | Work::Pause => self.next_copy(now, node, queue),
            _ => {}
        }
    }

    /// Handles the end of the assessment after a copy.
    fn on_looked<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        occupied: bool,
        queue: &mut Queue<E>,
    ) {
        let found = self.sampled(now, node, occupied) != Channel::Clear;
        let station = &self.stations[node];
        let has_frame = station.reading || station.waiting.is_some();
        let Some(train) = &station.train else { return };
        if found || has_frame || train.answer.is_some() {
            let time = train.strobe.detect;
            self.step_for(now, node, Work::Detect, time, queue);
        } else {
            self.next_copy(now, node, queue);
        }
    }

    /// Identifies the signal that the assessment after a copy detected.
    fn on_detected<E: From<Event>>(&mut self, now: Instant, node: usize, queue: &mut Queue<E>) {
        let station = &mut self.stations[node];
        let Some(train) = &station.train else { return };
        let result = match train.answer {
            Some(frame_pending) => RadioResult::Cycled(CycledResult::Answered {
                frame_pending,
                begun_ago: now.since(train.copy_began),
            }),
            None if train.strobe.gives_way => RadioResult::ChannelBusy,
            None => return self.next_copy(now, node, queue),
        };
        station.train = None;
        self.finish(now, node, result);
    }

    /// Starts the next copy, unless the time for all copies is over.
    fn next_copy<E: From<Event>>(&mut self, now: Instant, node: usize, queue: &mut Queue<E>) {
        let station = &mut self.stations[node];
        let Some(train) = &station.train else { return };
        let began = train.began.unwrap_or(now);
        let period = train.strobe.period.minus(TURNAROUND);
        let next = now.max(train.copy_began + period);
        if next >= began + train.strobe.span {
            let result = match station.wants_ack {
                true => RadioResult::NoAck,
                false => RadioResult::Sent,
            };
            station.train = None;
            self.finish(now, node, result);
        } else if next > now {
            self.step_for(now, node, Work::Pause, next.since(now), queue);
        } else if !station.loaded {
            self.load(now, node, Some(false), queue);
        } else {
            self.begin_send(now, node, false, queue);
        }
    }

    fn step_for<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        work: Work,
        time: Duration,
        queue: &mut Queue<E>,
    ) {
        let generation = self.stations[node].step(work);
        let node = node as u32;
        queue.schedule(now + time, Event::Step { node, generation }.into());
    }
}
