//! Nodes with firmware of others among ours: who runs when, and what leaves them.

use redpoll_base::{Duration, Instant};
use redpoll_mac::RadioWork;

use super::build::BuildError;
use super::{Event, World};
use crate::air::Indication;
use crate::foreign::{ForeignNode, ForeignSpec, Loader, Occasion};
use crate::kernel::Seed;
use crate::scenario::Scenario;

/// Nodes are switched on within so long: those that begin in the same microsecond would
/// stay in step.
const START_SPREAD: Duration = Duration::from_secs(1);
/// A line that is longer is broken.
const LINE_MAX: usize = 1_024;

/// A node with firmware of others.
pub(super) struct Guest {
    node: Box<dyn ForeignNode>,
    listens: bool,
    /// A line that has not ended.
    line: Vec<u8>,
}

/// What a node with firmware of others, or one elsewhere, has printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedLine {
    /// When the line ended.
    pub at: Instant,
    /// Index of the node.
    pub node: usize,
    /// The line without its end; what is not UTF-8 is replaced.
    pub text: String,
}

impl Guest {
    /// Loads the firmware of node `index`, if it has any, and says when it begins.
    pub(super) fn load(
        scenario: &Scenario,
        index: usize,
        seed: Seed,
        loader: &dyn Loader,
    ) -> Result<Option<(Guest, Instant)>, BuildError> {
        let spec = &scenario.nodes[index];
        let Some(module) = &spec.module else {
            return Ok(None);
        };
        let mut rng = seed.node_stream("module", index);
        let begins = Duration::from_micros(rng.below_u64(START_SPREAD.as_micros()));
        let foreign = ForeignSpec {
            name: &spec.name,
            module,
            number: spec.short,
            seed: rng.next_u64(),
            params: scenario.modules,
        };
        let node = loader.load(&foreign);
        let node = node.map_err(|problem| BuildError::Module {
            node: spec.name.clone(),
            problem,
        })?;
        let guest = Guest {
            node,
            listens: true,
            line: Vec::new(),
        };
        Ok(Some((guest, Instant::ZERO + begins)))
    }
}

impl World {
    /// Puts the firmware that the scenario names into its nodes.
    pub(super) fn invite(
        &mut self,
        scenario: &Scenario,
        loader: &dyn Loader,
    ) -> Result<(), BuildError> {
        for index in 0..scenario.nodes.len() {
            let Some((guest, begins)) = Guest::load(scenario, index, self.seed, loader)? else {
                continue;
            };
            self.air.make_raw(index);
            let inhabitant = &mut self.inhabitants[index];
            inhabitant.guest = Some(Box::new(guest));
            inhabitant.wakes_at = begins;
            let node = index as u32;
            self.queue.schedule(begins, Event::Wake { node });
        }
        Ok(())
    }

    pub(super) fn is_guest(&self, index: usize) -> bool {
        self.inhabitants[index].guest.is_some()
    }

    /// The lines that nodes with firmware of others have printed since the last call.
    pub fn take_printed(&mut self) -> Vec<PrintedLine> {
        std::mem::take(&mut self.printed)
    }

    /// Tells a node what its radio says; `false` if the node is one of ours.
    pub(super) fn on_guest_indication(&mut self, indication: Indication) -> bool {
        match indication {
            Indication::Frame { .. } | Indication::Overheard { .. } => return false,
            Indication::Done { node, .. } if !self.is_guest(node as usize) => return false,
            // Its radio does nothing for it but send.
            Indication::Done { node, .. } => self.run_guest(node as usize, Reason::Sent),
            Indication::Follows { node } => self.run_guest(node as usize, Reason::Begins),
            Indication::Heard { node, intact } => {
                self.run_guest(node as usize, Reason::Ends { intact });
            }
        }
        true
    }

    /// The time has come that a node asked for; `false` if the node is one of ours.
    pub(super) fn on_guest_wake(&mut self, index: usize) -> bool {
        if !self.is_guest(index) {
            return false;
        }
        let inhabitant = &mut self.inhabitants[index];
        // An earlier wake-up may have taken this one's place.
        if inhabitant.wakes_at <= self.now {
            inhabitant.wakes_at = Instant::FAR_FUTURE;
            self.digest.add(index as u64);
            self.run_guest(index, Reason::Due);
        }
        true
    }

    fn run_guest(&mut self, index: usize, reason: Reason) {
        let busy = self.air.is_busy(self.now, index);
        let received = self.air.received(index);
        let occasion = match reason {
            Reason::Due => Occasion::Due,
            Reason::Begins => Occasion::FrameBegins {
                info: self.air.following(index),
            },
            Reason::Ends { intact } => Occasion::FrameEnds {
                frame: intact.then_some(received.frame.as_slice()),
            },
            Reason::Sent => Occasion::Sent,
        };
        let inhabitant = &mut self.inhabitants[index];
        let (clock, Some(guest)) = (inhabitant.clock, &mut inhabitant.guest) else {
            return;
        };
        let wish = guest.node.run(clock.local(self.now), busy, occasion);
        guest.node.take_text(&mut guest.line);
        while let Some(text) = next_line(&mut guest.line) {
            let (at, node) = (self.now, index);
            self.printed.push(PrintedLine { at, node, text });
        }
        if wish.sends {
            let frame = guest.node.frame();
            self.air.send_raw(self.now, index, frame, &mut self.queue);
        }
        if guest.listens != wish.listens {
            guest.listens = wish.listens;
            let work = match wish.listens {
                true => RadioWork::Listen,
                false => RadioWork::Sleep,
            };
            self.air
                .start_work(self.now, index, work, &[], &mut self.queue);
        }
        let at = wish.wakes_at.map(|at| clock.global(at));
        if let Some(at) = at
            && at < self.inhabitants[index].wakes_at
        {
            let at = self.no_earlier(index, at, super::stall::Loop::Node);
            self.inhabitants[index].wakes_at = at;
            let node = index as u32;
            self.queue.schedule(at, Event::Wake { node });
        }
    }
}

/// Why a node is run, without what it is told.
#[derive(Clone, Copy, Debug)]
enum Reason {
    Due,
    Begins,
    Ends { intact: bool },
    Sent,
}

/// Takes the first line of `text`, if it has ended or is too long.
pub(super) fn next_line(text: &mut Vec<u8>) -> Option<String> {
    let end = text.iter().position(|byte| *byte == b'\n');
    let (len, rest) = match end {
        Some(end) => (end, end + 1),
        None if text.len() > LINE_MAX => (LINE_MAX, LINE_MAX),
        None => return None,
    };
    let line = String::from_utf8_lossy(&text[..len]).into_owned();
    text.drain(..rest);
    Some(line)
}
