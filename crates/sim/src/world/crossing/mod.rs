//! The crossing between the mesh and hosts: the border router's host side, with TAiM or fair
//! queueing, `spare` (the assistant for nodes with small windows) and a serial line, and the link
//! to the simulated host.
//!
//! A packet from the mesh goes from the border router's node over the serial line, the shaper
//! and `spare` to the host. A packet from the host takes the same path in reverse. The serial
//! line, the shaper and `spare` may each be absent.

mod serial;
mod shaper;
mod spare;
mod waiting;
mod wire;

use std::collections::VecDeque;

use redpoll_assist::spare::{Side, Spare};
use redpoll_base::{Duration, Instant};
use redpoll_border::Gate;

use super::Event;
use super::environment::{Environment, Seat};
use super::occupant::{Native, Occupant, Place};
use crate::MTU;
use crate::fault::Treatment;
use crate::kernel::{Secrets, Seed};
use crate::memory::HeapMemory;
use crate::report::{self, FairQueueFigures, SpareFigures, TaimFigures};
use crate::scenario::Scenario;
use serial::Serial;
use shaper::Shaper;
use waiting::Waiting;
use wire::{Transit, Wire};

const HOST_QUEUE: usize = 256;

pub(super) struct Crossing {
    /// The border router's rules for packets between mesh and host.
    gate: Gate,
    /// TAiM or fair queueing.
    shaper: Option<Box<Shaper>>,
    /// The assistant for nodes with small windows.
    spare: Option<Box<Spare<HeapMemory>>>,
    /// The line between the border router's radio and its host side.
    serial: Option<Box<Serial>>,
    border: Option<usize>,
    /// Index of the simulated host, which comes after the nodes.
    host: Option<usize>,
    wire: Wire,
    /// Packets from the host for which the border router has no room yet.
    from_host: Waiting,
    to_host: VecDeque<Vec<u8>>,
    /// Whether the caller takes from `to_host` the packets for hosts other than the simulated one.
    is_tapped: bool,
    /// Packets for the host that found `to_host` full.
    host_overflow: u64,
    packet: Box<[u8]>,
}

/// The part of a world that a crossing can reach: border router, host, and the state that all
/// places share.
pub(super) struct Mesh<'a> {
    pub(super) env: &'a mut Environment,
    pub(super) places: &'a mut [Place],
}

impl Mesh<'_> {
    /// Returns the node of Redpoll's stack at place `index`, with its seat.
    fn native(&mut self, index: usize) -> Option<(&mut Native, Seat<'_>)> {
        let Place {
            occupant, timing, ..
        } = self.places.get_mut(index)?;
        let Occupant::Native(native) = occupant else {
            return None;
        };
        let env = &mut *self.env;
        Some((native, Seat { index, timing, env }))
    }
}

impl Crossing {
    pub(super) fn new(scenario: &Scenario, seed: Seed, secrets: &mut Secrets) -> Crossing {
        let border = &scenario.border;
        let gate = Gate::new(border.prefix, 64).with_host(border.host);
        Crossing {
            gate: match scenario.multicast {
                Some(_) => gate.with_groups(),
                None => gate,
            },
            shaper: Shaper::of(scenario, seed, secrets),
            spare: spare::of(border.spare),
            serial: border.serial.map(|params| Box::new(Serial::new(params))),
            border: scenario.border_router(),
            host: scenario.host_index(),
            wire: Wire::default(),
            from_host: Waiting::new(border.queue),
            to_host: VecDeque::new(),
            is_tapped: false,
            host_overflow: 0,
            packet: vec![0; MTU].into_boxed_slice(),
        }
    }

    /// Returns whether place `index` is the border router or the simulated host.
    pub(super) fn joins(&self, index: usize) -> bool {
        self.border == Some(index) || self.host == Some(index)
    }

    /// Carries out the work of place `index`, the border router or the host, and collects the
    /// packets that this place sends to the other one.
    pub(super) fn serve(&mut self, mesh: &mut Mesh<'_>, index: usize) {
        if let Some((native, mut seat)) = mesh.native(index) {
            native.work(&mut seat);
        }
        if self.border == Some(index) {
            self.collect_from_border(mesh, index);
        } else {
            self.collect_from_host(mesh, index);
        }
        if let Some((native, mut seat)) = mesh.native(index) {
            native.settle(&mut seat);
        }
    }

    /// Accepts a packet from the host's link at the border router's host side.
    pub(super) fn host_input(&mut self, mesh: &mut Mesh<'_>, packet: &[u8]) {
        match fate(mesh.env) {
            Fate::Arrives(copies) => {
                record(mesh.env, Side::Mesh, packet);
                for _ in 0..copies {
                    self.pass_spare(mesh, Side::Host, packet.to_vec());
                }
            }
            Fate::IsLate(delay) => {
                let at = mesh.env.now + delay;
                let late = Transit::late(Side::Mesh, packet.to_vec());
                self.send_over_wire(mesh.env, at, late);
            }
        }
    }

