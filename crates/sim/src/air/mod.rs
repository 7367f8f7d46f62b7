//! The radios of all nodes and the medium between them: everything between a MAC's command to its
//! radio and the delivery of the frame to another MAC.
//!
//! As in every other layer, work enters through [`Air::start_work`], scheduled events enter through
//! [`Air::on_event`], and indications leave through [`Air::poll_indication`]. The beginning and the
//! end of a transmission each visit all neighbours, without allocation.
//!
//! The air also applies faults: it drops or duplicates frames at their receiver, and switches
//! radios off and on. A transmission is completed even if its radio is switched off meanwhile.

mod change;
mod flight;
mod ledger;
mod message;
mod raw;
mod receive;
mod send;
mod strobe;
mod tape;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use redpoll_base::Instant;
use redpoll_mac::{CycledResult, RadioResult, RadioWork};
use redpoll_replay::{self as replay, DutyConfig};
use redpoll_wire::ieee802154::Address;

pub use flight::Label;
pub use ledger::{Counts, FrameClass, Ledger, Outcome};
pub use message::{AirTimes, MessageType};
pub use tape::{Addressee, Changes, Fate, Frame, HostPacket, Tape};

use crate::fault::{Faults, Spec};
use crate::kernel::{Digest, Queue, Seed};
use crate::medium::{Link, Medium, Site, TxId};
use crate::radio::{self, Chip, Identity, Overhears, Received, RestState, State, Station};
use crate::topology::Neighbour;
use crate::trace::Traces;
use flight::{Cargo, Flights};
use message::Classifier;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The current step of a node's radio ends.
    Step {
        node: u32,
        /// Number of the step; the event is ignored if the radio's current step has another number.
        generation: u32,
    },
    FlightEnds {
        tx: TxId,
    },
    /// A node's radio begins to send an acknowledgment.
    AckDue {
        node: u32,
    },
    /// A node's processor has read the received frame.
    ReadDone {
        node: u32,
    },
    /// A fault switches a radio off or on.
    Switch {
        node: u32,
    },
    Burst {
        interferer: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// The node's radio received a frame, which [`Air::received`] returns until the next event.
    Frame { node: u32 },
    /// The node's raw radio begins to receive a frame.
    Follows { node: u32 },
    /// The frame that the node's raw radio received has ended, or its reception was abandoned.
    Heard {
        node: u32,
        /// Whether the frame is intact; [`Air::received`] then returns it until the next event.
        intact: bool,
    },
    /// The node's radio received a frame other than an acknowledgment to its end.
    /// [`overhear`](Air::overhear) selects the frames for which a node gets this indication.
    Overheard {
        node: u32,
        /// Whether the frame is intact; [`Air::overheard`] then returns it until the next event.
        intact: bool,
    },
    /// The node's radio finished an operation.
    Done { node: u32, result: AirResult },
}

impl Indication {
    pub fn node(&self) -> u32 {
        match *self {
            Indication::Frame { node }
            | Indication::Follows { node }
            | Indication::Heard { node, .. }
            | Indication::Overheard { node, .. }
            | Indication::Done { node, .. } => node,
        }
    }
}

pub type AirWork = RadioWork<replay::Work>;
pub type AirResult = RadioResult<CycledResult>;

/// Converts an operation of a device's radio into the type for all simulated radios.
pub fn widen(work: RadioWork) -> AirWork {
    match work {
        RadioWork::Load => RadioWork::Load,
        RadioWork::Transmit { cca } => RadioWork::Transmit { cca },
        RadioWork::Listen => RadioWork::Listen,
        RadioWork::Doze => RadioWork::Doze,
        RadioWork::Sleep => RadioWork::Sleep,
        RadioWork::SourceMatch { neighbour, pending } => {
            RadioWork::SourceMatch { neighbour, pending }
        }
    }
}

/// Converts a result to the type of a device's radio; `None` if only a duty-cycled MAC can get it.
pub fn narrow(result: AirResult) -> Option<RadioResult> {
    Some(match result {
        RadioResult::Loaded => RadioResult::Loaded,
        RadioResult::ChannelBusy => RadioResult::ChannelBusy,
        RadioResult::Sent => RadioResult::Sent,
        RadioResult::Acked { frame_pending } => RadioResult::Acked { frame_pending },
        RadioResult::NoAck => RadioResult::NoAck,
        RadioResult::Cycled(_) => return None,
    })
}

pub struct Air {
    medium: Medium,
    stations: Vec<Station>,
    flights: Flights,
    chip: Chip,
    faults: Faults,
    ledger: Ledger,
    air_times: AirTimes,
    cargo: Vec<Cargo>,
    classifiers: Vec<Classifier>,
    /// Parameters of the MACs, if they are duty-cycled.
    duty: Option<DutyConfig>,
    digest: Digest,
    traces: Traces,
    /// Recording for a viewer; `None` if no viewer is attached.
    tape: Option<Box<Tape>>,
    sent: u64,
    indications: VecDeque<Indication>,
}

