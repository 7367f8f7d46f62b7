//! One node, whose host and neighbours are simulated by the test.

use std::collections::BTreeSet;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_lowpan::{Gone, Lowpan, LowpanConfig, LowpanMemory, PayloadSource, Slot};
use redpoll_mac::{RadioResult, RadioWork, RxInfo};
use redpoll_stack::assist::{Assist, NoAssist};
use redpoll_stack::{DropReason, Node, NodeConfig, Route, Via};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_wire::sixlowpan::Contexts;

use super::{Assisted, HeapMemory, assisted_node, node_with_memory, prefix};

pub const SLOTS: usize = 6;

pub struct Lone<A: Assist = NoAssist> {
    pub now: Instant,
    pub node: Node<Assisted<A>>,
    /// The payloads of the node's acknowledged and broadcast frames, each with its destination.
    pub frames: Vec<(Address, Vec<u8>)>,
    /// Transmissions, including repeated and unacknowledged ones.
    pub attempts: usize,
    /// Whether no neighbour acknowledges.
    pub deaf: bool,
    pub busy: bool,
    pub absent: BTreeSet<u16>,
    /// Neighbours whose data requests are acknowledged with the frame pending bit.
    pub promised: BTreeSet<u16>,
    neighbour: Lowpan<HeapMemory>,
    dsn: u8,
    loaded: Vec<u8>,
}

struct NoTransport;

impl PayloadSource for NoTransport {
    fn read(&mut self, _: u32, _: usize, _: &mut [u8]) -> Result<usize, Gone> {
        Err(Gone)
    }
}

impl Lone {
    /// Returns a border router, short address 1: its mesh is on link, its default route the host.
    pub fn border(adapt: impl FnOnce(&mut NodeConfig)) -> Self {
        Lone::border_with(adapt, NoAssist)
    }

    /// Returns a border router with room for this number of routes and its two fixed ones.
    pub fn with_routes(routes: usize) -> Self {
        Lone::around(node_with_memory(|memory| {
            memory.routes = vec![None; routes + 2].into();
        }))
    }
}

impl<A: Assist> Lone<A> {
    pub fn border_with(adapt: impl FnOnce(&mut NodeConfig), assist: A) -> Self {
        Lone::around(assisted_node(1, 1_500, adapt, assist))
    }

    fn around(mut node: Node<Assisted<A>>) -> Self {
        for (prefix, len, via) in [
            (prefix(), 64, Via::OnLink),
            (Addr::UNSPECIFIED, 0, Via::Host),
        ] {
            node.add_route(Route { prefix, len, via }).unwrap();
        }
        let memory = LowpanMemory {
            slots: vec![Slot::EMPTY; 4].into(),
            bytes: vec![0; 4 * 1280].into(),
        };
        let mut neighbour = Lowpan::new(LowpanConfig::default(), memory);
        *neighbour.contexts_mut() = Contexts::with_prefix(prefix());
        Lone {
            now: Instant::from_millis(1_000),
            node,
            frames: Vec::new(),
            attempts: 0,
            deaf: false,
            busy: false,
            absent: BTreeSet::new(),
            promised: BTreeSet::new(),
            neighbour,
            dsn: 0,
            loaded: Vec::new(),
        }
    }

    pub fn host_sends(&mut self, packet: &[u8]) -> Result<(), DropReason> {
        self.node.input_packet(self.now, packet)
    }

    pub fn frames_of(&mut self, from: Address, to: Address, packet: &[u8]) -> Vec<Vec<u8>> {
        let slot = self.neighbour.allocate(packet.len()).expect("a slot");
        self.neighbour.packet_mut(slot).copy_from_slice(packet);
        self.neighbour.queue(self.now, slot, to);
        let mut frames = Vec::new();
        let mut payload = [0; 104];
        while let Some(out) =
            self.neighbour
                .next_frame(self.now, from, 104, &mut payload, &mut NoTransport)
        {
            self.dsn = self.dsn.wrapping_add(1);
            let header = FrameHeader {
                frame_type: FrameType::Data,
                security: false,
                frame_pending: false,
                ack_request: to != Address::BROADCAST,
                version: 1,
                dsn: self.dsn,
                dst_pan: Some(0x7270),
                dst: to,
                src_pan: Some(0x7270),
                src: from,
            };
            let mut frame = [0; 127];
            let mut cursor = Cursor::new(&mut frame);
            header.emit(&mut cursor).unwrap();
            cursor.put(&payload[..out.len]).unwrap();
            frames.push(cursor.written().to_vec());
            self.neighbour.on_frame_done(self.now, true);
            while self.neighbour.poll_event().is_some() {}
        }
        frames
    }

