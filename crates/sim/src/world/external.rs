//! Nodes that run elsewhere among ours: who is asked what and when, and what their radios do.
//!
//! One request is under way for each; what happens meanwhile waits in a short queue. With
//! [`Pace::Waits`] the world stands still until all are answered, so nothing ever waits there.

use std::collections::VecDeque;
use std::time::{Duration, Instant as WallInstant};

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult, RadioWork, RxInfo};
use redpoll_uart::{Asker, Begin, Heard, News, Work};

use super::build::BuildError;
use super::foreign::{PrintedLine, next_line};
use super::{Event, World};
use crate::air::AirResult;
use crate::external::{Arrival, ExternalFigures, Line, Lines, Pace};
use crate::kernel::Secrets;
use crate::node;
use crate::scenario::Scenario;
use crate::topology::Routes;

/// Frames and results that wait at most for an answer before them.
const QUEUE: usize = 16;
/// A request is repeated after so long without an answer.
const REPEAT: Duration = Duration::from_millis(300);
/// How long a world that waits looks at a line at once.
const LOOK: Duration = Duration::from_millis(100);

/// A node elsewhere.
pub(super) struct External {
    line: Box<dyn Line>,
    asker: Asker,
    begin: Begin,
    waiting: VecDeque<Item>,
    presence: Presence,
    /// When the request that is under way was first sent, and last.
    since: WallInstant,
    sent: WallInstant,
    /// Whose work the radio has, whose result it owes.
    owes: Owes,
    /// There is a frame to send in the radio.
    is_loaded: bool,
    /// What the node wants its radio to do between works.
    rest: RadioWork,
    /// A line of text that has not ended.
    text: Vec<u8>,
    figures: ExternalFigures,
    /// Somebody has been told that there is damage.
    has_told_of_damage: bool,
}

/// Whether anybody is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    /// Nobody.
    Absent,
    /// Somebody, who has been told to begin and has not answered.
    Begins,
    /// The node.
    Here,
    /// The node, which has not answered for longer than anybody waits.
    Silent,
}

/// Whose result the radio works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owes {
    Nobody,
    /// The node.
    Node,
    /// A node that has gone or begun anew since: the result is not for the one now there.
    Former,
}

/// Something that the node has to be told.
enum Item {
    Begin,
    Time,
    Frame(RxInfo, Box<FrameBuf>),
    Done(RadioResult),
}

impl External {
    fn new(line: Box<dyn Line>, begin: Begin, number: u16) -> External {
        let now = WallInstant::now();
        External {
            line,
            asker: Asker::new(number),
            begin,
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
        }
    }

    /// Has the node begin, or begin anew, as soon as the radio is free; whatever it was
    /// about to be told is forgotten.
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
}

impl World {
    /// Opens the lines to the nodes that the scenario has elsewhere; in a world that waits
    /// they have to come.
    pub(super) fn open_lines(
        &mut self,
        scenario: &Scenario,
        routes: &Routes,
        lines: &dyn Lines,
        secrets: &mut Secrets,
    ) -> Result<(), BuildError> {
        for index in 0..scenario.nodes.len() {
            let spec = &scenario.nodes[index];
            let Some(address) = &spec.line else {
                continue;
            };
            let refused = |problem| BuildError::Line {
                node: spec.name.clone(),
                problem,
            };
            let line = lines.open(spec, address).map_err(refused)?;
            let begin = node::begin(scenario, index, routes, self.seed, secrets);
            let number = self.seed.node_stream("line", index).next_u32() as u16;
            let external = External::new(line, begin, number);
            self.inhabitants[index].external = Some(Box::new(external));
            // Its radio hears nothing until it is there.
            self.set_rest(index, RadioWork::Sleep);
        }
        self.await_nodes()
    }

    /// Waits until all nodes that are elsewhere are there.
    fn await_nodes(&mut self) -> Result<(), BuildError> {
        if self.pace == Pace::Goes {
            return Ok(());
        }
        let started = WallInstant::now();
        let patience = self.scenario.external.patience;
        for index in 0..self.scenario.nodes.len() {
            while self.presence(index).is_some_and(|it| it != Presence::Here) {
                if started.elapsed() > patience {
                    let spec = &self.scenario.nodes[index];
                    let problem = format!(
                        "nothing answered at {} within {} s; start the firmware first, or \
                         increase external.patience",
                        spec.line.as_deref().unwrap_or_default(),
                        patience.as_secs_f64()
                    );
                    let node = spec.name.clone();
                    return Err(BuildError::Line { node, problem });
                }
                self.hear(index, LOOK);
                self.drain();
            }
        }
        Ok(())
    }