/// Configuration of the network at the beginning of a run.
#[derive(Debug)]
pub struct Layout<'a> {
    /// Nodes and links of the medium.
    pub site: Site<'a>,
    pub radio: &'a radio::Config,
    pub identities: &'a [Identity],
    pub faults: &'a [Spec],
}

impl Air {
    /// Returns an air with listening radios and a silent medium. Schedules the faults that switch
    /// radios, and the first bursts of interferers.
    pub fn new<E: From<Event>>(layout: &Layout<'_>, seed: Seed, queue: &mut Queue<E>) -> Self {
        let faults = Faults::new(layout.faults.to_vec(), seed.stream("fault"));
        for (at, node) in faults.switches() {
            if at < Instant::FAR_FUTURE {
                queue.schedule(at, Event::Switch { node: node as u32 }.into());
            }
        }
        let mut medium = Medium::new(&layout.site, seed);
        for (interferer, first) in medium.first_bursts().into_iter().enumerate() {
            if let Some(at) = first {
                let interferer = interferer as u32;
                queue.schedule(at, Event::Burst { interferer }.into());
            }
        }
        Air {
            medium,
            stations: layout
                .identities
                .iter()
                .copied()
                .map(Station::new)
                .collect(),
            flights: Flights::default(),
            chip: Chip::new(layout.radio),
            faults,
            ledger: Ledger::new(layout.identities.len()),
            air_times: AirTimes::default(),
            cargo: vec![Cargo::none(); layout.identities.len()],
            classifiers: vec![Classifier::default(); layout.identities.len()],
            duty: None,
            digest: Digest::default(),
            traces: Traces::default(),
            tape: None,
            sent: 0,
            indications: VecDeque::new(),
        }
    }

    pub fn set_identity(&mut self, node: usize, identity: Identity) {
        self.stations[node].identity = identity;
    }

    /// Sets the parameters of duty-cycled MACs, which are necessary to parse their frames.
    pub fn set_duty(&mut self, duty: DutyConfig) {
        self.duty = Some(duty);
    }

    pub fn on_sealed(&mut self, node: usize, dst: Address, payload: &[u8]) {
        self.classifiers[node].on_sealed(self.duty.as_ref(), dst, payload);
    }

    /// Selects the received frames that are indicated to `node`.
    pub fn overhear(&mut self, node: usize, which: Overhears) {
        self.stations[node].overhears = which;
    }

    /// Returns the intact frame of the latest overheard indication to `node`.
    pub fn overheard(&self, node: usize) -> &[u8] {
        &self.stations[node].overheard
    }

    pub fn poll_indication(&mut self) -> Option<Indication> {
        self.indications.pop_front()
    }

    /// Returns the frame of the latest indication to `node`.
    pub fn received(&self, node: usize) -> &Received {
        &self.stations[node].incoming
    }

