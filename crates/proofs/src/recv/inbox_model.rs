//! Compares the reassembly buffer with a set of positions, for every segmentation, order and
//! repetition of a short stream, with reads in between.

use super::inbox::{Arrival, Inbox};
use super::ranges::RANGES;
use crate::{Model, SeqNum, hash_of};

/// Length of the stream in bytes; `BUFFER` is the length of the buffer.
const STREAM: u32 = 9;
const BUFFER: usize = 6;
/// Sequence number of the first byte; the numbers wrap in the middle of the stream.
const FIRST: SeqNum = SeqNum(u32::MAX - 3);

/// An event at the receiver.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// The bytes between two positions of the stream arrive.
    Take(u32, u32),
    /// The application reads this many bytes.
    Read(usize),
    /// The FIN after the stream arrives.
    Fin,
}

/// A defect in the code around the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// The receive window is one byte larger than the buffer.
    WideWindow,
    /// A segment that arrives twice is stored one byte later.
    Shifted,
}

/// The buffer and the reference.
#[derive(Debug)]
pub struct World {
    inbox: Inbox<[u8; BUFFER]>,
    nxt: u32,
    read: u32,
    /// Whether each byte of the stream has been accepted.
    has: [bool; STREAM as usize],
}

/// The model.
#[derive(Default)]
pub struct InboxModel {
    /// The planted defect.
    pub defect: Option<Defect>,
}

/// Returns the byte of the stream at a position.
fn byte(position: u32) -> u8 {
    position as u8 + 100
}

impl World {
    /// Returns the runs of accepted bytes beyond RCV.NXT as start and end.
    fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for at in (self.nxt..STREAM).filter(|at| self.has[*at as usize]) {
            match runs.last_mut() {
                Some((_, end)) if *end == at => *end = at + 1,
                _ => runs.push((at, at + 1)),
            }
        }
        runs
    }

    fn take(&mut self, start: u32, end: u32, defect: Option<Defect>) -> Result<(), String> {
        let room = BUFFER as u32 - (self.nxt - self.read);
        if self.inbox.room() != room {
            let got = self.inbox.room();
            return Err(format!("the room is {got} instead of {room} bytes"));
        }
        let edge = self.nxt + room + u32::from(defect == Some(Defect::WideWindow));
        let is_again = self.has[start as usize];
        let shift = u32::from(defect == Some(Defect::Shifted) && is_again);
        let text: Vec<u8> = (start..end).map(byte).collect();
        let (nxt, arrival) =
            self.inbox
                .take(FIRST + self.nxt, FIRST + edge, FIRST + start + shift, &text);
        let (from, to) = (start.max(self.nxt), end.min(self.nxt + room));
        let old = self.nxt;
        let had_gap = !self.runs().is_empty();
        let touches = |run: &(u32, u32)| run.0 <= to && from <= run.1;
        let expected = if from >= to {
            Arrival::Nothing
        } else if from == old && had_gap {
            Arrival::FilledGap
        } else if from == old {
            Arrival::InOrder
        } else {
            Arrival::OutOfOrder
        };
        let fits = from == old || self.runs().len() < RANGES || self.runs().iter().any(touches);
        if from < to && fits {
            self.has[from as usize..to as usize].fill(true);
        }
        while self.nxt < STREAM && self.has[self.nxt as usize] {
            self.nxt += 1;
        }
        if arrival != expected {
            return Err(format!(
                "the arrival is {arrival:?} instead of {expected:?}"
            ));
        }
        if nxt != FIRST + self.nxt {
            return Err(format!(
                "RCV.NXT is {} instead of {}",
                nxt.since(FIRST),
                self.nxt
            ));
        }
        Ok(())
    }

    fn read(&mut self, count: usize) -> Result<(), String> {
        let bytes = {
            let (first, second) = self.inbox.peek();
            [first, second].concat()
        };
        let expected: Vec<u8> = (self.read..self.nxt).map(byte).collect();
        if bytes != expected {
            return Err(format!("{bytes:?} instead of {expected:?} can be read"));
        }
        self.read += self.inbox.consume(count) as u32;
        Ok(())
    }

    /// Compares the SACK blocks with the accepted ranges.
    fn compare(&mut self) -> Result<(), String> {
        // Clear a pending duplicate report, which would occupy the first block.
        self.inbox.on_reported();
        let nxt = FIRST + self.nxt;
        let blocks = self.inbox.sack_blocks(nxt);
        let mut blocks: Vec<_> = blocks
            .map(|block| (block.start.since(FIRST), block.end.since(FIRST)))
            .collect();
        blocks.sort_unstable();
        if blocks != self.runs() {
            let runs = self.runs();
            return Err(format!(
                "the SACK blocks are {blocks:?} instead of {runs:?}"
            ));
        }
        let is_at_end = self.inbox.has_fin() && self.nxt == STREAM;
        if self.inbox.fin_is_next(nxt) != is_at_end {
            return Err("the FIN is not processed at the end of the stream".to_owned());
        }
        self.read(0)
    }
}

impl Model for InboxModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        World {
            inbox: Inbox::new([0; BUFFER]),
            nxt: 0,
            read: 0,
            has: [false; STREAM as usize],
        }
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions: Vec<_> = (1..=BUFFER).map(Action::Read).collect();
        for start in 0..STREAM {
            for end in start + 1..=STREAM {
                actions.push(Action::Take(start, end));
            }
        }
        // The caller does not pass a FIN beyond the window to the buffer.
        if STREAM <= world.read + BUFFER as u32 {
            actions.push(Action::Fin);
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        match action {
            Action::Take(start, end) => world.take(start, end, self.defect)?,
            Action::Read(count) => world.read(count)?,
            Action::Fin => world.inbox.on_fin(FIRST + world.nxt, FIRST + STREAM),
        }
        world.compare()
    }

    fn key(&self, world: &World) -> u64 {
        hash_of(&(&world.inbox, world.nxt, world.read))
    }

    /// Checks that the stream becomes complete if all bytes arrive in order and are read.
    fn finish(&self, mut world: World) -> Result<(), String> {
        for at in 0..STREAM {
            world.take(at, at + 1, None)?;
            world.read(BUFFER)?;
        }
        match world.read {
            STREAM => Ok(()),
            read => Err(format!("only {read} of {STREAM} bytes can be read")),
        }
    }
}
