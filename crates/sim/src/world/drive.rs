//! Runs a world: handles events one by one, and after each event the requests of its nodes, hosts
//! and other occupants.

use super::crossing::{Crossing, Mesh};
use super::environment::Seat;
use super::occupant::{Occupant, Place};
use super::{Event, World};
use crate::air::Indication;
use crate::fault::Rule;

impl World {
    pub(super) fn on_event(&mut self, event: Event) {
        let now = self.env.now;
        self.env.oracle.at(now);
        self.env.digest.add(now.as_micros());
        match event {
            Event::Air(event) => self.env.air.on_event(now, event, &mut self.env.queue),
            Event::Wake { node } => self.on_wake(node as usize),
            Event::App { node } => self.on_app_timer(node as usize),
            Event::Restart { node } => self.on_restart(node as usize),
            Event::ClockStep { fault } => self.on_clock_step(fault as usize),
            Event::Wire => {
                let (crossing, mut mesh) = self.crossing();
                crossing.on_wire(&mut mesh);
            }
            Event::Shaper => {
                let (crossing, mut mesh) = self.crossing();
                crossing.on_shaper_timer(&mut mesh);
            }
            Event::Serial { to } => {
                let (crossing, mut mesh) = self.crossing();
                crossing.on_serial(&mut mesh, to);
            }
            Event::Check => self.on_check(),
        }
        self.drain();
        while self.admit_next() {
            self.drain();
        }
    }

    /// Admits a waiting packet of the host, if the border router has room. Returns whether it did.
    fn admit_next(&mut self) -> bool {
        let (crossing, mut mesh) = self.crossing();
        crossing.admit_next(&mut mesh)
    }

    fn on_wake(&mut self, index: usize) {
        let (occupant, mut seat) = self.at(index);
        if seat.timing.is_due(seat.env.now) {
            occupant.resident().on_wake(&mut seat);
            self.serve(index);
        }
    }

    /// Sets a clock forward. The timers of the node and of its applications expire earlier.
    fn on_clock_step(&mut self, fault: usize) {
        let faults = &self.env.scenario.faults;
        let Some(&Rule::ClockStep { node: index, by }) = faults.get(fault).map(|it| &it.rule)
        else {
            return;
        };
        if let (Occupant::Native(native), mut seat) = self.at(index) {
            seat.timing.clock.step(by);
            native.on_clock_step(&mut seat);
        }
        self.serve(index);
    }

    fn on_app_timer(&mut self, index: usize) {
        if let (Occupant::Native(native), mut seat) = self.at(index)
            && native.on_app_timer(&mut seat)
        {
            self.serve(index);
        }
    }

    /// Reports the indications of all radios to their occupants until no indication is left.
    pub(super) fn drain(&mut self) {
        while let Some(indication) = self.env.air.poll_indication() {
            let index = indication.node() as usize;
            let (occupant, mut seat) = self.at(index);
            occupant.on_indication(&mut seat, indication);
            if !matches!(indication, Indication::Overheard { .. }) {
                self.serve(index);
            }
        }
    }

    /// Carries out the work of a node of Redpoll's stack, and schedules its next call. Other
    /// occupants act when they are called.
    pub(super) fn serve(&mut self, index: usize) {
        if self.crossing.joins(index) {
            let (crossing, mut mesh) = self.crossing();
            return crossing.serve(&mut mesh, index);
        }
        if let (Occupant::Native(native), mut seat) = self.at(index) {
            native.work(&mut seat);
            native.settle(&mut seat);
        }
    }

    pub(super) fn at(&mut self, index: usize) -> (&mut Occupant, Seat<'_>) {
        let Place {
            occupant, timing, ..
        } = &mut self.places[index];
        let env = &mut self.env;
        (occupant, Seat { index, timing, env })
    }

    pub(super) fn crossing(&mut self) -> (&mut Crossing, Mesh<'_>) {
        let mesh = Mesh {
            env: &mut self.env,
            places: &mut self.places,
        };
        (&mut self.crossing, mesh)
    }
}
