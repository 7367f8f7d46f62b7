//! An external node: the requests to it, and the work of its radio.
//!
//! One request is outstanding at a time; later ones wait in a short queue. With [`Pace::Waits`],
//! virtual time stops until the request is answered, so the queue stays empty.

use std::collections::VecDeque;
use std::time::{Duration, Instant as WallInstant};

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult, RadioWork, RxInfo};
use redpoll_uart::{Asker, AskerEvent, Begin, RequestEvent, Work};

use super::Resident;
use super::foreign::{PrintedLine, next_line};
use crate::air::{self, AirResult};
use crate::external::{Arrival, ExternalFigures, Line, Pace};
use crate::node;
use crate::scenario::Scenario;
use crate::topology::Routes;
use crate::world::WorldOptions;
use crate::world::build::BuildError;
use crate::world::environment::Seat;

/// Maximum number of reports that wait for the outstanding request; results are never dropped.
const QUEUE: usize = 16;
/// Time without an answer after which a request is repeated.
const REPEAT: Duration = Duration::from_millis(300);
/// Longest wait for the bytes of one external node at a time, in a world that waits.
pub(in crate::world) const LOOK: Duration = Duration::from_millis(100);

pub(in crate::world) struct External {
    line: Box<dyn Line>,
    asker: Asker,
    begin: Begin,
    parent: Option<usize>,
    waiting: VecDeque<Item>,
    presence: Presence,
    /// Time of the first transmission of the outstanding request; `sent` is that of the latest one.
    since: WallInstant,
    sent: WallInstant,
    /// Recipient of the result of the radio's work.
    owes: ResultOwner,
    is_loaded: bool,
    rest: RadioWork,
    text: Vec<u8>,
    figures: ExternalFigures,
    /// Whether a notice to the user about damaged bytes from the node was already created.
    has_told_of_damage: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::world) enum Presence {
    Absent,
    /// The node has not answered the request to begin.
    Begins,
    Here,
    /// A node has not answered for longer than `external.patience`.
    Silent,
}

/// Recipient of the result of the radio's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResultOwner {
    Nobody,
    Node,
    /// A node that has since left or restarted: the present node does not get the result.
    Former,
}

enum Item {
    Begin,
    Time,
    Frame(RxInfo, Box<FrameBuf>),
    Done(RadioResult),
}

impl External {
    /// Opens the connection to the node at `seat`, if that node runs outside the simulator.
    pub(in crate::world) fn open(
        scenario: &Scenario,
        seat: &mut Seat<'_>,
        routes: &Routes,
        options: &mut WorldOptions<'_>,
    ) -> Result<Option<External>, BuildError> {
        let index = seat.index;
        let spec = &scenario.nodes[index];
        let Some(address) = &spec.line else {
            return Ok(None);
        };
        let line = match options.lines {
            Some(open) => open(spec, address),
            None => Err("this command cannot simulate nodes of the kind external; allowed: redpoll up, redpoll run".into()),
        };
        let line = line.map_err(|problem| BuildError::Line {
            node: spec.name.clone(),
            problem,
        })?;
        let seed = seat.env.seed;
        let number = seed.node_stream("line", index).next_u32() as u16;
        // The radio sleeps until the node is connected.
        seat.start_work(RadioWork::Sleep, &[]);
        let now = WallInstant::now();
        Ok(Some(External {
            line,
            asker: Asker::new(number),
            begin: node::begin(scenario, index, routes, seed, &mut options.secrets),
            parent: routes.nodes[index].default,
            waiting: VecDeque::new(),
            presence: Presence::Absent,
            since: now,
            sent: now,
            owes: ResultOwner::Nobody,
            is_loaded: false,
            rest: RadioWork::Sleep,
            text: Vec::new(),
            figures: ExternalFigures::default(),
            has_told_of_damage: false,
        }))
    }

    pub(in crate::world) fn presence(&self) -> Presence {
        self.presence
    }

    pub(in crate::world) fn parent(&self) -> Option<usize> {
        self.parent
    }

    pub(in crate::world) fn figures(&self) -> ExternalFigures {
        let counters = self.asker.counters();
        ExternalFigures {
            asked: counters.asked,
            repeated: counters.repeated,
            damaged: counters.damaged,
            ..self.figures
        }
    }

