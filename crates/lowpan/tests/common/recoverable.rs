//! Shared parts of the tests of recoverable fragments.

use super::*;
use redpoll_base::Instant;
use redpoll_lowpan::{
    DropReason, ForwardingMemory, FragmentBuffer, Incoming, Onward, Outgoing, RecoveryConfig,
    RecoveryMemory, SlotId, SwitchedPath, VirtualBuffer,
};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap, Fragment};

pub const START: Instant = Instant::ZERO;

pub fn memory(outgoing: usize, incoming: usize, paths: usize) -> RecoveryMemory<Heap> {
    RecoveryMemory {
        outgoing: vec![Outgoing::EMPTY; outgoing].into(),
        incoming: vec![Incoming::EMPTY; incoming].into(),
        paths: vec![SwitchedPath::EMPTY; paths].into(),
    }
}

pub fn forwarding(fragments: usize) -> ForwardingMemory<Heap> {
    ForwardingMemory {
        datagrams: vec![VirtualBuffer::EMPTY; 4].into(),
        fragments: vec![FragmentBuffer::EMPTY; fragments].into(),
    }
}

/// Returns a node with 4 slots, room for 4 datagrams in each role, and 16 fragments.
pub fn recovering(config: RecoveryConfig) -> Node {
    let mut node = node(4);
    node.forward_fragments(forwarding(16));
    node.recover_fragments(config, memory(4, 4, 4));
    node
}

pub fn pair() -> (Node, Node) {
    (
        recovering(RecoveryConfig::default()),
        recovering(RecoveryConfig::default()),
    )
}

pub fn to_c(next_header: u8) -> Ipv6Header {
    Ipv6Header {
        dst: addr(3),
        ..ip(next_header)
    }
}

/// Returns all frames that a node sends; the link delivers each.
pub fn sends(node: &mut Node, now: Instant, from: Address) -> Vec<(Address, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut out = [0; CAPACITY];
    while let Some(frame) = node.next_frame(now, from, CAPACITY, &mut out, &mut Source::default()) {
        frames.push((frame.dst, out[..frame.len].to_vec()));
        node.on_frame_done(now, true);
    }
    frames
}

pub fn frames(node: &mut Node, now: Instant, from: Address, to: Address) -> Vec<Vec<u8>> {
    let frames = sends(node, now, from);
    assert!(frames.iter().all(|(dst, _)| *dst == to), "{frames:x?}");
    frames.into_iter().map(|(_, frame)| frame).collect()
}

pub fn header(frame: &[u8]) -> Fragment {
    Fragment::parse(frame).expect("a recoverable fragment").0
}

pub fn sequences(frames: &[Vec<u8>]) -> Vec<(u8, bool)> {
    let key = |header: Fragment| (header.sequence, header.ack_request);
    frames.iter().map(|frame| key(header(frame))).collect()
}

/// Returns the only frame that a node sends: an acknowledgment for `to`.
pub fn ack(node: &mut Node, now: Instant, from: Address, to: Address) -> Ack {
    let frames = frames(node, now, from, to);
    assert_eq!(frames.len(), 1);
    Ack::parse(&frames[0]).expect("an acknowledgment")
}

pub fn bits(sequences: &[u8]) -> Bitmap {
    let all = sequences.iter().map(|sequence| Bitmap::of(*sequence));
    all.fold(Bitmap::NULL, Bitmap::with)
}

/// Queues a packet of 40 + 500 bytes at `A`. Returns the packet, and the frames that `A` sends.
pub fn begin(a: &mut Node, now: Instant, next_header: u8) -> (Vec<u8>, Vec<Vec<u8>>) {
    let packet = packet(to_c(next_header), 3, 500);
    let slot = hold(a, &packet);
    a.queue(now, slot, B);
    let frames = frames(a, now, A, B);
    (packet, frames)
}

pub fn emit(header: Fragment, body: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 128];
    let mut out = Cursor::new(&mut buffer);
    header.emit(&mut out).unwrap();
    out.put(body).unwrap();
    out.written().to_vec()
}

/// Delivers a fragment from `A` to the relay `B`, which forwards it to `C`.
pub fn pass(relay: &mut Node, now: Instant, frame: &[u8]) -> Result<Option<SlotId>, DropReason> {
    relay.input_routed(now, A, B, frame, |_| {
        Some(Onward {
            next_hop: C,
            link_src: B,
            capacity: CAPACITY,
        })
    })
}

pub fn one_hop_on(mut packet: Vec<u8>) -> Vec<u8> {
    packet[7] -= 1;
    packet
}
