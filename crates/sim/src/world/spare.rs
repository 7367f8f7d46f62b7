//! The border router that stands in for the small windows of nodes, between its host side and
//! whatever else is there.

use redpoll_assist::spare::{FlowSlot, Memory, Side, Spare};

use super::World;
use crate::memory::HeapMemory;
use crate::report::SpareFigures;
use crate::scenario::SpareParams;

/// The longest packet of which a segment is cut.
const LONGEST: usize = 1_280;

/// As the scenario says.
pub(super) fn of(params: Option<SpareParams>) -> Option<Box<Spare<HeapMemory>>> {
    let SpareParams { flows, room } = params?;
    let flows = usize::from(flows);
    Some(Box::new(Spare::new(Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        bytes: vec![0; flows * usize::from(room)].into(),
        half: vec![0; LONGEST].into(),
    })))
}

impl World {
    /// A packet crosses the border router's host side: what goes on, and to which side.
    pub(super) fn spare(&mut self, from: Side, mut packet: Vec<u8>) -> Vec<(Side, Vec<u8>)> {
        let to = match from {
            Side::Mesh => Side::Host,
            Side::Host => Side::Mesh,
        };
        let Some(spare) = &mut self.spare else {
            return vec![(to, packet)];
        };
        let mut left = Vec::new();
        if let Some(len) = spare.input(self.now, from, &mut packet) {
            packet.truncate(len);
            left.push((to, packet));
        }
        let mut out = [0; LONGEST];
        while let Some((to, len)) = spare.poll(&mut out) {
            left.push((to, out[..len].to_vec()));
        }
        left
    }

    /// What standing in for small windows has done, if it is there.
    pub(super) fn spare_figures(&self) -> Option<SpareFigures> {
        self.spare.as_deref().map(SpareFigures::of)
    }
}