    fn presence(&self, index: usize) -> Option<Presence> {
        let external = self.inhabitants[index].external.as_ref();
        external.map(|external| external.presence)
    }

    pub(super) fn is_external(&self, index: usize) -> bool {
        self.inhabitants[index].external.is_some()
    }

    /// What the node `index` has done and suffered, if it is elsewhere.
    pub fn external_figures(&self, index: usize) -> Option<ExternalFigures> {
        let external = self.inhabitants[index].external.as_ref()?;
        let counters = external.asker.counters();
        Some(ExternalFigures {
            asked: counters.asked,
            repeated: counters.repeated,
            damaged: counters.damaged,
            ..external.figures
        })
    }

    /// What has happened to nodes that are elsewhere since the last call: who has come, gone
    /// or fallen silent.
    pub fn take_notices(&mut self) -> Vec<PrintedLine> {
        std::mem::take(&mut self.notices)
    }

    fn notice(&mut self, index: usize, text: &str) {
        self.notices.push(PrintedLine {
            at: self.now,
            node: index,
            text: text.to_owned(),
        });
    }

    /// Takes what has come over the lines, without waiting for more.
    pub fn hear_lines(&mut self) {
        for index in 0..self.scenario.nodes.len() {
            if self.is_external(index) {
                while self.hear(index, Duration::ZERO) {}
                self.converse(index);
                self.drain();
            }
        }
    }

    /// A node elsewhere is told that its radio has received a frame.
    pub(super) fn on_external_frame(&mut self, index: usize) {
        let received = self.air.received(index);
        let copies = if received.twice { 2 } else { 1 };
        let Some(external) = &mut self.inhabitants[index].external else {
            return;
        };
        for _ in 0..copies {
            let frame = Box::new(received.frame.clone());
            external.enqueue(Item::Frame(received.info, frame));
        }
        self.converse(index);
    }

    /// A node elsewhere is told that its radio is done with a work.
    pub(super) fn on_external_done(&mut self, index: usize, result: AirResult) {
        let Some(external) = &mut self.inhabitants[index].external else {
            return;
        };
        if std::mem::replace(&mut external.owes, Owes::Nobody) == Owes::Node {
            external.is_loaded |= result == RadioResult::Loaded;
            // It asks only for works that every radio has, so each result is one of those.
            external.enqueue(Item::Done(result.narrow().unwrap_or(RadioResult::NoAck)));
        }
        self.converse(index);
    }

    /// The time has come that a node elsewhere asked for; `false` if the node is here.
    pub(super) fn on_external_wake(&mut self, index: usize) -> bool {
        let inhabitant = &mut self.inhabitants[index];
        let Some(external) = &mut inhabitant.external else {
            return false;
        };
        if inhabitant.wakes_at <= self.now {
            inhabitant.wakes_at = Instant::FAR_FUTURE;
            external.enqueue(Item::Time);
            self.converse(index);
        }
        true
    }

    /// Tells a node what it is to be told; in a world that waits until it has answered all.
    fn converse(&mut self, index: usize) {
        loop {
            let now = self.inhabitants[index].clock.local(self.now);
            let Some(external) = &mut self.inhabitants[index].external else {
                return;
            };
            let is_asked = external.ask(now);
            if !is_asked || self.pace == Pace::Goes || external.presence == Presence::Silent {
                return;
            }
            self.hear(index, LOOK);
        }
    }

    /// Takes what comes over a line within `wait`; whether anything came.
    fn hear(&mut self, index: usize, wait: Duration) -> bool {
        // Its place stays empty meanwhile: the radio is the world's.
        let Some(mut external) = self.inhabitants[index].external.take() else {
            return false;
        };
        let mut bytes = Vec::new();
        let arrival = external.line.receive(wait, &mut bytes);
        match arrival {
            Arrival::Nothing => self.mind(index, &mut external),
            Arrival::Peer => {
                self.set_rest(index, RadioWork::Sleep);
                external.begin_anew();
                external.ask(self.inhabitants[index].clock.local(self.now));
            }
            Arrival::Gone => {
                if external.presence != Presence::Absent {
                    self.notice(index, "is gone: its line was closed");
                    external.figures.gone += 1;
                }
                self.dismiss(index, &mut external);
            }
            Arrival::Bytes => {
                for byte in bytes {
                    self.hear_byte(index, &mut external, byte);
                }
            }
        }
        self.inhabitants[index].external = Some(external);
        arrival != Arrival::Nothing
    }

