//! A node that runs elsewhere: what it is asked and when, and what its radio does.
//!
//! One request is under way at a time; what happens meanwhile waits in a short queue. With
//! [`Pace::Waits`] the world stands still until the request is answered, so the queue stays
//! empty.

use std::collections::VecDeque;
use std::time::{Duration, Instant as WallInstant};

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult, RadioWork, RxInfo};
use redpoll_uart::{Asker, Begin, Heard, News, Work};

use super::Resident;
use super::foreign::{PrintedLine, next_line};
use crate::air::AirResult;
use crate::external::{Arrival, ExternalFigures, Line, Lines, Pace};
use crate::kernel::Secrets;
use crate::node;
use crate::scenario::Scenario;
use crate::topology::Routes;
use crate::world::build::BuildError;
use crate::world::environment::Seat;

/// Frames and results that wait at most for an answer before them.
const QUEUE: usize = 16;
/// A request is repeated after so long without an answer.
const REPEAT: Duration = Duration::from_millis(300);
/// How long a world that waits looks at a line at once.
pub(in crate::world) const LOOK: Duration = Duration::from_millis(100);

/// See the [module](self).
pub(in crate::world) struct External {
    line: Box<dyn Line>,
    asker: Asker,
    begin: Begin,
    /// Index of the parent that the node is told.
    parent: Option<usize>,
    waiting: VecDeque<Item>,
    presence: Presence,
    /// When the request that is under way was first sent, and last.
    since: WallInstant,
    sent: WallInstant,
    /// Whose work the radio has, whose result it owes.
    owes: Owes,
    /// There is a frame to send in the radio.
    is_loaded: bool,
    /// The state of the radio between works, as the node wants it.
    rest: RadioWork,
    /// A line of text that has not ended.
    text: Vec<u8>,
    figures: ExternalFigures,
    /// A notice about damage on the line was given.
    has_told_of_damage: bool,
}

/// Presence of a node at the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::world) enum Presence {
    /// No node.
    Absent,
    /// A node that was asked to begin and has not answered.
    Begins,
    /// The node.
    Here,
    /// The node, which has not answered for longer than `external.patience`.
    Silent,
}

/// Whose result the radio works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owes {
    Nobody,
    /// The node.
    Node,
    /// A node that has gone or restarted since: the result is not for the present node.
    Former,
}

/// Something to report to the node.
enum Item {
    Begin,
    Time,
    Frame(RxInfo, Box<FrameBuf>),
    Done(RadioResult),
}