    /// Passes a packet from the mesh or the host through `spare`, and forwards the results.
    fn pass_spare(&mut self, mesh: &mut Mesh<'_>, from: Side, packet: Vec<u8>) {
        let now = mesh.env.now;
        for (to, packet) in spare::pass(self.spare.as_deref_mut(), now, from, packet) {
            match to {
                Side::Mesh => self.pass_shaper(mesh, Side::Mesh, packet),
                Side::Host => self.send_to_host(mesh.env, packet),
            }
        }
    }

    /// Passes a packet through TAiM or fair queueing, at once or later.
    fn pass_shaper(&mut self, mesh: &mut Mesh<'_>, to: Side, bytes: Vec<u8>) {
        let Some(shaper) = &mut self.shaper else {
            return self.has_passed_shaper(mesh, to, bytes);
        };
        let packet = shaper::Packet { to, bytes };
        if let Some(packet) = shaper.input(mesh.env.now, packet) {
            self.has_passed_shaper(mesh, packet.to, packet.bytes);
        }
        self.release(mesh);
    }

    pub(super) fn on_shaper_timer(&mut self, mesh: &mut Mesh<'_>) {
        let shaper = self.shaper.as_mut();
        if shaper.is_some_and(|shaper| shaper.wakes(mesh.env.now)) {
            self.release(mesh);
        }
    }

    /// Forwards the packets that the shaper releases now, and schedules its next call.
    fn release(&mut self, mesh: &mut Mesh<'_>) {
        let now = mesh.env.now;
        while let Some(shaper) = &mut self.shaper
            && let Some(packet) = shaper.poll(now)
        {
            self.has_passed_shaper(mesh, packet.to, packet.bytes);
        }
        let shaper = self.shaper.as_mut();
        if let Some(at) = shaper.and_then(|shaper| shaper.next_call(now)) {
            mesh.env.queue.schedule(at, Event::Shaper);
        }
    }

    fn has_passed_shaper(&mut self, mesh: &mut Mesh<'_>, to: Side, packet: Vec<u8>) {
        match to {
            Side::Mesh => self.pass_serial(mesh, to, packet),
            Side::Host => self.pass_spare(mesh, Side::Mesh, packet),
        }
    }

    fn pass_serial(&mut self, mesh: &mut Mesh<'_>, to: Side, packet: Vec<u8>) {
        let Some(serial) = &mut self.serial else {
            return self.has_passed_serial(mesh, to, packet);
        };
        if let Some(at) = serial.input(mesh.env.now, to, packet) {
            mesh.env.queue.schedule(at, Event::Serial { to });
        }
    }

    /// Handles the arrival of a packet at the serial line's other end.
    pub(super) fn on_serial(&mut self, mesh: &mut Mesh<'_>, to: Side) {
        let serial = self.serial.as_mut();
        if let Some(packet) = serial.and_then(|serial| serial.output(to)) {
            self.has_passed_serial(mesh, to, packet);
        }
    }

    fn has_passed_serial(&mut self, mesh: &mut Mesh<'_>, to: Side, packet: Vec<u8>) {
        match to {
            Side::Mesh => self.enter_or_wait(mesh, &packet),
            Side::Host => self.pass_shaper(mesh, to, packet),
        }
    }

    /// Hands a packet to the border router's node, or queues it until the node has room.
    fn enter_or_wait(&mut self, mesh: &mut Mesh<'_>, packet: &[u8]) {
        let Some(border) = self.border else { return };
        let is_free = self.from_host.is_empty() && has_room(mesh, border);
        if is_free || !self.from_host.push(packet) {
            self.enter(mesh, border, packet);
        }
    }

    fn enter(&mut self, mesh: &mut Mesh<'_>, border: usize, packet: &[u8]) {
        if let Some((native, seat)) = mesh.native(border) {
            // The gate counts the packets that it rejects.
            let node = &mut native.node;
            let _ = self.gate.input_packet(seat.local_now(), node, packet);
        }
        self.serve(mesh, border);
    }

    pub(super) fn admit_next(&mut self, mesh: &mut Mesh<'_>) -> bool {
        if self.from_host.is_empty() {
            return false;
        }
        let Some(border) = self.border.filter(|border| has_room(mesh, *border)) else {
            return false;
        };
        let Some(packet) = self.from_host.pop() else {
            return false;
        };
        self.enter(mesh, border, &packet);
        true
    }

    fn collect_from_border(&mut self, mesh: &mut Mesh<'_>, border: usize) {
        while let Some((native, seat)) = mesh.native(border) {
            let (now, node) = (seat.local_now(), &mut native.node);
            let Some(len) = self.gate.poll_packet(now, node, &mut self.packet) else {
                return;
            };
            let packet = self.packet[..len].to_vec();
            self.pass_serial(mesh, Side::Host, packet);
        }
    }

