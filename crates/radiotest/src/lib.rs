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

/// Allowed deviations of a radio from the times in IEEE 802.15.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Longest time that an acknowledgment may start before aTurnaroundTime. Default: one symbol.
    pub early: Duration,
    /// Maximum time by which an acknowledgment may start after aTurnaroundTime has passed. Default:
    /// three symbols. The standard allows an error of one symbol for the transmitter's clock, and
    /// of two symbols for the receiver's detection of the end of a frame.
    pub late: Duration,
    /// Longest time between an event and its report. Default 3 ms: twice the time to transfer a
    /// frame of 127 bytes over a slow bus.
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

/// Outcome of the test of one property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The radio has the property.
    Passed,
    /// The radio failed the check; the text describes the observation.
    Failed(String),
    /// The check does not apply to the radio; the text names the radios to which it applies.
    NotAsked(&'static str),
}

/// A property and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Name of the property.
    pub name: &'static str,
    /// Outcome of the check.
    pub outcome: Outcome,
}

/// The outcomes of all checks. [`Display`](fmt::Display) prints a line for each property.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// All properties, in the order of their tests.
    pub checks: Vec<Check>,
}

impl Report {
    /// Returns the names of the properties that the radio lacks.
    pub fn failures(&self) -> Vec<&'static str> {
        let failed = |check: &&Check| matches!(check.outcome, Outcome::Failed(_));
        self.checks
            .iter()
            .filter(failed)
            .map(|it| it.name)
            .collect()
    }

    /// Returns the number of checks that passed.
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

/// The identity of the radio under test.
pub const IDENTITY: RadioIdentity = RadioIdentity {
    pan_id: 0x7270,
    short: 0x0011,
    extended: [0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77],
};
/// Short address of the tester.
pub(crate) const TESTER: u16 = 0x0022;
/// Short address that no station has.
pub(crate) const NOBODY: u16 = 0x0033;

/// The outcome of a check, or as an error the observation that contradicts the property.
pub(crate) type Finding = Result<Outcome, String>;
type Property = (&'static str, fn(&mut Bench<'_>) -> Finding);

const PROPERTIES: [Property; 26] = [
    (
        "a timer expires at its time, and not earlier",
        resting::time_comes,
    ),
    (
        "a broadcast is received once, unchanged",
        hearing::broadcast,
    ),
    (
        "a frame to the radio's short address is received",
        hearing::short,
    ),
    (
        "a frame to the radio's extended address is received",
        hearing::extended,
    ),
    (
        "the longest frame (125 bytes and the FCS) is received",
        hearing::longest,
    ),
    (
        "a damaged frame is neither received nor acknowledged",
        hearing::damaged,
    ),
    (
        "five frames a millisecond apart are received in the order of sending",
        hearing::in_order,
    ),
    (
        "a frame is acknowledged after 192 µs",
        acknowledging::in_time,
    ),
    (
        "a frame to the radio's extended address is acknowledged after 192 µs",
        acknowledging::extended,
    ),
    (
        "a frame to another station, to every station, or without a request for an acknowledgment is not acknowledged",
        acknowledging::nothing_else,
    ),
    (
        "without source_match, no acknowledgment has the frame-pending bit",
        acknowledging::clear,
    ),
    (
        "the frame-pending bit is set only for data requests of stations in the source match table",
        acknowledging::source_match,
    ),
    (
        "only a station that is removed from the source match table loses its frame-pending bit",
        acknowledging::source_match_ends,
    ),
    ("a frame is sent as it was loaded, once", sending::as_loaded),
    (
        "a loaded frame can be retransmitted without another load",
        sending::twice,
    ),
    (
        "a frame that arrives after Load does not overwrite the loaded frame",
        sending::undisturbed,
    ),
    (
        "the result Sent comes after the last bit has left the antenna",
        sending::reported_in_time,
    ),
    (
        "without a channel assessment a frame is sent at once, even on a busy channel",
        sending::blind,
    ),
    (
        "the channel assessment detects a busy channel",
        sending::occupied,
    ),
    (
        "a radio with its own CSMA-CA waits for a free channel",
        sending::waits,
    ),
    (
        "a radio with its own CSMA-CA gives up on a busy channel",
        sending::gives_up,
    ),
    (
        "the radio waits for an acknowledgment and reports its frame-pending bit",
        answers::acked,
    ),
    (
        "an acknowledgment of another frame does not count",
        answers::of_another,
    ),
    (
        "the result NoAck comes after macAckWaitDuration",
        answers::in_vain,
    ),
    (
        "a frame that directly follows another one is received",
        answers::followed,
    ),
    (
        "a sleeping radio receives nothing, can transmit, and receives again afterwards",
        resting::sleeps,
    ),
];

/// Tests all properties of `radio`. During the test only this crate may use the radio, because it
/// sets the radio's addresses and gives the radio work. While this function waits, it repeatedly
/// calls `idle`, which lets a processor rest or simulated time pass.
///
/// With [`Limits::default`] the test takes less than a second of the radio's time.
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