impl External {
    /// Opens the line to the node of a place, if the scenario has it elsewhere.
    pub(in crate::world) fn open(
        scenario: &Scenario,
        seat: &mut Seat<'_>,
        routes: &Routes,
        lines: &dyn Lines,
        secrets: &mut Secrets,
    ) -> Result<Option<External>, BuildError> {
        let index = seat.index;
        let spec = &scenario.nodes[index];
        let Some(address) = &spec.line else {
            return Ok(None);
        };
        let line = lines.open(spec, address);
        let line = line.map_err(|problem| BuildError::Line {
            node: spec.name.clone(),
            problem,
        })?;
        let seed = seat.env.seed;
        let number = seed.node_stream("line", index).next_u32() as u16;
        // Its radio hears nothing until it is there.
        seat.start_work(RadioWork::Sleep, &[]);
        let now = WallInstant::now();
        Ok(Some(External {
            line,
            asker: Asker::new(number),
            begin: node::begin(scenario, index, routes, seed, secrets),
            parent: routes.nodes[index].default,
            waiting: VecDeque::new(),
            presence: Presence::Absent,
            since: now,
            sent: now,
            owes: Owes::Nobody,
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

    /// Returns the index of the parent that the node was told.
    pub(in crate::world) fn parent(&self) -> Option<usize> {
        self.parent
    }

    /// Returns what the node has done and suffered.
    pub(in crate::world) fn figures(&self) -> ExternalFigures {
        let counters = self.asker.counters();
        ExternalFigures {
            asked: counters.asked,
            repeated: counters.repeated,
            damaged: counters.damaged,
            ..self.figures
        }
    }

    /// Starts or restarts the node as soon as the radio is free. Drops the reports that wait.
    fn begin_anew(&mut self) {
        self.asker.give_up();
        self.waiting.clear();
        self.waiting.push_back(Item::Begin);
        self.presence = Presence::Begins;
        self.leave();
    }

    /// The node that was there is there no more.
    fn leave(&mut self) {
        if self.owes == Owes::Node {
            self.owes = Owes::Former;
        }
        self.is_loaded = false;
    }

    /// Keeps `item` until its turn comes.
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

    /// Asks what is next, if nothing is under way and the radio lets it; whether anything
    /// is under way now.
    fn ask(&mut self, now: Instant) -> bool {
        if self.asker.waits() {
            return true;
        }
        if matches!(self.waiting.front(), Some(Item::Begin)) && self.owes != Owes::Nobody {
            return false;
        }
        let Some(item) = self.waiting.pop_front() else {
            return false;
        };
        let news = match &item {
            Item::Begin => News::Begin(self.begin),
            Item::Time => News::Time,
            Item::Frame(info, frame) => News::Frame {
                info: *info,
                frame: frame.as_slice(),
            },
            Item::Done(result) => News::Done(*result),
        };
        let mut bytes = Vec::new();
        self.asker.ask(now, news, |byte| bytes.push(byte));
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

    /// Takes what has come over the line without waiting for more, and asks what is next.
    pub(in crate::world) fn hear_all(&mut self, seat: &mut Seat<'_>) {
        while self.hear(seat, Duration::ZERO) {}
        self.converse(seat);
    }

    /// Asks what is next; in a world that waits, until everything is answered.
    fn converse(&mut self, seat: &mut Seat<'_>) {
        while self.ask(seat.local_now())
            && seat.env.pace == Pace::Waits
            && self.presence != Presence::Silent
        {
            self.hear(seat, LOOK);
        }
    }

    /// Takes what comes over the line within `wait`; whether anything came.
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
                    notice(seat, "is gone: its line was closed");
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

    /// Records that no node is at the line. The radio of the node hears nothing.
    fn dismiss(&mut self, seat: &mut Seat<'_>) {
        self.asker.give_up();
        self.waiting.clear();
        self.presence = Presence::Absent;
        self.leave();
        seat.timing.wakes_at = Instant::FAR_FUTURE;
        seat.start_work(RadioWork::Sleep, &[]);
    }

    /// Repeats a request without an answer, and detects a node that does not answer at all.
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
            // A request from before it was on is lost.
            Some(Heard::Hello) if self.presence == Presence::Begins => self.repeat(),
            Some(Heard::Hello | Heard::Stranger) => {
                if self.presence != Presence::Absent {
                    notice(seat, "was reset, and starts again");
                }
                seat.start_work(RadioWork::Sleep, &[]);
                self.begin_anew();
                let now = seat.local_now();
                self.ask(now);
            }
            Some(Heard::Text(text)) => {
                self.text.extend_from_slice(text);
                while let Some(text) = next_line(&mut self.text) {
                    let (at, node) = (seat.env.now, seat.index);
                    seat.env.printed.push(PrintedLine { at, node, text });
                }
            }
            Some(Heard::Answer(answer)) => {
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
            let text = "sent bytes that are not a message; its line carries garbage";
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
                // A radio starts out listening.
                self.rest = RadioWork::Listen;
                seat.start_work(self.rest.widen(), &[]);
            }
            Presence::Silent => {
                notice(seat, "answers again");
                seat.start_work(self.rest.widen(), &[]);
            }
            Presence::Here | Presence::Absent => {}
        }
        self.presence = Presence::Here;
        for (work, frame) in works {
            let is_free = self.owes == Owes::Nobody;
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
                    self.owes = Owes::Node;
                    self.is_loaded = false;
                }
                RadioWork::Transmit { .. } => self.owes = Owes::Node,
                RadioWork::Listen | RadioWork::Doze | RadioWork::Sleep => self.rest = *work,
                _ => {}
            }
            seat.start_work(work.widen(), frame);
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
        if std::mem::replace(&mut self.owes, Owes::Nobody) == Owes::Node {
            self.is_loaded |= result == RadioResult::Loaded;
            // It asks only for works that every radio has, so each result is one of those.
            self.enqueue(Item::Done(result.narrow().unwrap_or(RadioResult::NoAck)));
        }
        self.converse(seat);
    }
}

/// Records a change of the state of the node at this place.
fn notice(seat: &mut Seat<'_>, text: &str) {
    seat.env.notices.push(PrintedLine {
        at: seat.env.now,
        node: seat.index,
        text: text.to_owned(),
    });
}
