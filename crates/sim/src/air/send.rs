//! Transmission: load, clear channel assessment, turnaround, air, wait for the acknowledgment.

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult};
use redpoll_wire::ieee802154::{self, FrameHeader};

use super::flight::{Cargo, Flight, Label};
use super::{Addressee, Air, Event, Frame, FrameClass, Indication, MessageType, Outcome};
use crate::kernel::Queue;
use crate::medium::{Link, Reception, Start, TxId};
use crate::radio::{ACK_WAIT, Acking, CCA, State, Station, TURNAROUND, Work};
use crate::trace::TracedFrame;

impl Air {
    pub(super) fn start_load<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        frame: &[u8],
        queue: &mut Queue<E>,
    ) {
        let Cargo { label, .. } = self.stow(node, frame);
        let station = &mut self.stations[node];
        let copied = station.outgoing.copy_from(frame);
        debug_assert!(
            copied.is_ok(),
            "a frame of the MAC is short enough for a radio"
        );
        station.loaded = false;
        station.dsn = label.dsn;
        station.wants_ack = label.wants_ack;
        self.load(now, node, None, queue);
    }

    pub(super) fn start_transmit<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        cca: bool,
        queue: &mut Queue<E>,
    ) {
        let station = &self.stations[node];
        if cca && is_occupied(station) {
            self.assess(now, node, queue);
        } else if station.loaded && station.ready_at > now {
            let station = &mut self.stations[node];
            let at = station.ready_at;
            let generation = station.step(Work::Loading { then: Some(cca) });
            let node = node as u32;
            queue.schedule(at, Event::Step { node, generation }.into());
        } else if station.loaded {
            self.begin_send(now, node, cca, queue);
        } else {
            // Load the frame again: a received frame has overwritten it in the radio's only buffer.
            self.load(now, node, Some(cca), queue);
        }
    }

    /// Loads the frame into the radio, now or when the bus is free. With `then`, sends it
    /// afterwards.
    pub(super) fn load<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        then: Option<bool>,
        queue: &mut Queue<E>,
    ) {
        let single_buffer = self.chip.single_buffer;
        let station = &mut self.stations[node];
        let buffer_in_use = station.acking.is_some() || station.state() == State::Receive;
        if station.reading || (single_buffer && buffer_in_use) {
            station.step(Work::LoadWaits { then });
            return;
        }
        let busy = station.ready_at.since(now);
        let is_worth_sleep = match station.state() {
            State::Sleep => !busy.is_zero(),
            State::Idle => busy > self.chip.wake_up,
            _ => false,
        };
        if is_worth_sleep {
            // The radio sleeps until the processor has a frame for it.
            let at = station.ready_at;
            let generation = station.step(Work::Held { then });
            station.rest(now);
            let node = node as u32;
            queue.schedule(at, Event::Step { node, generation }.into());
            return;
        }
        let generation = station.step(Work::Loading { then });
        let mut time = self.chip.spi_time(station.outgoing.len());
        station.spi += time;
        time += busy;
        if station.state() == State::Sleep {
            time += self.chip.wake_up;
            station.rest(now);
        }
        if time.is_zero() {
            self.on_loaded(now, node, then, queue);
        } else {
            let node = node as u32;
            queue.schedule(now + time, Event::Step { node, generation }.into());
        }
    }

    fn on_loaded<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        then: Option<bool>,
        queue: &mut Queue<E>,
    ) {
        self.stations[node].loaded = true;
        match then {
            None => self.finish(now, node, RadioResult::Loaded),
            Some(cca) => self.begin_send(now, node, cca, queue),
        }
    }

    pub(super) fn begin_send<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        cca: bool,
        queue: &mut Queue<E>,
    ) {
        let station = &mut self.stations[node];
        if !cca {
            if station.acking.is_some() {
                station.step(Work::SendWaits);
                return;
            }
            self.abandon(node, Outcome::ReceiverTransmitting);
            self.turn_around(now, node, queue);
            return;
        }
        self.assess(now, node, queue);
    }

    /// Begins a clear channel assessment. It takes its 8 symbols even if the radio knows that the
    /// channel is busy.
    fn assess<E: From<Event>>(&mut self, now: Instant, node: usize, queue: &mut Queue<E>) {
        self.medium.watch(now, node);
        let station = &mut self.stations[node];
        let occupied = is_occupied(station);
        let generation = station.step(Work::Cca { occupied });
        if matches!(station.state(), State::Sleep | State::Idle) {
            station.rest(now);
        }
        let node = node as u32;
        queue.schedule(now + CCA, Event::Step { node, generation }.into());
    }

    fn turn_around<E: From<Event>>(&mut self, now: Instant, node: usize, queue: &mut Queue<E>) {
        let station = &mut self.stations[node];
        let generation = station.step(Work::Turnaround);
        if station.state() != State::Off {
            station.times.enter(now, State::Turnaround);
        }
        let node = node as u32;
        queue.schedule(now + TURNAROUND, Event::Step { node, generation }.into());
    }

    pub(super) fn on_step<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        let station = &mut self.stations[node];
        match station.work {
            Work::Held { then } => self.load(now, node, then, queue),
            Work::Loading { then } => self.on_loaded(now, node, then, queue),
            Work::Cca { occupied } => {
                let is_off = station.state() == State::Off;
                // The assessment does not detect a frame that begins at the instant of its end.
                let begins = station.state() == State::Receive && station.times.since() == now;
                let hears = occupied || (is_occupied(station) && !begins);
                if hears || (!is_off && self.medium.was_busy(now, node)) {
                    self.finish(now, node, RadioResult::ChannelBusy);
                } else {
                    self.abandon(node, Outcome::ReceiverTransmitting);
                    self.turn_around(now, node, queue);
                }
            }
            Work::Turnaround => {
                station.step(Work::Sending);
                if let Some(train) = &mut station.train {
                    train.began.get_or_insert(now);
                    train.copy_began = now;
                    station.copies += 1;
                }
                let frame = FrameBuf::clone(&station.outgoing);
                self.take_off(now, node, &frame, (self.cargo[node], None), queue);
            }
            Work::AwaitAck => self.finish(now, node, RadioResult::NoAck),
            Work::Idle | Work::LoadWaits { .. } | Work::SendWaits | Work::Sending => {}
            _ => self.on_strobe_step(now, node, queue),
        }
    }

    /// Resumes waiting work when the radio has become free.
    pub(super) fn resume<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        match self.stations[node].work {
            Work::LoadWaits { then } => self.load(now, node, then, queue),
            Work::SendWaits => self.begin_send(now, node, false, queue),
            _ => {}
        }
    }

    pub(super) fn on_ack_due<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        let Some(Acking {
            to,
            dsn,
            frame_pending,
        }) = self.stations[node].acking
        else {
            return;
        };
        let mut frame = FrameBuf::new();
        // Three bytes always fit.
        let _ = frame.copy_from(&ieee802154::imm_ack(dsn, frame_pending));
        let ack = Cargo {
            label: Label::of(&frame),
            message: MessageType::Ack,
        };
        self.take_off(now, node, &frame, (ack, Some(to)), queue);
    }

    pub(super) fn stow(&mut self, node: usize, frame: &[u8]) -> Cargo {
        let parsed = FrameHeader::parse(frame).ok();
        let cargo = Cargo {
            label: Label::of_parsed(parsed.as_ref()),
            message: self.classifiers[node].classify(self.duty.as_ref(), parsed.as_ref()),
        };
        self.cargo[node] = cargo;
        cargo
    }

    /// Begins a transmission. `addressee`: receiver of an acknowledgment (which has no address).
    pub(super) fn take_off<E: From<Event>>(
        &mut self,
        now: Instant,
        from: usize,
        frame: &FrameBuf,
        (Cargo { label, message }, addressee): (Cargo, Option<u32>),
        queue: &mut Queue<E>,
    ) {
        let is_on = self.stations[from].state() != State::Off;
        let on_air = is_on && self.medium.is_heard();
        if is_on {
            // The radio can be receiving at this point only if a fault has just switched it on.
            self.abandon(from, Outcome::ReceiverTransmitting);
            self.stations[from].times.enter(now, State::Transmit);
        }
        if self.medium.changes() && !self.flights.under_way().any(|it| it.from as usize == from) {
            self.medium.refresh(now, from);
        }
        let is_ack = label.kind == FrameClass::Ack;
        let time = self.chip.air_time(frame.len(), is_ack);
        let ends = now + time;
        if is_on {
            self.air_times.add(message, time);
        }
        if label.kind != FrameClass::Broadcast {
            self.ledger.open(label.kind);
        }
        let silent = if is_on {
            Outcome::RandomLoss
        } else {
            Outcome::SenderOff
        };
        let id = self.sent;
        self.sent += 1;
        let tx = self.flights.insert(Flight {
            id,
            layout: self.medium.layout(),
            from: from as u32,
            label,
            message: is_on.then_some(message),
            ends,
            addressee,
            outcome: (!on_air).then_some(silent),
            on_air,
            frame: frame.clone(),
        });
        self.digest.add(now.as_micros());
        self.digest.add((from as u64) << 8 | frame.len() as u64);
        self.digest.add_bytes(frame);
        let mut rssi_dbm = i8::MIN;
        if on_air {
            for index in self.medium.links().range(from) {
                let link = self.medium.links().at(index);
                if self.arrive(now, tx, &label, addressee, &link) {
                    rssi_dbm = rssi_dbm.max(link.rssi_dbm);
                }
            }
        }
        if is_on {
            self.traces.frame(&TracedFrame {
                from,
                start: now,
                end: ends,
                mpdu: frame,
                rssi_dbm: (rssi_dbm > i8::MIN).then_some(rssi_dbm),
            });
        }
        if self.tape.is_some() {
            self.write_down(now, ends, tx);
        }
        queue.schedule(ends, Event::FlightEnds { tx }.into());
    }

    fn write_down(&mut self, start: Instant, end: Instant, tx: TxId) {
        let (Some(tape), Some(flight)) = (&mut self.tape, self.flights.find(tx)) else {
            return;
        };
        tape.frame(Frame {
            id: flight.id,
            start,
            end,
            from: flight.from,
            to: match (flight.label.kind, flight.addressee) {
                (FrameClass::Broadcast, _) => Addressee::All,
                (_, Some(node)) => Addressee::Node(node),
                (_, None) => Addressee::Nobody,
            },
            kind: flight.label.kind,
            mpdu: (*flight.frame).into(),
        });
    }

    /// Begins the arrival of a frame at a neighbour. Returns whether the frame is for this
    /// neighbour.
    fn arrive(
        &mut self,
        now: Instant,
        tx: u32,
        label: &Label,
        addressee: Option<u32>,
        link: &Link,
    ) -> bool {
        let node = link.to as usize;
        let station = &self.stations[node];
        let is_for_node = match (label.kind, addressee) {
            (FrameClass::Broadcast, _) => link.receives,
            (_, Some(addressee)) => addressee == link.to,
            (_, None) => station.identity.owns(label.dst),
        };
        let refusal = self.refusal(node, label.kind);
        let start = self.medium.start(now, tx, link, refusal.is_none());
        if is_for_node {
            if label.kind == FrameClass::Broadcast {
                self.ledger.open(FrameClass::Broadcast);
            } else if let Some(flight) = self.flights.find_mut(tx) {
                flight.addressee = Some(link.to);
            }
        }
        match start {
            Start::Followed => self.on_followed(now, node, label),
            Start::Captured(earlier) => {
                self.lose(earlier, node, Outcome::Collision);
                self.on_followed(now, node, label);
            }
            Start::NotReady => self.lose(tx, node, refusal.unwrap_or(Outcome::Collision)),
            Start::Lost(reception) => self.lose(tx, node, outcome_of(reception)),
        }
        is_for_node
    }

    /// Returns why a node's radio cannot receive a frame that begins now.
    fn refusal(&self, node: usize, kind: FrameClass) -> Option<Outcome> {
        let station = &self.stations[node];
        let awaits_ack = station.work == Work::AwaitAck;
        if station.work == Work::Settle {
            return Some(Outcome::ReceiverAsleep);
        }
        match station.state() {
            State::Off => Some(Outcome::ReceiverOff),
            State::Sleep | State::Idle => Some(Outcome::ReceiverAsleep),
            State::Turnaround | State::Transmit => Some(Outcome::ReceiverTransmitting),
            State::Listen | State::Receive if station.reading && self.chip.single_buffer => {
                Some(Outcome::RxOverrun)
            }
            State::Listen | State::Receive
                if awaits_ack && self.chip.sends_by_procedure && kind != FrameClass::Ack =>
            {
                Some(Outcome::ReceiverTransmitting)
            }
            State::Listen | State::Receive => None,
        }
    }

    fn on_followed(&mut self, now: Instant, node: usize, label: &Label) {
        let station = &mut self.stations[node];
        station.times.enter(now, State::Receive);
        if station.is_raw {
            let node = node as u32;
            self.indications.push_back(Indication::Follows { node });
            return;
        }
        // An acknowledgment for which the radio waits does not enter the radio's frame buffer.
        let awaits_ack = station.work == Work::AwaitAck || station.work.awaits_answer();
        let is_stored = !(label.kind == FrameClass::Ack && awaits_ack);
        if self.chip.single_buffer && is_stored {
            station.loaded = false;
            if let Work::Loading { then } = station.work {
                station.step(Work::LoadWaits { then });
            }
        }
    }

    pub(super) fn lose(&mut self, tx: u32, node: usize, outcome: Outcome) {
        let Some(flight) = self.flights.find_mut(tx) else {
            return;
        };
        let (id, kind, from) = (flight.id, flight.label.kind, flight.from as usize);
        if kind == FrameClass::Broadcast {
            let links = self.medium.links_of(flight.layout);
            if links.find(from, node).is_some_and(|link| link.receives) {
                self.settle((id, kind, from), outcome, node);
            }
        } else if flight.addressee == Some(node as u32) {
            flight.outcome.get_or_insert(outcome);
        }
    }

    /// Continues the sender's work when its transmission ends.
    pub(super) fn land<E: From<Event>>(
        &mut self,
        now: Instant,
        from: usize,
        kind: FrameClass,
        queue: &mut Queue<E>,
    ) {
        let station = &mut self.stations[from];
        if station.is_raw {
            station.rest(now);
            self.finish(now, from, RadioResult::Sent);
        } else if kind == FrameClass::Ack {
            station.acking = None;
            station.rest(now);
            self.resume(now, from, queue);
        } else if station.train.is_some() {
            self.open_gap(now, from, queue);
        } else if station.wants_ack {
            let generation = station.step(Work::AwaitAck);
            station.rest(now);
            let node = from as u32;
            queue.schedule(now + ACK_WAIT, Event::Step { node, generation }.into());
        } else {
            station.rest(now);
            self.finish(now, from, RadioResult::Sent);
        }
    }
}

/// Returns whether a radio is receiving a frame or must acknowledge one. In both cases, a clear
/// channel assessment of this radio finds the channel busy.
pub(super) fn is_occupied(station: &Station) -> bool {
    station.state() == State::Receive || station.acking.is_some()
}

/// Converts the end of a reception into an outcome of the ledger.
pub(super) fn outcome_of(reception: Reception) -> Outcome {
    match reception {
        Reception::Intact => Outcome::Delivered,
        Reception::Collision => Outcome::Collision,
        Reception::Interference => Outcome::Interference,
        Reception::RandomLoss => Outcome::RandomLoss,
        Reception::OutOfRange => Outcome::OutOfRange,
    }
}
