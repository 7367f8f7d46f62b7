#![doc = include_str!("../README.md")]
//!
//! - `lib.rs`: the properties and the report;
//! - `tester.rs`: the second station;
//! - `bench.rs`: both stations at work;
//! - `frames.rs`: frames, written by hand;
//! - `hearing.rs`, `acknowledging.rs`, `sending.rs`, `answers.rs`, `resting.rs`: the checks.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod acknowledging;
mod answers;
mod bench;
mod frames;
mod hearing;
mod resting;
mod sending;
mod tester;

use std::fmt;

use redpoll_base::Duration;
use redpoll_mac::{Radio, RadioIdentity};

use bench::Bench;
pub use tester::{By, Reply, Seen, Tester, What};

/// How far off a radio may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// An acknowledgement begins so long before the end of aTurnaroundTime at most. Default: a
    /// symbol.
    pub early: Duration,
    /// And so long after it. Default: three symbols, of which one is what the standard allows
    /// a transmitter's clock, and two a receiver's report of a frame's end.
    pub late: Duration,
    /// Between the end of something and the report of it. Default 3 ms: a frame of 127 bytes
    /// over a slow bus, twice.
    pub report: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            early: Duration::from_micros(16),
            late: Duration::from_micros(48),
            report: Duration::from_millis(3),
        }
    }
}

/// What became of one property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The radio has it.
    Passed,
    /// It has not: what was seen.
    Failed(String),
    /// The radio does not say that it has it: which bit is not set, or set.
    NotAsked(&'static str),
}

/// A property, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The property.
    pub name: &'static str,
    /// What became of it.
    pub outcome: Outcome,
}

/// What was found. [`Display`](fmt::Display) is a line for each property.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// All properties, in the order in which they were looked at.
    pub checks: Vec<Check>,
}

impl Report {
    /// The names of the properties that the radio should have and has not.
    pub fn failures(&self) -> Vec<&'static str> {
        let failed = |check: &&Check| matches!(check.outcome, Outcome::Failed(_));
        self.checks
            .iter()
            .filter(failed)
            .map(|it| it.name)
            .collect()
    }

    /// How many it has.
    pub fn passed(&self) -> usize {
        let passed = |check: &&Check| check.outcome == Outcome::Passed;
        self.checks.iter().filter(passed).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            match &check.outcome {
                Outcome::Passed => writeln!(f, "ok      {}", check.name)?,
                Outcome::Failed(seen) => writeln!(f, "FAILED  {}: {seen}", check.name)?,
                Outcome::NotAsked(why) => writeln!(f, "-       {} ({why})", check.name)?,
            }
        }
        Ok(())
    }
}

/// Whom the radio is taken for.
pub const IDENTITY: RadioIdentity = RadioIdentity {
    pan_id: 0x7270,
    short: 0x0011,
    extended: [0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77],
};
/// The other station's short address.
pub(crate) const TESTER: u16 = 0x0022;
/// One that nobody has.
pub(crate) const NOBODY: u16 = 0x0033;

/// A property that is there, or what was seen instead; or why it is not asked for.
pub(crate) type Finding = Result<Outcome, String>;
type Property = (&'static str, fn(&mut Bench<'_>) -> Finding);

/// All properties.
const PROPERTIES: [Property; 26] = [
    (
        "the time that is waited for comes, and not before",
        resting::time_comes,
    ),
    (
        "a broadcast is heard, once, as it was sent",
        hearing::broadcast,
    ),
    ("a frame to its short address is heard", hearing::short),
    (
        "a frame to its extended address is heard",
        hearing::extended,
    ),
    (
        "a frame of 125 bytes without FCS is heard",
        hearing::longest,
    ),
    (
        "a damaged frame is neither heard nor acknowledged",
        hearing::damaged,
    ),
    (
        "five frames a millisecond apart are heard in their order",
        hearing::in_order,
    ),
    (
        "a frame is acknowledged after 192 µs",
        acknowledging::in_time,
    ),
    ("so is one to the extended address", acknowledging::extended),
    ("nothing else is acknowledged", acknowledging::nothing_else),
    (
        "without a source match no acknowledgement says that more is to come",
        acknowledging::clear,
    ),
    (
        "the source match is for data requests of those who are in it",
        acknowledging::source_match,
    ),
    (
        "and for them until they are taken out",
        acknowledging::source_match_ends,
    ),
    ("a frame is sent as it was loaded, once", sending::as_loaded),
    (
        "it is sent again without being loaded again",
        sending::twice,
    ),
    (
        "a frame that was heard meanwhile does not displace it",
        sending::undisturbed,
    ),
    (
        "Sent comes when the last bit has left, and not before",
        sending::reported_in_time,
    ),
    (
        "without an assessment it is sent at once, though the channel is busy",
        sending::blind,
    ),
    ("an occupied channel is found occupied", sending::occupied),
    (
        "with CSMA-CA of its own it waits for the channel",
        sending::waits,
    ),
    (
        "and gives up a channel that stays occupied",
        sending::gives_up,
    ),
    (
        "an acknowledgement is waited for, with its frame-pending bit",
        answers::acked,
    ),
    (
        "another frame's acknowledgement is none",
        answers::of_another,
    ),
    (
        "NoAck comes after macAckWaitDuration, and not before",
        answers::in_vain,
    ),
    ("what follows a frame at once is heard", answers::followed),
    (
        "asleep it hears nothing, sends all the same, and hears again afterwards",
        resting::sleeps,
    ),
];

/// Puts `radio` through all of it. It is this crate's from here on: it gets an identity, and
/// works. While nothing is to be done `idle` is called, over and over: it lets a processor
/// rest, or simulated time pass.
///
/// With [`Limits::default`] it takes less than a second of the radio's time.
pub fn examine(
    radio: &mut dyn Radio,
    tester: &mut dyn Tester,
    limits: Limits,
    idle: &mut dyn FnMut(),
) -> Report {
    radio.set_identity(IDENTITY);
    let mut bench = Bench::new(radio, tester, limits, idle);
    let mut report = Report::default();
    for (name, property) in PROPERTIES {
        bench.settle();
        let outcome = property(&mut bench).unwrap_or_else(Outcome::Failed);
        report.checks.push(Check { name, outcome });
    }
    report
}
