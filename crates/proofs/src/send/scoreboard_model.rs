//! Compares the scoreboard with a list that has an entry for each byte.
//!
//! While the table has room, the state of each byte is exact. A full table may forget a newly
//! reported arrival. It still keeps two promises: a recorded arrival stays recorded, and no byte is
//! recorded as arrived without a report.

use super::scoreboard::{Scoreboard, Tick};
use crate::ahead::Span;
use crate::{Model, hash_of};

/// An event at the sender. Positions are in bytes from SND.UNA.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// The connection passes a segment to the link: new data, old data, or both.
    Made(u32, u32),
    /// The link has sent a segment.
    Sent(u32, u32),
    /// The peer acknowledges this many bytes.
    Ack(u32),
    /// A SACK block reports a range.
    Sack(u32, u32),
    /// The link has lost a segment.
    Lose(u32, u32),
    /// A byte in flight that was not retransmitted counts as lost if more than this many later
    /// bytes have arrived.
    LoseBefore(u32),
    /// The losses were spurious, and lost bytes are in flight again.
    TakeBack,
    /// The peer may have dropped the data that it reported as arrived.
    Forget,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    InFlight,
    Arrived,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Byte {
    fate: Fate,
    again: bool,
}

/// A defect between the connection and its scoreboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// A SACK block begins one byte too early.
    WideBlock,
    /// The scoreboard misses the report that a segment was sent, so its bytes stay lost.
    SentIgnored,
}

/// The scoreboard and the reference.
#[derive(Clone, Debug)]
pub struct World {
    board: Scoreboard,
    bytes: Vec<Byte>,
    /// Whether the table was full at some time. After that, it may forget newly reported arrivals.
    was_full: bool,
    /// Whether each byte was recorded as arrived.
    recorded: Vec<bool>,
}

/// The model.
pub struct ScoreboardModel {
    /// Maximum number of bytes in flight.
    pub window: u32,
    /// Number of one-byte segments in flight at the start; every second one has arrived.
    pub begun: u32,
    /// The planted defect.
    pub defect: Option<Defect>,
}

fn range(start: u32, end: u32) -> core::ops::Range<usize> {
    start as usize..end as usize
}

impl World {
    fn apply(&mut self, action: Action, defect: Option<Defect>) {
        let World { board, bytes, .. } = self;
        match action {
            Action::Made(start, end) => {
                board.on_made(Span::new(start, end), Tick::of_ms(0));
                let old = bytes.len();
                bytes.resize(
                    old.max(end as usize),
                    Byte {
                        fate: Fate::InFlight,
                        again: false,
                    },
                );
                let repeated = start as usize..(end as usize).min(old);
                for byte in bytes.get_mut(repeated).unwrap_or_default() {
                    if byte.fate != Fate::Arrived {
                        (byte.fate, byte.again) = (Fate::InFlight, true);
                    }
                }
            }
            Action::Sent(start, end) => {
                if defect != Some(Defect::SentIgnored) {
                    let again = bytes[range(start, end)].iter().any(|byte| byte.again);
                    board.on_sent(Span::new(start, end), again, Tick::of_ms(0));
                }
                for byte in &mut bytes[range(start, end)] {
                    if byte.fate == Fate::Lost {
                        byte.fate = Fate::InFlight;
                    }
                }
            }
            Action::Ack(count) => {
                board.on_ack(count);
                bytes.drain(..count as usize);
                self.recorded.drain(..count as usize);
            }
            Action::Sack(start, end) => {
                let wide = u32::from(defect == Some(Defect::WideBlock) && start > 0);
                let block = Span::new(start - wide, end);
                for (at, stretch) in board.walk(block) {
                    if block.covers(at) {
                        stretch.arrive();
                    }
                }
                for byte in &mut bytes[range(start, end)] {
                    byte.fate = Fate::Arrived;
                }
            }
            Action::Lose(start, end) => {
                board.lose(Span::new(start, end));
                for byte in &mut bytes[range(start, end)] {
                    if byte.fate == Fate::InFlight {
                        byte.fate = Fate::Lost;
                    }
                }
            }
            Action::LoseBefore(reached) => {
                board.lose_before(reached, |_| false);
                let mut beyond = 0;
                for byte in bytes.iter_mut().rev() {
                    if byte.fate == Fate::Arrived {
                        beyond += 1;
                    } else if beyond > reached && !byte.again && byte.fate == Fate::InFlight {
                        byte.fate = Fate::Lost;
                    }
                }
            }
            Action::TakeBack => {
                board.take_back();
                replace(bytes, Fate::Lost);
            }
            Action::Forget => {
                board.forget_arrived();
                replace(bytes, Fate::Arrived);
                self.recorded.fill(false);
            }
        }
    }