    pub fn link_sends(&mut self, from: u16, packet: &[u8]) {
        self.link_sends_to(from, Address::Short(1), packet);
    }

    pub fn link_sends_to(&mut self, from: u16, to: Address, packet: &[u8]) {
        for frame in self.frames_of(Address::Short(from), to, packet) {
            self.node.input_frame(self.now, &frame, RxInfo::default());
        }
    }

    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.run(end, usize::MAX);
        self.now = self.now.max(end);
    }

    /// Runs until `count` more frames are sent and acknowledged, at most a second. Does not poll
    /// the node for another frame.
    pub fn run_frames(&mut self, count: usize) {
        self.run(self.now + Duration::from_secs(1), self.frames.len() + count);
    }

    fn run(&mut self, end: Instant, frames: usize) {
        loop {
            while self.frames.len() < frames {
                let Some(work) = self.node.poll_radio(self.now) else {
                    break;
                };
                let result = match work {
                    RadioWork::Load => {
                        self.loaded = self.node.frame().to_vec();
                        RadioResult::Loaded
                    }
                    RadioWork::Transmit { .. } => self.on_air(),
                    RadioWork::SourceMatch { neighbour, pending } => {
                        match pending {
                            true => self.promised.insert(neighbour),
                            false => self.promised.remove(&neighbour),
                        };
                        continue;
                    }
                    _ => continue,
                };
                self.node.on_radio_done(self.now, result);
            }
            match self.node.poll_at() {
                Some(wake) if wake.at <= end && self.frames.len() < frames => {
                    self.now = self.now.max(wake.at);
                    self.node.on_timeout(self.now);
                }
                _ => break,
            }
        }
    }

    fn on_air(&mut self) -> RadioResult {
        self.attempts += 1;
        if self.busy {
            return RadioResult::ChannelBusy;
        }
        let (header, payload) = FrameHeader::parse(&self.loaded).expect("a frame of ours");
        let is_absent = matches!(header.dst, Address::Short(it) if self.absent.contains(&it));
        if header.dst != Address::BROADCAST && self.deaf || is_absent {
            return RadioResult::NoAck;
        }
        self.frames.push((header.dst, payload.to_vec()));
        match header.dst {
            dst if dst.is_broadcast() => RadioResult::Sent,
            _ => RadioResult::Acked {
                frame_pending: false,
            },
        }
    }

    /// Takes the packets in the frames sent so far, reassembled.
    pub fn link_packets(&mut self) -> Vec<(Address, Vec<u8>)> {
        self.run_for(Duration::from_millis(900));
        let mut packets = Vec::new();
        for (dst, payload) in std::mem::take(&mut self.frames) {
            let arrived = self
                .neighbour
                .input(self.now, Address::Short(1), dst, &payload);
            if let Ok(Some(slot)) = arrived {
                packets.push((dst, self.neighbour.packet(slot).to_vec()));
                self.neighbour.release(slot);
            }
        }
        packets
    }

    pub fn host_packets(&mut self) -> Vec<Vec<u8>> {
        let mut out = [0; 1280];
        std::iter::from_fn(|| {
            let len = self.node.poll_packet(self.now, &mut out)?;
            Some(out[..len].to_vec())
        })
        .collect()
    }

    /// Asserts that the node sends no packet and that every datagram slot is free.
    pub fn assert_silent(&mut self, why: &str) {
        assert_eq!(self.link_packets(), [], "{why}: to the link");
        assert!(self.host_packets().is_empty(), "{why}: to the host");
        assert_eq!(self.node.lowpan().free_slots(), SLOTS, "{why}: slots");
    }

    pub fn dropped(&self, reason: DropReason) -> u32 {
        self.node.counters().dropped(reason)
    }
}
