//! Who else is on the air, and what goes wrong.

use super::kinds::{DAY_US, FRAMES, LOSSES, SHARE, US_PER_S, dbm, key, length, time};
use crate::scenario::schema::Key;
use crate::scenario::schema::Kind::*;
use crate::scenario::schema::Presence::*;
use crate::scenario::units::Measure;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("interferers.*.position", Position, Required, None,
        "Where it stands. With `links` and `k7`, where positions do not count, all nodes hear it; with `k7` in the medium `sinr` its power arrives whole."),
    key("interferers.*.power", dbm(-60.0, 40.0), Default("10 dBm"), None,
        "Power that leaves its antenna within the channel; Wi-Fi of 20 dBm has 10 dBm in 2 of its 20 MHz. Only the medium `sinr` heeds it."),
    key("interferers.*.range", length(0.01, 1e5), Default("20 m"), None,
        "How far it makes the channel busy and destroys receptions. Only the medium `unit-disk` heeds it."),
    key("interferers.*.burst", time(1.0, 3_600.0 * US_PER_S), Default("2 ms"), None,
        "Mean time for which it is on the air at a stretch."),
    key("interferers.*.busy", Quantity { measure: Measure::Share, min: 0.0, max: 0.99 }, Default("30 %"), None,
        "Share of the time for which it is on the air while active; 0 % is off."),
    key("interferers.*.lengths", Choice(&["exponential", "constant", "pareto"]), Default("exponential"), None,
        "How long bursts and gaps are: without memory, all the same, or with a heavy tail."),
    key("interferers.*.shape", Number { min: 1.05, max: 100.0 }, Default("1.5"), Some(("lengths", &["pareto"])),
        "Shape of the heavy tail; lengths over a thousand means are cut off."),
    key("interferers.*.from", time(0.0, DAY_US), Default("0 h"), None,
        "Hour of each day from which it may be active; a run begins at midnight."),
    key("interferers.*.until", time(0.0, DAY_US), Default("24 h"), None,
        "Hour of each day until which it may be active."),
    key("interferers.*.session", QuantityOr { measure: Measure::Time, min: 1_000.0, max: DAY_US, word: "always" }, Default("always"), None,
        "Mean length of a session of activity, without memory; or it is active all the time."),
    key("interferers.*.session_share", SHARE, Default("25 %"), None,
        "Share of its hours that sessions take."),

    key("faults.*.type", Choice(&["drop-frames", "lose-frames", "duplicate-frames", "drop-packets", "duplicate-packets", "node-off", "node-restart"]), Required, None,
        "What goes wrong. Frames are those on the air, packets those between border router and host; `lose-frames` loses data frames behind the radio that has acknowledged them, so that no retry of the link mends it; `node-off` switches a node's radio off; `node-restart` the whole node, which has forgotten all it knew when it begins anew but what is in flash, and finds its way by RPL, or as a leaf is told its fixed routes again."),
    key("faults.*.from", time(0.0, 1000.0 * DAY_US), Default("0 s"), None,
        "When it begins."),
    key("faults.*.until", QuantityOr { measure: Measure::Time, min: 0.0, max: 1000.0 * DAY_US, word: "the end" }, Default("the end"), None,
        "When it is over; after `from`."),
    key("faults.*.share", SHARE, Default("100 %"), LOSSES,
        "Share of the frames or packets that it meets."),
    key("faults.*.sender", Name, Optional("any node"), FRAMES,
        "Only frames from this node."),
    key("faults.*.receiver", Name, Optional("any node"), FRAMES,
        "Only frames at this node; others still hear them."),
    key("faults.*.frames", Choice(&["any", "data", "ack"]), Default("any"), Some(("type", &["drop-frames"])),
        "All frames, all but link acknowledgments, or only those."),
    key("faults.*.node", Name, Required, Some(("type", &["node-off", "node-restart"])),
        "The node that is switched off; for `node-restart` one on which no app runs but `image-leaf`."),
];