    /// Starts `work` for a node's MAC; `frame` is the frame to load.
    pub fn start_work<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        work: AirWork,
        frame: &[u8],
        queue: &mut Queue<E>,
    ) {
        match work {
            RadioWork::Load => self.start_load(now, node, frame, queue),
            RadioWork::Transmit { cca } => self.start_transmit(now, node, cca, queue),
            RadioWork::Cycled(replay::Work::Assess) => self.start_assessment(now, node, queue),
            RadioWork::Cycled(replay::Work::Strobe(strobe)) => {
                self.start_strobe(now, node, strobe, queue)
            }
            RadioWork::Listen => self.set_rest(now, node, RestState::Listen),
            RadioWork::Doze => self.set_rest(now, node, RestState::Doze),
            RadioWork::Sleep => self.set_rest(now, node, RestState::Sleep),
            RadioWork::SourceMatch { neighbour, pending } => {
                self.match_source(node, Address::Short(neighbour), pending);
            }
        }
    }

    /// Sets whether data requests from `neighbour` to `node` are acknowledged with the frame
    /// pending bit.
    pub fn match_source(&mut self, node: usize, neighbour: Address, pending: bool) {
        let table = &mut self.stations[node].source_match;
        table.retain(|known| *known != neighbour);
        if pending {
            table.push(neighbour);
        }
    }

    /// Sets whether `node` acknowledges all data requests with the frame pending bit.
    pub fn match_all(&mut self, node: usize, all: bool) {
        self.stations[node].matches_all = all;
    }

    /// Begins to observe whether the channel is busy at `node`.
    pub fn watch(&mut self, now: Instant, node: usize) {
        self.medium.watch(now, node);
    }

    /// Returns whether `node` found the channel busy since [`watch`](Self::watch).
    pub fn was_busy(&mut self, now: Instant, node: usize) -> bool {
        self.medium.was_busy(now, node)
    }

    /// Delays the next frame and the next transmission command to the radio of `node` until
    /// `ready_at`, because its processor is busy.
    pub fn hold(&mut self, node: usize, ready_at: Instant) {
        self.stations[node].ready_at = ready_at;
    }

    pub fn on_event<E: From<Event>>(&mut self, now: Instant, event: Event, queue: &mut Queue<E>) {
        match event {
            Event::Step { node, generation } => {
                let node = node as usize;
                if self.stations[node].generation == generation {
                    self.on_step(now, node, queue);
                }
            }
            Event::FlightEnds { tx } => self.on_flight_end(now, tx, queue),
            Event::AckDue { node } => self.on_ack_due(now, node as usize, queue),
            Event::ReadDone { node } => self.on_read_done(now, node as usize, queue),
            Event::Switch { node } => self.on_switch(now, node as usize),
            Event::Burst { interferer } => {
                self.digest.add(now.as_micros());
                let next = self.medium.interfere(now, interferer as usize);
                if next < Instant::FAR_FUTURE {
                    queue.schedule(next, event.into());
                }
            }
        }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the transmissions and their air time up to `now`, by type of message.
    pub fn air_times(&self, now: Instant) -> AirTimes {
        let mut times = self.air_times;
        for flight in self.flights.under_way() {
            if let Some(message) = flight.message {
                times.subtract(message, flight.ends.since(now));
            }
        }
        times
    }

    #[cfg(test)]
    pub(crate) fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Returns for each kind how many ledger entries transmissions in progress will close.
    pub fn entries_under_way(&self) -> [u64; FrameClass::ALL.len()] {
        let mut entries = [0; FrameClass::ALL.len()];
        for flight in self.flights.under_way() {
            let kind = flight.label.kind;
            if kind == FrameClass::Broadcast {
                let followers = self.stations.iter().enumerate().filter(|(node, _)| {
                    self.medium
                        .followed(*node)
                        .and_then(|tx| self.flights.find(tx))
                        .is_some_and(|followed| std::ptr::eq(followed, flight))
                });
                entries[kind as usize] += followers.count() as u64;
            } else {
                entries[kind as usize] += 1;
            }
        }
        entries
    }

    /// Returns the nodes with links to and from `node`, in order. As in Thread, the worse direction
    /// determines the cost.
    pub fn neighbours(&self, node: usize) -> Vec<Neighbour> {
        let links = self.medium.links();
        let neighbour = |there: &Link| {
            let back = links.find(there.to as usize, node)?;
            (there.receives && back.receives).then(|| Neighbour {
                node: there.to as usize,
                cost: there.cost.max(back.cost).into(),
            })
        };
        links.of(node).iter().filter_map(neighbour).collect()
    }

    pub fn memory_bytes(&self, node: usize) -> usize {
        size_of::<Station>() + self.medium.memory_bytes(node)
    }

    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Returns the faults mutably, because their decisions draw random numbers.
    pub fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    pub(crate) fn traces_mut(&mut self) -> &mut Traces {
        &mut self.traces
    }

    pub fn transmissions(&self) -> u64 {
        self.sent
    }

    pub fn tape(&self) -> Option<&Tape> {
        self.tape.as_deref()
    }

    pub(crate) fn tape_mut(&mut self) -> &mut Option<Box<Tape>> {
        &mut self.tape
    }

    fn settle(&mut self, flight: (u64, FrameClass, usize), outcome: Outcome, at: usize) {
        let (id, kind, from) = flight;
        self.ledger.close(kind, outcome, from, at);
        if let Some(tape) = &mut self.tape {
            let at = at as u32;
            tape.fate(Fate { id, at, outcome });
        }
    }

    pub fn digest(&self) -> u64 {
        self.digest.value()
    }

    fn set_rest(&mut self, now: Instant, node: usize, rest: RestState) {
        let station = &mut self.stations[node];
        station.rests = rest;
        if matches!(station.state(), State::Listen | State::Idle | State::Sleep) {
            station.rest(now);
        }
    }

    fn on_switch(&mut self, now: Instant, node: usize) {
        let is_off = self.faults.is_off(now, node);
        if is_off == (self.stations[node].state() == State::Off) {
            return;
        }
        if is_off {
            self.abandon(node, Outcome::ReceiverOff);
            self.stations[node].times.enter(now, State::Off);
        } else {
            // A transmission that began before the radio was switched off is still in progress.
            let mut under_way = self.flights.under_way();
            let sends = under_way.any(|flight| flight.from as usize == node && flight.on_air);
            self.stations[node].times.enter(now, State::Listen);
            if sends {
                self.stations[node].times.enter(now, State::Transmit);
            } else {
                self.stations[node].rest(now);
            }
        }
    }

    fn abandon(&mut self, node: usize, outcome: Outcome) {
        if let Some(tx) = self.medium.abandon(node) {
            self.lose(tx, node, outcome);
            if self.stations[node].is_raw {
                let node = node as u32;
                let intact = false;
                self.indications
                    .push_back(Indication::Heard { node, intact });
            }
        }
    }

    fn finish(&mut self, now: Instant, node: usize, result: AirResult) {
        let station = &mut self.stations[node];
        station.step(radio::Work::Idle);
        if matches!(station.state(), State::Listen | State::Idle) {
            // Apply the resting state that was requested during the transmission.
            station.rest(now);
        }
        self.indications.push_back(Indication::Done {
            node: node as u32,
            result,
        });
    }
}

impl std::fmt::Debug for Air {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Air")
            .field("stations", &self.stations.len())
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}
