//! Keys of interferers and faults.

use super::kinds::{DAY_US, FRAMES, LASTING, LOSSES, SHARE, US_PER_S, dbm, key, length, time};
use crate::scenario::schema::Key;
use crate::scenario::schema::KeyKind::*;
use crate::scenario::schema::Presence::*;
use crate::scenario::units::Measure;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("interferers.*.position", Position, Required, None,
        "Position of the interferer. The topologies `links` and `k7` ignore positions, so all nodes hear the interferer. With the topology `k7` and the medium `sinr`, the interferer's power arrives at every node without path loss."),
    key("interferers.*.power", dbm(-60.0, 40.0), Default("10 dBm"), None,
        "Power that the interferer's antenna emits within the channel; Wi-Fi with 20 dBm emits 10 dBm in 2 of its 20 MHz. Used only by the medium `sinr`."),
    key("interferers.*.range", length(0.01, 1e5), Default("20 m"), None,
        "Distance within which the interferer makes the channel busy and destroys receptions. Used only by the medium `unit-disk`."),
    key("interferers.*.burst", time(1.0, 3_600.0 * US_PER_S), Default("2 ms"), None,
        "Mean length of a transmission (a burst)."),
    key("interferers.*.busy", Quantity { measure: Measure::Share, min: 0.0, max: 0.99 }, Default("30 %"), None,
        "Share of the time for which an active interferer transmits; with 0 % it never transmits."),
    key("interferers.*.lengths", Choice(&["exponential", "constant", "pareto"]), Default("exponential"), None,
        "Distribution of the lengths of bursts and of the gaps between them: exponential, constant, or Pareto with a heavy tail."),
    key("interferers.*.shape", Number { min: 1.05, max: 100.0 }, Default("1.5"), Some(("lengths", &["pareto"])),
        "Shape of the Pareto distribution; lengths are limited to 1,000 times the shortest one."),
    key("interferers.*.from", time(0.0, DAY_US), Default("0 h"), None,
        "Time of day from which the interferer may be active; a run begins at midnight."),
    key("interferers.*.until", time(0.0, DAY_US), Default("24 h"), None,
        "Time of day until which the interferer may be active."),
    key("interferers.*.session", QuantityOr { measure: Measure::Time, min: 1_000.0, max: DAY_US, word: "always" }, Default("always"), None,
        "Mean length of a period of activity; the lengths are exponentially distributed. With `always` the interferer is active without pause from `from` to `until` each day."),
    key("interferers.*.session_share", SHARE, Default("25 %"), None,
        "Share of the time between `from` and `until` for which the interferer is active, if `session` is not `always`."),

    key("faults.*.type", Choice(&["drop-frames", "lose-frames", "duplicate-frames", "corrupt-frames", "drop-packets", "duplicate-packets", "reorder-packets", "clock-step", "node-off", "node-restart"]), Required, None,
        "Kind of fault. Faults of frames concern the air; faults of packets concern the path between border router and host. `lose-frames` loses data frames after the radio has acknowledged them, so no link retry repairs the loss. `corrupt-frames` sets a bit of data frames after their check sequence was verified. No bit is cleared, so the changes of several fragments of a packet do not cancel each other in the checksum. `clock-step` sets the clock of a node forward. `node-off` switches a node's radio off. `node-restart` switches the whole node off and restarts it at `until`: the node loses its state except for its flash, and finds its route again by RPL; a leaf without RPL gets its fixed routes again."),
    key("faults.*.from", time(0.0, 1000.0 * DAY_US), Default("0 s"), None,
        "Start of the fault; for `clock-step`, the time of the step."),
    key("faults.*.until", QuantityOr { measure: Measure::Time, min: 0.0, max: 1000.0 * DAY_US, word: "the end" }, Default("the end"), LASTING,
        "End of the fault; it must be later than `from`."),
    key("faults.*.share", SHARE, Default("100 %"), LOSSES,
        "Share of the frames or packets that the fault affects."),
    key("faults.*.delay", time(1_000.0, 60.0 * US_PER_S), Default("200 ms"), Some(("type", &["reorder-packets"])),
        "Time by which the affected packets arrive late. Packets that were sent later arrive before them."),
    key("faults.*.sender", NodeName, Optional("any node"), FRAMES,
        "The fault affects only frames from this node."),
    key("faults.*.receiver", NodeName, Optional("any node"), FRAMES,
        "The fault affects frames only at this receiver; other nodes still receive them."),
    key("faults.*.frames", Choice(&["any", "data", "ack"]), Default("any"), Some(("type", &["drop-frames"])),
        "Frames that the fault affects: `any`, all frames; `data`, all except link acknowledgements; `ack`, only link acknowledgements."),
    key("faults.*.by", time(1_000.0, DAY_US), Required, Some(("type", &["clock-step"])),
        "Time by which the node's clock is set forward; all timers of the node and of its apps expire earlier by this time."),
    key("faults.*.node", NodeName, Required, Some(("type", &["node-off", "node-restart", "clock-step"])),
        "The node that is switched off or restarted, or whose clock is set forward; for `node-restart` its apps must be `image-leaf` or use TCP: `bulk-sender`, `bulk-sink`, `http-client`, `http-server`, `echo`, or a `sensor` with `transport = \"tcp\"`. Apps other than `image-leaf` begin again without their earlier state."),
];
