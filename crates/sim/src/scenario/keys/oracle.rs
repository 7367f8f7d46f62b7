//! Keys of the oracle's demands.

use super::kinds::{DAY_US, US_PER_S, key, time};
use crate::scenario::schema::Key;
use crate::scenario::schema::KeyKind::*;
use crate::scenario::schema::Presence::*;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("oracle.apps_end", time(US_PER_S, 1000.0 * DAY_US), Optional("never: apps do not end"), None,
        "Time at which all apps end and close their connections, at least 60 s before the end of the run. Every pool of every node with Redpoll's TCP must be empty at least once in the last 60 s of the run: 6LoWPAN's slots and fragments, connections, and half-open connections. Otherwise the oracle reports a violation."),
    key("oracle.patience", time(US_PER_S, DAY_US), Optional("no limit"), None,
        "Longest time that a stream with bytes in transit may take until a byte arrives or the stream fails; after a longer time the oracle reports a violation. The time before the end of the last fault and of the last interferer does not count."),
    key("oracle.events", Count { min: 1_000, max: 1_000_000_000 }, Optional("no limit"), None,
        "Largest number of events in a simulated second; with more, the oracle reports a violation and the run ends."),
];
