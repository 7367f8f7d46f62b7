//! The border router's host side.

use redpoll_border::Gate;

use super::World;
use crate::fault::Verdict;

/// Packets that may wait for the host.
const HOST_QUEUE: usize = 256;

impl World {
    /// A packet from the host, at the border router's host side, now: a driver
    /// in real time lets the world run up to the clock first. Whatever is wrong
    /// with the packet is counted there.
    pub fn host_input(&mut self, packet: &[u8]) {
        let copies = match self.air.faults_mut().on_packet(self.now) {
            Verdict::Drop => 0,
            Verdict::Pass => 1,
            Verdict::Duplicate => 2,
        };
        let Some(border) = self.border else { return };
        for _ in 0..copies {
            let node = &mut self.inhabitants[border].node;
            // Rejected packets are counted by the gate.
            let _ = self.gate.input_packet(self.now, node, packet);
            self.serve(border);
        }
        self.drain();
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
        let node = &mut self.inhabitants[index].node;
        while let Some(len) = self.gate.poll_packet(self.now, node, &mut self.packet) {
            let copies = match self.air.faults_mut().on_packet(self.now) {
                Verdict::Drop => 0,
                Verdict::Pass => 1,
                Verdict::Duplicate => 2,
            };
            for _ in 0..copies {
                if self.to_host.len() >= HOST_QUEUE {
                    self.host_overflow += 1;
                } else {
                    self.to_host.push_back(self.packet[..len].to_vec());
                }
            }
        }
    }
}
