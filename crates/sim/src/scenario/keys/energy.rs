//! Keys of processors and batteries.

use super::kinds::{current, key};
use crate::scenario::schema::Key;
use crate::scenario::schema::KeyKind::*;
use crate::scenario::schema::Presence::*;
use crate::scenario::units::Measure;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("energy.clock", Quantity { measure: Measure::Frequency, min: 0.001, max: 10_000.0 }, Default("48 MHz"), None,
        "Clock frequency of the processor."),
    key("energy.cycles_per_instruction", Number { min: 0.1, max: 100.0 }, Default("1.5"), None,
        "Cycles per instruction on average; an assumption for a Cortex-M0+."),
    key("energy.wake_up_instructions", Number { min: 0.0, max: 1e9 }, Default("0"), None,
        "Instructions of an operating system each time the processor wakes, in addition to those of the engine, which `make size` counts."),
    key("energy.packet_instructions", Number { min: 0.0, max: 1e9 }, Default("0"), None,
        "Instructions of an operating system for each packet that a node sends or receives, and twice that for a packet that it relays, in addition to those of the engine. Half of a relayed packet's share is spent on arrival, half when it is forwarded."),
    key("energy.takes_time", Bool, Default("false"), None,
        "Instructions take virtual time, which delays the commands to a node's radio."),
    key("energy.cpu_active", current(1_000.0), Default("3.4 mA"), None,
        "Current of the running processor; the default is that of a SAM D21 at 48 MHz and 25 degrees."),
    key("energy.cpu_sleep", current(1_000.0), Default("4 uA"), None,
        "Current of the sleeping processor, which keeps its memory and clock; the default is that of a SAM D20."),
    key("energy.battery", Quantity { measure: Measure::Charge, min: 1.0, max: 1e6 }, Default("2400 mAh"), None,
        "Charge of a node's battery; the default is about that of two AA cells."),
];