    /// Starts or restarts the node as soon as the radio is free. Drops the waiting reports.
    fn begin_anew(&mut self) {
        self.asker.give_up();
        self.waiting.clear();
        self.waiting.push_back(Item::Begin);
        self.presence = Presence::Begins;
        self.leave();
    }

    fn leave(&mut self) {
        if self.owes == ResultOwner::Node {
            self.owes = ResultOwner::Former;
        }
        self.is_loaded = false;
    }

    fn enqueue(&mut self, item: Item) {
        let is_there = matches!(self.presence, Presence::Here | Presence::Silent);
        let has_room = self.waiting.len() < QUEUE || matches!(item, Item::Done(_));
        let is_new =
            !matches!(item, Item::Time) || !self.waiting.iter().any(|it| matches!(it, Item::Time));
        if is_there && has_room && is_new {
            self.waiting.push_back(item);
        } else if is_there && is_new {
            self.figures.overrun += 1;
        }
    }

    /// Sends the next request, if none is outstanding and the radio is free. Returns whether a
    /// request is outstanding.
    fn ask(&mut self, now: Instant) -> bool {
        if self.asker.waits() {
            return true;
        }
        if matches!(self.waiting.front(), Some(Item::Begin)) && self.owes != ResultOwner::Nobody {
            return false;
        }
        let Some(item) = self.waiting.pop_front() else {
            return false;
        };
        let event = match &item {
            Item::Begin => RequestEvent::Begin(self.begin),
            Item::Time => RequestEvent::Time,
            Item::Frame(info, frame) => RequestEvent::Frame { info: *info, frame },
            Item::Done(result) => RequestEvent::Done(*result),
        };
        let mut bytes = Vec::new();
        self.asker.ask(now, event, |byte| bytes.push(byte));
        self.since = WallInstant::now();
        self.sent = self.since;
        self.line.send(&bytes);
        self.asker.waits()
    }

    fn repeat(&mut self) {
        let mut bytes = Vec::new();
        self.asker.repeat(|byte| bytes.push(byte));
        self.sent = WallInstant::now();
        self.line.send(&bytes);
    }

    /// Handles the bytes that have arrived from the node, and sends the next request.
    pub(in crate::world) fn hear_all(&mut self, seat: &mut Seat<'_>) {
        while self.hear(seat, Duration::ZERO) {}
        self.converse(seat);
    }

    /// Sends the next request. In a world that waits, continues until all requests are answered.
    fn converse(&mut self, seat: &mut Seat<'_>) {
        while self.ask(seat.local_now())
            && seat.env.pace == Pace::Waits
            && self.presence != Presence::Silent
        {
            self.hear(seat, LOOK);
        }
    }

    /// Handles the bytes that arrive from the node within `wait`. Returns `false` if neither bytes
    /// arrived nor the connection changed.
    pub(in crate::world) fn hear(&mut self, seat: &mut Seat<'_>, wait: Duration) -> bool {
        let mut bytes = Vec::new();
        let arrival = self.line.receive(wait, &mut bytes);
        match arrival {
            Arrival::Nothing => self.mind(seat),
            Arrival::Peer => {
                seat.start_work(RadioWork::Sleep, &[]);
                self.begin_anew();
                self.ask(seat.local_now());
            }
            Arrival::Gone => {
                if self.presence != Presence::Absent {
                    notice(seat, "has disconnected: its byte stream was closed");
                    self.figures.gone += 1;
                }
                self.dismiss(seat);
            }
            Arrival::Bytes => {
                for byte in bytes {
                    self.hear_byte(seat, byte);
                }
            }
        }
        arrival != Arrival::Nothing
    }

    /// Records that no node is connected, and puts its radio to sleep.
    fn dismiss(&mut self, seat: &mut Seat<'_>) {
        self.asker.give_up();
        self.waiting.clear();
        self.presence = Presence::Absent;
        self.leave();
        seat.timing.wakes_at = Instant::FAR_FUTURE;
        seat.start_work(RadioWork::Sleep, &[]);
    }

    /// Repeats an unanswered request, and detects a node that does not answer at all.
    fn mind(&mut self, seat: &mut Seat<'_>) {
        if !self.asker.waits() {
            return;
        }
        let patience = seat.env.scenario.external.patience;
        if self.presence == Presence::Here && self.since.elapsed() > patience {
            let text = format!("has not answered for {} s", patience.as_secs_f64());
            notice(seat, &text);
            self.presence = Presence::Silent;
            seat.start_work(RadioWork::Sleep, &[]);
        }
        if self.sent.elapsed() > REPEAT {
            self.repeat();
        }
    }

