//! `spare`, the border router's assistant for nodes with small windows, between the border
//! router's host side and the other parts of the crossing.

use redpoll_assist::spare::{FlowSlot, Memory, Side, Spare};
use redpoll_base::Instant;

use crate::memory::{HeapMemory, buffer};
use crate::scenario::SpareParams;

/// Length of the longest packet whose segment is split, in bytes.
const LONGEST: usize = 1_280;

pub(super) fn of(params: Option<SpareParams>) -> Option<Box<Spare<HeapMemory>>> {
    let SpareParams { flows, room } = params?;
    let flows = usize::from(flows);
    Some(Box::new(Spare::new(Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        bytes: buffer(flows * usize::from(room)),
        half: buffer(LONGEST),
    })))
}

/// Passes a packet through `spare`. Returns the packets to forward, each with its direction.
pub(super) fn pass(
    spare: Option<&mut Spare<HeapMemory>>,
    now: Instant,
    from: Side,
    mut packet: Vec<u8>,
) -> Vec<(Side, Vec<u8>)> {
    let to = match from {
        Side::Mesh => Side::Host,
        Side::Host => Side::Mesh,
    };
    let Some(spare) = spare else {
        return vec![(to, packet)];
    };
    let mut left = Vec::new();
    if let Some(len) = spare.input(now, from, &mut packet) {
        packet.truncate(len);
        left.push((to, packet));
    }
    let mut out = [0; LONGEST];
    while let Some((to, len)) = spare.poll(&mut out) {
        left.push((to, out[..len].to_vec()));
    }
    left
}
