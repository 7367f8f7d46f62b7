//! A node with the firmware of another stack.

use redpoll_base::{Duration, Instant};
use redpoll_mac::RadioWork;

use super::Resident;
use crate::air::AirResult;
use crate::foreign::{ForeignNode, ForeignSpec, Loader, Occasion};
use crate::scenario::{Interface, Scenario};
use crate::world::build::BuildError;
use crate::world::environment::Seat;

/// Span within which nodes are switched on: nodes that begin simultaneously would stay in step.
const START_SPREAD: Duration = Duration::from_secs(1);
/// Maximum bytes of a printed line; a longer one is split.
const LINE_MAX: usize = 1_024;

pub(in crate::world) struct Foreign {
    node: Box<dyn ForeignNode>,
    listens: bool,
    line: Vec<u8>,
}

/// Line printed by a node with the firmware of another stack, or by an external node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedLine {
    /// Time at which the line ended.
    pub at: Instant,
    pub node: usize,
    /// The line without its end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

impl Foreign {
    /// Loads the firmware of a place, if the scenario names one, and schedules its start.
    pub(in crate::world) fn load(
        scenario: &Scenario,
        seat: &mut Seat<'_>,
        loader: Option<&Loader<'_>>,
    ) -> Result<Option<Foreign>, BuildError> {
        let spec = &scenario.nodes[seat.index];
        let Some(module) = spec
            .module
            .as_ref()
            .filter(|_| spec.interface == Interface::Cooja)
        else {
            return Ok(None);
        };
        let mut rng = seat.env.seed.node_stream("module", seat.index);
        let begins = Duration::from_micros(rng.below_u64(START_SPREAD.as_micros()));
        let foreign = ForeignSpec {
            name: &spec.name,
            module,
            number: spec.short,
            seed: rng.next_u64(),
            quantum: scenario.modules.quantum,
            patience: scenario.modules.patience,
        };
        let node = match loader {
            Some(load) => load(&foreign),
            None => Err("nodes of the kind module are not in this build; allowed: a program that was built with the feature `modules`".to_owned()),
        };
        let node = node.map_err(|problem| BuildError::Module {
            node: spec.name.clone(),
            problem,
        })?;
        seat.env.air.make_raw(seat.index);
        seat.wake_at_global(Instant::ZERO + begins);
        Ok(Some(Foreign {
            node,
            listens: true,
            line: Vec::new(),
        }))
    }

    fn run(&mut self, seat: &mut Seat<'_>, reason: Reason) {
        let (now, index) = (seat.env.now, seat.index);
        let air = &mut seat.env.air;
        let busy = air.is_busy(now, index);
        let occasion = match reason {
            Reason::Due => Occasion::Due,
            Reason::Begins => Occasion::FrameBegins {
                info: air.following(index),
            },
            Reason::Ends { intact } => Occasion::FrameEnds {
                frame: intact.then_some(&air.received(index).frame),
            },
            Reason::Sent => Occasion::Sent,
        };
        let local = seat.timing.clock.local(now);
        let wish = self.node.run(local, busy, occasion);
        self.node.take_text(&mut self.line);
        while let Some(text) = next_line(&mut self.line) {
            let (at, node) = (now, index);
            seat.env.printed.push(PrintedLine { at, node, text });
        }
        if wish.sends {
            let frame = self.node.frame();
            let env = &mut *seat.env;
            env.air.send_raw(now, index, frame, &mut env.queue);
        }
        if self.listens != wish.listens {
            self.listens = wish.listens;
            let work = match wish.listens {
                true => RadioWork::Listen,
                false => RadioWork::Sleep,
            };
            seat.start_work(work, &[]);
        }
        if let Some(at) = wish.wakes_at {
            seat.wake_at(at);
        }
    }
}

impl Resident for Foreign {
    fn on_wake(&mut self, seat: &mut Seat<'_>) {
        seat.env.digest.add(seat.index as u64);
        self.run(seat, Reason::Due);
    }

    /// Ignores frames: the node's radio is raw and reports no whole frames.
    fn on_frame(&mut self, _: &mut Seat<'_>) {}

    /// Handles the end of a transmission, the only work of this radio.
    fn on_radio_done(&mut self, seat: &mut Seat<'_>, _: AirResult) {
        self.run(seat, Reason::Sent);
    }

    fn on_frame_begins(&mut self, seat: &mut Seat<'_>) {
        self.run(seat, Reason::Begins);
    }

    fn on_frame_ends(&mut self, seat: &mut Seat<'_>, intact: bool) {
        self.run(seat, Reason::Ends { intact });
    }
}

#[derive(Clone, Copy, Debug)]
enum Reason {
    Due,
    Begins,
    Ends { intact: bool },
    Sent,
}

/// Removes the first line of `text`, if it has ended or is too long.
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