    /// Nobody is at the line, and the radio of the node hears nothing.
    fn dismiss(&mut self, index: usize, external: &mut External) {
        external.asker.give_up();
        external.waiting.clear();
        external.presence = Presence::Absent;
        external.leave();
        self.inhabitants[index].wakes_at = Instant::FAR_FUTURE;
        self.set_rest(index, RadioWork::Sleep);
    }

    /// Repeats what has not been answered, and finds out who does not answer at all.
    fn mind(&mut self, index: usize, external: &mut External) {
        if !external.asker.waits() {
            return;
        }
        let patience = self.scenario.external.patience;
        if external.presence == Presence::Here && external.since.elapsed() > patience {
            let text = format!("has not answered for {} s", patience.as_secs_f64());
            self.notice(index, &text);
            external.presence = Presence::Silent;
            self.set_rest(index, RadioWork::Sleep);
        }
        if external.sent.elapsed() > REPEAT {
            external.repeat();
        }
    }

    fn hear_byte(&mut self, index: usize, external: &mut External, byte: u8) {
        let damaged = external.asker.counters().damaged;
        match external.asker.input(byte) {
            None => {}
            // What it was asked before it was on is lost.
            Some(Heard::Hello) if external.presence == Presence::Begins => external.repeat(),
            Some(Heard::Hello | Heard::Stranger) => {
                if external.presence != Presence::Absent {
                    self.notice(index, "was reset, and starts again");
                }
                self.set_rest(index, RadioWork::Sleep);
                external.begin_anew();
                let now = self.inhabitants[index].clock.local(self.now);
                external.ask(now);
            }
            Some(Heard::Text(text)) => {
                external.text.extend_from_slice(text);
                while let Some(text) = next_line(&mut external.text) {
                    let (at, node) = (self.now, index);
                    self.printed.push(PrintedLine { at, node, text });
                }
            }
            Some(Heard::Answer(answer)) => {
                let wakes_at = answer.wakes_at;
                let works = answer.works.map(|work| match work {
                    Work::Load(frame) => (RadioWork::Load, frame.to_vec()),
                    Work::Order(order) => (order, Vec::new()),
                });
                let works: Vec<_> = works.collect();
                self.on_answer(index, external, wakes_at, &works);
            }
        }
        if external.asker.counters().damaged > damaged && !external.has_told_of_damage {
            external.has_told_of_damage = true;
            let text = "sent bytes that are not a message; its line carries garbage";
            self.notice(index, text);
        }
    }

    fn on_answer(
        &mut self,
        index: usize,
        external: &mut External,
        wakes_at: Option<Instant>,
        works: &[(RadioWork, Vec<u8>)],
    ) {
        match external.presence {
            Presence::Begins => {
                external.figures.begun += 1;
                // A radio starts out listening.
                external.rest = RadioWork::Listen;
                self.set_rest(index, external.rest);
            }
            Presence::Silent => {
                self.notice(index, "answers again");
                self.set_rest(index, external.rest);
            }
            Presence::Here | Presence::Absent => {}
        }
        external.presence = Presence::Here;
        for (work, frame) in works {
            let is_free = external.owes == Owes::Nobody;
            let is_possible = match work {
                RadioWork::Load => is_free && !frame.is_empty(),
                RadioWork::Transmit { .. } => is_free && external.is_loaded,
                _ => true,
            };
            match work {
                _ if !is_possible => {
                    external.figures.impossible += 1;
                    continue;
                }
                RadioWork::Load => {
                    external.owes = Owes::Node;
                    external.is_loaded = false;
                }
                RadioWork::Transmit { .. } => external.owes = Owes::Node,
                RadioWork::Listen | RadioWork::Doze | RadioWork::Sleep => external.rest = *work,
                _ => {}
            }
            self.air
                .start_work(self.now, index, work.widen(), frame, &mut self.queue);
        }
        let clock = self.inhabitants[index].clock;
        if let Some(at) = wakes_at.map(|at| clock.global(at))
            && at < self.inhabitants[index].wakes_at
        {
            let at = self.no_earlier(index, at, super::stall::Loop::Node);
            self.inhabitants[index].wakes_at = at;
            let node = index as u32;
            self.queue.schedule(at, Event::Wake { node });
        }
    }

    fn set_rest(&mut self, index: usize, rest: RadioWork) {
        self.air
            .start_work(self.now, index, rest.widen(), &[], &mut self.queue);
    }
}
