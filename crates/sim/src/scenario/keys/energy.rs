//! What processors and batteries are like.

use super::kinds::{current, key};
use crate::scenario::schema::Key;
use crate::scenario::schema::Kind::*;
use crate::scenario::schema::Presence::*;
use crate::scenario::units::Measure;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("energy.clock", Quantity { measure: Measure::Frequency, min: 0.001, max: 10_000.0 }, Default("48 MHz"), None,
        "Clock of the processor."),
    key("energy.cycles_per_instruction", Number { min: 0.1, max: 100.0 }, Default("1.5"), None,
        "Cycles that an instruction takes on average; an assumption for a Cortex-M0+."),
    key("energy.wake_up_instructions", Number { min: 0.0, max: 1e9 }, Default("0"), None,
        "Instructions each time the processor is woken, beside those of the engine, which `make size` counts: for an operating system."),
    key("energy.packet_instructions", Number { min: 0.0, max: 1e9 }, Default("0"), None,
        "Instructions for each packet that a node makes or takes, and twice for one that it relays, beside those of the engine: for an operating system that passes it from layer to layer. Of those for a relayed one half are spent when it has come in, half when it is handed on."),
    key("energy.takes_time", Bool, Default("false"), None,
        "Whether instructions take virtual time: a node's radio is told what to do so much later."),
    key("energy.cpu_active", current(1_000.0), Default("3.4 mA"), None,
        "Current of the running processor: SAM D21, 48 MHz, 25 degrees."),
    key("energy.cpu_sleep", current(1_000.0), Default("4 uA"), None,
        "Current of the sleeping processor, with its memory and clock: SAM D20."),
    key("energy.battery", Quantity { measure: Measure::Charge, min: 1.0, max: 1e6 }, Default("2400 mAh"), None,
        "Charge of a node's battery; two AA cells have about that much."),
];
