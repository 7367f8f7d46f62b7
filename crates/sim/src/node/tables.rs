//! The memory of a simulated node: its tables and buffers, and the bytes they take in firmware.

use redpoll_lowpan::{
    ForwardingMemory, FragmentBuffer, Incoming, LowpanMemory, Outgoing, RecoveryConfig,
    RecoveryMemory, Slot, SwitchedPath, VirtualBuffer,
};
use redpoll_mac::{Access, PENDING_MAX};
use redpoll_replay::OtherTcp;
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::{ConnectionSlot, ListenerSlot, NodeMemory, PartialSlot, UdpSlot};

use super::{SimNode, Sockets, place, routing};
use crate::memory::{HeapMemory, HeapTable, buffer};
use crate::scenario::{Scenario, TransportSpec};
use crate::topology::NodeRoutes;

const HALF_OPEN: usize = 4;
/// Spare sockets of each kind, in addition to those of the scenario's apps.
pub(super) const SPARE_SOCKETS: usize = 1;
const UDP_BYTES: usize = 1_024;
/// Buffer of a UDP socket on a node with CoAP, in bytes: two of the longest packets.
const COAP_BYTES: usize = 2 * 1_280;
/// Table entries besides the routes to single nodes: a default route and one to the mesh prefix.
const SPARE_ROUTES: usize = 2;

/// Allocates the node's tables and buffers, and returns their size in bytes.
pub(super) fn memory(
    scenario: &Scenario,
    (index, root): (usize, usize),
    routes: &NodeRoutes,
    sockets: Sockets,
) -> (NodeMemory<HeapMemory, OtherTcp>, usize) {
    let tcp = &scenario.tcp;
    let (tx, rx) = (tcp.send_buffer as usize, tcp.receive_buffer as usize);
    let spec = place(scenario, index);
    let connections = match spec.transport {
        TransportSpec::Redpoll => usize::from(spec.connections.saturating_add(spec.forwards)),
        _ => 0,
    };
    let slots = usize::from(scenario.lowpan.slots);
    let slot_bytes = slots * usize::from(scenario.lowpan.slot_bytes);
    let listeners = sockets.listeners + SPARE_SOCKETS;
    let half_open = vec![HalfOpen::default(); if sockets.listeners > 0 { HALF_OPEN } else { 0 }];
    let udp = sockets.udp + sockets.coap + SPARE_SOCKETS;
    let ring = match sockets.coap {
        0 => UDP_BYTES,
        _ => COAP_BYTES,
    };
    let sleepers = sleepers(scenario);
    let hosts = routing::room(scenario, (index, root)).unwrap_or(routes.hosts.len());
    let route_count = hosts + SPARE_ROUTES + sleepers;
    let children = sleepers.min(PENDING_MAX);
    let memory = NodeMemory {
        connections: (0..connections)
            .map(|_| ConnectionSlot::new(buffer(tx), buffer(rx)))
            .collect(),
        listeners: (0..listeners).map(|_| ListenerSlot::default()).collect(),
        half_open: half_open.into(),
        servers: vec![FastOpenServer::default(); tcp.fast_open_servers.into()].into(),
        udp: (0..udp).map(|_| UdpSlot::new(buffer(ring))).collect(),
        routes: HeapTable::growing(route_count),
        neighbours: vec![None; children].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; slots].into(),
            bytes: buffer(slot_bytes),
        },
    };
    let bytes = connections * (tx + rx)
        + bytes_of(&memory.connections)
        + bytes_of(&memory.listeners)
        + bytes_of(&memory.half_open)
        + bytes_of(&memory.servers)
        + udp * ring
        + bytes_of(&memory.udp)
        + table_bytes(scenario, &memory.routes, routing::SHORT_ROUTE_BYTES)
        + bytes_of(&memory.neighbours)
        + bytes_of(&memory.lowpan.slots)
        + slot_bytes;
    (memory, bytes)
}

/// Adds the memory that a node needs to forward fragments individually and to recover them, and
/// returns its bytes. With this memory, a leaf also leaves room in first fragments and pauses
/// between fragments. Also adds the memory to join IPv6 fragments, which is not counted.
pub(super) fn add_fragments(
    scenario: &Scenario,
    index: usize,
    node: &mut SimNode<impl Access>,
) -> usize {
    let lowpan = &scenario.lowpan;
    if lowpan.join_fragments {
        node.join_fragments(vec![PartialSlot::EMPTY; 2].into());
    }
    let Some(fragments) = lowpan.forwarded_fragments.map(usize::from) else {
        return 0;
    };
    let forwarding = ForwardingMemory {
        datagrams: vec![VirtualBuffer::EMPTY; fragments.div_ceil(2)].into(),
        fragments: vec![FragmentBuffer::EMPTY; fragments].into(),
    };
    let bytes = bytes_of(&forwarding.datagrams) + bytes_of(&forwarding.fragments);
    node.fragments().forward(forwarding);
    let Some(params) = lowpan.recovery.filter(|_| !place(scenario, index).sleepy) else {
        return bytes;
    };
    let recovery = RecoveryMemory {
        outgoing: vec![Outgoing::EMPTY; usize::from(lowpan.slots)].into(),
        incoming: vec![Incoming::EMPTY; 2 * usize::from(lowpan.slots)].into(),
        paths: vec![SwitchedPath::EMPTY; fragments.div_ceil(2)].into(),
    };
    let more = bytes_of(&recovery.outgoing) + bytes_of(&recovery.incoming);
    let more = more + bytes_of(&recovery.paths);
    let config = RecoveryConfig::default().with(|it| {
        it.window = params.window;
        it.arq_timeout = params.arq_timeout;
        it.arq_timeout_min = params.arq_timeout_min;
        it.arq_timeout_max = params.arq_timeout.times(4);
        it.fragment_retries = params.fragment_retries;
        it.datagram_retries = params.datagram_retries;
    });
    node.fragments().recover(config, recovery);
    bytes + more
}

fn sleepers(scenario: &Scenario) -> usize {
    scenario.nodes.iter().filter(|node| node.sleepy).count()
}

/// Returns the bytes of a table in firmware for the scenario's kind of addresses; `short` is the
/// size of an entry with short addresses only.
pub(super) fn table_bytes<T>(scenario: &Scenario, table: &HeapTable<T>, short: usize) -> usize {
    let entry = match scenario.mac.extended {
        true => size_of::<T>(),
        false => short,
    };
    table.limit() * entry
}

pub(super) fn bytes_of<T>(table: &impl AsRef<[T]>) -> usize {
    size_of_val(table.as_ref())
}
