//! The border router's host side, and the host that a run simulates there.

use redpoll_assist::spare::Side;
use redpoll_border::Gate;

use super::{Event, Inhabitant, World};
use crate::fault::Treatment;

/// Packets that may wait for the host.
const HOST_QUEUE: usize = 256;

impl World {
    /// A packet from the host, at the border router's host side, now: a driver
    /// in real time lets the world run up to the clock first. Whatever is wrong
    /// with the packet is counted there.
    pub fn host_input(&mut self, packet: &[u8]) {
        let copies = match self.air.faults_mut().on_packet(self.now) {
            Treatment::Drop | Treatment::Lose => 0,
            Treatment::Pass => 1,
            Treatment::Duplicate => 2,
        };
        self.write_down(true, packet);
        for _ in 0..copies {
            self.goes_on(Side::Host, packet.to_vec());
        }
        self.drain();
    }

    /// A packet has come to the border router's host side from one of the two.
    fn goes_on(&mut self, from: Side, packet: Vec<u8>) {
        for (to, packet) in self.spare(from, packet) {
            match to {
                Side::Mesh if self.taim.is_some() => self.cross(true, packet),
                Side::Mesh => self.enter_mesh(&packet),
                Side::Host => self.leave_host_side(packet),
            }
        }
    }

    /// Shows a packet between border router and host to a viewer, if there is one.
    fn write_down(&mut self, into_mesh: bool, packet: &[u8]) {
        let now = self.now;
        if let Some(tape) = self.air.tape_mut() {
            tape.packet(now, into_mesh, packet);
        }
    }

    /// A packet goes from the host's link towards the mesh.
    pub(super) fn enter_mesh(&mut self, packet: &[u8]) {
        match self.serial {
            Some(_) => self.send_by_serial(true, packet.to_vec()),
            None => self.enter_border(packet),
        }
    }

    /// A packet comes to the border router's radio, and waits where that has no room for
    /// it.
    pub(super) fn enter_border(&mut self, packet: &[u8]) {
        let Some(border) = self.border else { return };
        let is_free = self.from_host.is_empty() && self.inhabitants[border].node.has_room();
        if is_free || !self.from_host.push(packet) {
            self.enter(border, packet);
        }
    }

    fn enter(&mut self, border: usize, packet: &[u8]) {
        let Inhabitant { node, clock, .. } = &mut self.inhabitants[border];
        // Rejected packets are counted by the gate.
        let _ = self.gate.input_packet(clock.local(self.now), node, packet);
        self.serve(border);
    }

    /// Lets packets of the host in that have waited, as long as there is room.
    pub(super) fn admit_waiting(&mut self, border: usize) {
        while self.inhabitants[border].node.has_room() {
            let Some(packet) = self.from_host.pop() else {
                return;
            };
            self.enter(border, &packet);
            self.drain();
        }
    }

    /// From here on packets from the mesh that are not for the simulated host's own
    /// address go to [`World::host_output`]: others live behind the border router, too.
    pub fn tap_host(&mut self) {
        self.is_tapped = true;
    }

    /// The next packet for the host.
    pub fn host_output(&mut self) -> Option<Vec<u8>> {
        self.to_host.pop_front()
    }

    /// The border router's host side.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Moves a border router's packets for the host to the queue.
    pub(super) fn collect_packets(&mut self, index: usize) {
        loop {
            let Inhabitant { node, clock, .. } = &mut self.inhabitants[index];
            let now = clock.local(self.now);
            let Some(len) = self.gate.poll_packet(now, node, &mut self.packet) else {
                return;
            };
            let packet = self.packet[..len].to_vec();
            match self.serial {
                Some(_) => self.send_by_serial(false, packet),
                None => self.leave_border(packet),
            }
        }
    }

    /// A packet goes from the border router's radio to its host side.
    pub(super) fn leave_border(&mut self, packet: Vec<u8>) {
        if self.taim.is_some() {
            self.cross(false, packet);
        } else {
            self.leave_mesh(packet);
        }
    }

    /// A packet from the mesh has come to the border router's host side.
    pub(super) fn leave_mesh(&mut self, packet: Vec<u8>) {
        self.goes_on(Side::Mesh, packet);
    }

    /// A packet goes from the border router's host side towards the host.
    fn leave_host_side(&mut self, packet: Vec<u8>) {
        let copies = match self.air.faults_mut().on_packet(self.now) {
            Treatment::Drop | Treatment::Lose => 0,
            Treatment::Pass => 1,
            Treatment::Duplicate => 2,
        };
        self.write_down(false, &packet);
        for _ in 0..copies {
            if self.host.is_some() && !self.is_for_others(&packet) {
                self.send_over_wire(false, packet.clone());
            } else if self.to_host.len() >= HOST_QUEUE {
                self.host_overflow += 1;
            } else {
                self.to_host.push_back(packet.clone());
            }
        }
    }

    /// Whether a packet is for somebody beside the simulated host.
    fn is_for_others(&self, packet: &[u8]) -> bool {
        let host = self.scenario.border.host;
        self.is_tapped && packet.get(24..40) != Some(&host.0[..])
    }

    /// Sends the host's packets to the border router.
    pub(super) fn collect_from_host(&mut self, index: usize) {
        loop {
            let Inhabitant { node, clock, .. } = &mut self.inhabitants[index];
            let Some(len) = node.poll_packet(clock.local(self.now), &mut self.packet) else {
                return;
            };
            let packet = self.packet[..len].to_vec();
            self.send_over_wire(true, packet);
        }
    }

    /// All packets are equally long on the way, so that they arrive in order.
    fn send_over_wire(&mut self, to_mesh: bool, packet: Vec<u8>) {
        let at = self.now + self.scenario.border.host_delay;
        self.wire.push_back((to_mesh, packet));
        self.queue.schedule(at, Event::Wire);
    }

    /// A packet has gone the way between border router and host.
    pub(super) fn on_wire(&mut self) {
        match (self.wire.pop_front(), self.host) {
            (Some((true, packet)), _) => self.host_input(&packet),
            (Some((false, packet)), Some(host)) => {
                let Inhabitant { node, clock, .. } = &mut self.inhabitants[host];
                // The host's node counts what it does not take.
                let _ = node.input_packet(clock.local(self.now), &packet);
                self.serve(host);
            }
            _ => {}
        }
    }
}