    fn collect_from_host(&mut self, mesh: &mut Mesh<'_>, host: usize) {
        while let Some((native, seat)) = mesh.native(host) {
            let now = seat.local_now();
            let Some(len) = native.node.poll_packet(now, &mut self.packet) else {
                return;
            };
            let packet = self.packet[..len].to_vec();
            let at = mesh.env.now + mesh.env.scenario.border.host_delay;
            self.send_over_wire(mesh.env, at, Transit::new(Side::Mesh, packet));
        }
    }

    fn send_to_host(&mut self, env: &mut Environment, packet: Vec<u8>) {
        record(env, Side::Host, &packet);
        let (copies, delay) = match fate(env) {
            Fate::Arrives(copies) => (copies, Duration::ZERO),
            Fate::IsLate(delay) => (1, delay),
        };
        for _ in 0..copies {
            if self.host.is_some() && !self.is_for_others(env, &packet) {
                let at = env.now + env.scenario.border.host_delay + delay;
                self.send_over_wire(env, at, Transit::new(Side::Host, packet.clone()));
            } else if self.to_host.len() >= HOST_QUEUE {
                self.host_overflow += 1;
            } else {
                self.to_host.push_back(packet.clone());
            }
        }
    }

    /// Returns whether a packet is for a host other than the simulated one.
    fn is_for_others(&self, env: &Environment, packet: &[u8]) -> bool {
        let host = env.scenario.border.host;
        self.is_tapped && packet.get(24..40) != Some(&host.0[..])
    }

    fn send_over_wire(&mut self, env: &mut Environment, at: Instant, transit: Transit) {
        self.wire.push(at, transit);
        env.queue.schedule(at, Event::Wire);
    }

    /// Delivers the next packet on the host's link.
    pub(super) fn on_wire(&mut self, mesh: &mut Mesh<'_>) {
        let Some(Transit {
            to,
            packet,
            is_late,
        }) = self.wire.pop()
        else {
            return;
        };
        match (to, self.host) {
            (Side::Mesh, _) if is_late => {
                record(mesh.env, Side::Mesh, &packet);
                self.pass_spare(mesh, Side::Host, packet);
            }
            (Side::Mesh, _) => self.host_input(mesh, &packet),
            (Side::Host, Some(host)) => {
                if let Some((native, seat)) = mesh.native(host) {
                    // The host's node counts the packets that it rejects.
                    let _ = native.node.input_packet(seat.local_now(), &packet);
                }
                self.serve(mesh, host);
            }
            (Side::Host, None) => {}
        }
    }

    /// From now on, offers packets for other hosts than the simulated one in `host_output`.
    pub(super) fn tap_host(&mut self) {
        self.is_tapped = true;
    }

    pub(super) fn host_output(&mut self) -> Option<Vec<u8>> {
        self.to_host.pop_front()
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(super) fn losses_at(&self, index: usize) -> Option<report::HostSide<'_>> {
        (Some(index) == self.border).then(|| report::HostSide {
            gate: &self.gate,
            to_mesh: self.from_host.overflow(),
            to_host: self.host_overflow,
            serial: self
                .serial
                .as_ref()
                .map_or((0, 0), |serial| serial.losses()),
        })
    }

    pub(super) fn taim_figures(&self) -> Option<TaimFigures> {
        self.shaper.as_ref()?.taim_figures()
    }

    pub(super) fn fair_queue_figures(&self) -> Option<FairQueueFigures> {
        self.shaper.as_ref()?.fair_queue_figures()
    }

    pub(super) fn spare_figures(&self) -> Option<SpareFigures> {
        let spare = self.spare.as_deref()?;
        Some(SpareFigures::of(spare.counters(), spare.waiting()))
    }
}

/// Effect of the faults on a packet between border router and host.
enum Fate {
    /// Number of copies that arrive.
    Arrives(usize),
    IsLate(Duration),
}

fn fate(env: &mut Environment) -> Fate {
    match env.air.faults_mut().on_packet(env.now) {
        Treatment::Drop | Treatment::Lose => Fate::Arrives(0),
        Treatment::Pass | Treatment::Corrupt { .. } => Fate::Arrives(1),
        Treatment::Duplicate => Fate::Arrives(2),
        Treatment::Delay(delay) => Fate::IsLate(delay),
    }
}

/// Reports a packet between border router and host to a viewer, if there is one.
fn record(env: &mut Environment, to: Side, packet: &[u8]) {
    if let Some(tape) = env.air.tape_mut() {
        tape.packet(env.now, to == Side::Mesh, packet);
    }
}

fn has_room(mesh: &mut Mesh<'_>, border: usize) -> bool {
    let native = mesh.native(border);
    native.is_some_and(|(native, _)| native.node.has_room())
}
