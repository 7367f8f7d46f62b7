//! The occupants of a world's places. Each place has exactly one.

mod attacker;
mod external;
mod foreign;
mod guest;
mod native;
mod streams;

pub use attacker::AttackerCounters;
pub use foreign::PrintedLine;
pub(crate) use native::Native;

pub(super) use attacker::Attacker;
pub(super) use external::{External, LOOK, Presence};
pub(super) use foreign::Foreign;
pub(super) use guest::Guest;

use super::environment::{Seat, Timing};
use crate::air::{AirResult, Indication};

/// Place of a world: a position on the air, or the simulated host.
pub(super) struct Place {
    pub(super) occupant: Occupant,
    pub(super) timing: Timing,
    /// Bytes of the simulator's memory for the node at the start of the run, radio included.
    pub(super) memory_bytes: usize,
}

pub(super) enum Occupant {
    /// A node of Redpoll's stack, with its applications.
    Native(Box<Native>),
    Attacker(Box<Attacker>),
    /// A node with the firmware of another stack, within this process.
    Foreign(Box<Foreign>),
    /// A node with firmware that requests radio operations.
    Guest(Box<Guest>),
    External(Box<External>),
}

pub(super) trait Resident {
    fn on_wake(&mut self, seat: &mut Seat<'_>);

    /// Handles a frame from the place's radio: [`Air::received`](crate::air::Air::received).
    fn on_frame(&mut self, seat: &mut Seat<'_>);

    fn on_radio_done(&mut self, seat: &mut Seat<'_>, result: AirResult);

    fn on_frame_begins(&mut self, _seat: &mut Seat<'_>) {}

    fn on_frame_ends(&mut self, _seat: &mut Seat<'_>, _intact: bool) {}

    /// Handles the end of a frame that the place's radio overheard, whatever the destination.
    fn on_overheard(&mut self, _seat: &mut Seat<'_>, _intact: bool) {}
}

impl Occupant {
    pub(super) fn resident(&mut self) -> &mut dyn Resident {
        match self {
            Occupant::Native(native) => &mut **native,
            Occupant::Attacker(attacker) => &mut **attacker,
            Occupant::Foreign(foreign) => &mut **foreign,
            Occupant::Guest(guest) => &mut **guest,
            Occupant::External(external) => &mut **external,
        }
    }

    /// Delivers a report of the radio.
    pub(super) fn on_indication(&mut self, seat: &mut Seat<'_>, indication: Indication) {
        let resident = self.resident();
        match indication {
            Indication::Frame { .. } => resident.on_frame(seat),
            Indication::Done { result, .. } => resident.on_radio_done(seat, result),
            Indication::Follows { .. } => resident.on_frame_begins(seat),
            Indication::Heard { intact, .. } => resident.on_frame_ends(seat, intact),
            Indication::Overheard { intact, .. } => resident.on_overheard(seat, intact),
        }
    }

    /// Returns the node of Redpoll's stack, if the place has one.
    pub(super) fn native(&self) -> Option<&Native> {
        match self {
            Occupant::Native(native) => Some(native),
            _ => None,
        }
    }
}