    fn hear_byte(&mut self, seat: &mut Seat<'_>, byte: u8) {
        let damaged = self.asker.counters().damaged;
        match self.asker.input(byte) {
            None => {}
            // The request is repeated, because the node was not on when it was sent.
            Some(AskerEvent::Hello) if self.presence == Presence::Begins => self.repeat(),
            Some(AskerEvent::Hello | AskerEvent::NotBegun) => {
                if self.presence != Presence::Absent {
                    notice(seat, "was reset, and starts again");
                }
                seat.start_work(RadioWork::Sleep, &[]);
                self.begin_anew();
                let now = seat.local_now();
                self.ask(now);
            }
            Some(AskerEvent::Text(text)) => {
                self.text.extend_from_slice(text);
                while let Some(text) = next_line(&mut self.text) {
                    let (at, node) = (seat.env.now, seat.index);
                    seat.env.printed.push(PrintedLine { at, node, text });
                }
            }
            Some(AskerEvent::Answer(answer)) => {
                let wakes_at = answer.wakes_at;
                let works = answer.works.map(|work| match work {
                    Work::Load(frame) => (RadioWork::Load, frame.to_vec()),
                    Work::Order(order) => (order, Vec::new()),
                });
                let works: Vec<_> = works.collect();
                self.on_answer(seat, wakes_at, &works);
            }
        }
        if self.asker.counters().damaged > damaged && !self.has_told_of_damage {
            self.has_told_of_damage = true;
            let text = "sent a damaged or invalid message, or a message of another version; check \
                        the byte stream, and build the node from this version of Redpoll";
            notice(seat, text);
        }
    }

    fn on_answer(
        &mut self,
        seat: &mut Seat<'_>,
        wakes_at: Option<Instant>,
        works: &[(RadioWork, Vec<u8>)],
    ) {
        match self.presence {
            Presence::Begins => {
                self.figures.begun += 1;
                // A radio listens after its start.
                self.rest = RadioWork::Listen;
                seat.start_work(air::widen(self.rest), &[]);
            }
            Presence::Silent => {
                notice(seat, "answers again");
                seat.start_work(air::widen(self.rest), &[]);
            }
            Presence::Here | Presence::Absent => {}
        }
        self.presence = Presence::Here;
        for (work, frame) in works {
            let is_free = self.owes == ResultOwner::Nobody;
            let is_possible = match work {
                RadioWork::Load => is_free && !frame.is_empty(),
                RadioWork::Transmit { .. } => is_free && self.is_loaded,
                _ => true,
            };
            match work {
                _ if !is_possible => {
                    self.figures.impossible += 1;
                    continue;
                }
                RadioWork::Load => {
                    self.owes = ResultOwner::Node;
                    self.is_loaded = false;
                }
                RadioWork::Transmit { .. } => self.owes = ResultOwner::Node,
                RadioWork::Listen | RadioWork::Doze | RadioWork::Sleep => self.rest = *work,
                _ => {}
            }
            seat.start_work(air::widen(*work), frame);
        }
        if let Some(at) = wakes_at {
            seat.wake_at(at);
        }
    }
}

impl Resident for External {
    fn on_wake(&mut self, seat: &mut Seat<'_>) {
        self.enqueue(Item::Time);
        self.converse(seat);
    }

    fn on_frame(&mut self, seat: &mut Seat<'_>) {
        let received = seat.env.air.received(seat.index);
        let copies = if received.twice { 2 } else { 1 };
        for _ in 0..copies {
            let frame = Box::new(received.frame.clone());
            self.enqueue(Item::Frame(received.info, frame));
        }
        self.converse(seat);
    }

    fn on_radio_done(&mut self, seat: &mut Seat<'_>, result: AirResult) {
        if std::mem::replace(&mut self.owes, ResultOwner::Nobody) == ResultOwner::Node {
            self.is_loaded |= result == RadioResult::Loaded;
            // The node requests only operations that every radio has, so the result's type can be
            // narrowed.
            self.enqueue(Item::Done(
                air::narrow(result).unwrap_or(RadioResult::NoAck),
            ));
        }
        self.converse(seat);
    }
}

fn notice(seat: &mut Seat<'_>, text: &str) {
    seat.env.notices.push(PrintedLine {
        at: seat.env.now,
        node: seat.index,
        text: text.to_owned(),
    });
}