    /// Returns the fate of each byte according to the scoreboard.
    fn shown(&self) -> Vec<Fate> {
        let mut copy = self.board.clone();
        let mut shown = Vec::new();
        for (at, stretch) in copy.walk(Span::ALL) {
            let fate = if stretch.is_in_flight() {
                Fate::InFlight
            } else if stretch.arrive() {
                Fate::Lost
            } else {
                Fate::Arrived
            };
            shown.extend(std::iter::repeat_n(fate, at.len() as usize));
        }
        shown
    }

    fn compare(&mut self) -> Result<(), String> {
        let (shown, board) = (self.shown(), &self.board);
        if shown.len() != self.bytes.len() {
            return Err(format!(
                "the scoreboard records {} instead of {} bytes",
                shown.len(),
                self.bytes.len()
            ));
        }
        let count = |fate| shown.iter().filter(|it| **it == fate).count() as u32;
        let sums = [board.in_flight(), board.arrived(), board.lost()];
        if sums != [Fate::InFlight, Fate::Arrived, Fate::Lost].map(count) {
            return Err(format!(
                "the sums of bytes in flight, arrived and lost are {sums:?}, but the bytes are \
                 {shown:?}"
            ));
        }
        self.recorded.resize(shown.len(), false);
        for (at, fate) in shown.iter().enumerate() {
            let is_arrived = *fate == Fate::Arrived;
            if is_arrived && self.bytes[at].fate != Fate::Arrived {
                return Err(format!("byte {at} counts as arrived, but has not arrived"));
            }
            if self.recorded[at] && !is_arrived {
                return Err(format!("the arrival of byte {at} is forgotten"));
            }
            self.recorded[at] = is_arrived;
        }
        if self.was_full {
            return Ok(());
        }
        let expected: Vec<_> = self.bytes.iter().map(|byte| byte.fate).collect();
        if shown != expected {
            return Err(format!("{shown:?} instead of {expected:?}"));
        }
        let run = board.first_lost(|run| run);
        let fates = expected.iter().zip(0u32..);
        let mut lost = fates.filter(|(fate, _)| **fate == Fate::Lost);
        let start = lost.next().map_or(run.start, |(_, at)| at);
        let end = lost.fold(start, |end, (_, at)| end + u32::from(at == end + 1));
        let len = u32::from(board.has_lost()) + end - start;
        if (run.start, run.len()) != (start, len) {
            return Err(format!("{run:?} is not the first lost run"));
        }
        Ok(())
    }
}

fn replace(bytes: &mut [Byte], old: Fate) {
    for byte in bytes {
        if byte.fate == old {
            byte.fate = Fate::InFlight;
        }
    }
}

impl Model for ScoreboardModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        let mut world = World {
            board: Scoreboard::new(),
            bytes: Vec::new(),
            was_full: false,
            recorded: Vec::new(),
        };
        for at in 0..self.begun {
            world.apply(Action::Made(at, at + 1), None);
            world.was_full |= world.board.is_full();
        }
        for at in (1..self.begun).step_by(2) {
            world.apply(Action::Sack(at, at + 1), None);
            world.was_full |= world.board.is_full();
        }
        world.recorded = world
            .shown()
            .iter()
            .map(|it| *it == Fate::Arrived)
            .collect();
        world
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let out = world.bytes.len() as u32;
        let mut actions = vec![Action::TakeBack, Action::Forget];
        for start in 0..=out {
            for end in start + 1..=self.window {
                actions.push(Action::Made(start, end));
            }
            for end in start + 1..=out {
                actions.extend([
                    Action::Sent(start, end),
                    Action::Sack(start, end),
                    Action::Lose(start, end),
                ]);
            }
        }
        actions.extend((1..=out).map(Action::Ack));
        actions.extend((0..out).map(Action::LoseBefore));
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        world.apply(action, self.defect);
        // A full table starts to join entries, and the joined entries stay.
        world.was_full |= world.board.is_full();
        world.compare()
    }

    /// Ignores the times of transmission, which differ in every state and do not affect the model.
    fn key(&self, world: &World) -> u64 {
        let mut copy = world.board.clone();
        let stretches: Vec<_> = copy
            .walk(Span::ALL)
            .map(|(at, stretch)| (at.end, stretch.was_sent_again()))
            .collect();
        hash_of(&(world.shown(), stretches, &world.bytes, world.was_full))
    }

    fn copy(&self, world: &World) -> Option<World> {
        Some(world.clone())
    }
}
