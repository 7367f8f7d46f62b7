//! TAiM with few flows and short queues, for every sequence of arriving packets, times at which
//! packets may leave, and requests to empty the queues.
//!
//! In every state, each packet has left at most once, and the packets of a flow leave in the order
//! of arrival. From every state, without further packets, every packet leaves within a bound.

use std::collections::VecDeque;

use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Memory, Params, Policy, Taim};
use redpoll_base::{Duration, Instant};

use crate::{Model, hash_of};

/// Number of connections. Each one is established before the exploration starts.
const FLOWS: u8 = 3;
/// Number of slots for waiting packets; `FLOW_QUEUE` is the largest number for one flow.
const QUEUE: usize = 4;
const FLOW_QUEUE: u32 = 2;
/// Longest waiting time of a packet (TAiM's parameter `max_wait`).
const MAX_WAIT: Duration = Duration::from_secs(2);

enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

/// An event at the border router.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// The next packet of this flow arrives.
    Packet(u8),
    /// Time passes until the next timer of TAiM, and packets leave.
    Wait,
    /// 170 ms pass, and packets leave.
    Pause,
    /// The caller takes one packet from the queues, as when it empties them.
    Take,
}

/// A defect of the code that calls TAiM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// The caller forwards a packet at once although TAiM makes the packet wait.
    Twice,
    /// The caller swaps the handles of each two consecutive packets of a flow.
    Swapped,
    /// The caller never polls.
    Silent,
}

/// The model.
pub struct TaimModel {
    /// The rule for the order and the release times of packets.
    pub policy: Policy,
    /// The planted defect.
    pub defect: Option<Defect>,
}

/// A packet: its flow, and its number in the flow.
type Handle = (u8, u32);

/// TAiM and the reference.
pub struct World {
    taim: Taim<Heap, Handle>,
    now: Instant,
    /// Number of packets of each flow that have arrived.
    arrived: [u32; FLOWS as usize],
    /// Packets of each flow that have not left, in the order of arrival.
    inside: [VecDeque<u32>; FLOWS as usize],
    /// The actions so far, which determine the state of TAiM.
    path: Vec<u8>,
}

/// Returns a TCP segment over IPv6 between a node of the mesh and a host.
fn packet(flow: u8, is_up: bool, seq: u32, ack: u32, text: usize) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 20 + text as u8, 6, 64];
    let mut ends = [[flow, 1], [99, 2]];
    if !is_up {
        ends.reverse();
    }
    for [last, _] in ends {
        bytes.extend([0xfd; 15]);
        bytes.push(last);
    }
    for [_, port] in ends {
        bytes.extend([0, port]);
    }
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, 0x10, 4, 0, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + text, 0);
    bytes
}

impl World {
    fn leaves(&mut self, (flow, number): Handle) -> Result<(), String> {
        let inside = &mut self.inside[usize::from(flow)];
        match inside.pop_front() {
            Some(first) if first == number => Ok(()),
            first => Err(format!(
                "TAiM forwards packet {number} of flow {flow} instead of packet {first:?}"
            )),
        }
    }

    fn arrive(&mut self, flow: u8, defect: Option<Defect>) -> Result<(), String> {
        let number = self.arrived[usize::from(flow)];
        self.arrived[usize::from(flow)] += 1;
        self.inside[usize::from(flow)].push_back(number);
        let bytes = packet(flow, true, 1_021 + number * 20, 2_021, 20);
        let handle = match defect {
            Some(Defect::Swapped) => (flow, number ^ 1),
            _ => (flow, number),
        };
        match self.taim.input(self.now, &bytes, handle) {
            Input::Wait if defect == Some(Defect::Twice) => self.leaves(handle),
            Input::Wait => Ok(()),
            Input::Pass(other) | Input::WaitInstead(other) => self.leaves(other),
        }
    }

    fn poll(&mut self) -> Result<(), String> {
        while let Some(released) = self.taim.poll(self.now) {
            self.leaves(released.handle)?;
        }
        Ok(())
    }

    fn waiting(&self) -> usize {
        self.inside.iter().map(VecDeque::len).sum()
    }
}

impl Model for TaimModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        let memory = Memory::<Heap, Handle> {
            flows: vec![FlowSlot::EMPTY; 8].into(),
            index: vec![0; 16].into(),
            schedule: vec![0; 8].into(),
            held: (0..QUEUE).map(|_| HeldSlot::EMPTY).collect(),
        };
        let params = Params {
            policy: self.policy,
            flow_packets: FLOW_QUEUE,
            max_wait: Some(MAX_WAIT),
            ..Params::default()
        };
        let mut world = World {
            taim: Taim::new(params, [1, 2], memory),
            now: Instant::from_millis(1_000),
            arrived: [0; FLOWS as usize],
            inside: Default::default(),
            path: Vec::new(),
        };
        // Each end acknowledges text of the other, so TAiM regards the flows as confirmed.
        for flow in 0..FLOWS {
            for (is_up, seq, ack, text) in [
                (true, 1_001, 2_001, 20),
                (false, 2_001, 1_021, 20),
                (true, 1_021, 2_021, 0),
            ] {
                let bytes = packet(flow, is_up, seq, ack, text);
                let _ = world.taim.input(world.now, &bytes, (flow, u32::MAX));
                world.now += Duration::from_millis(40);
                while world.taim.poll(world.now).is_some() {}
            }
        }
        while world.taim.take(world.now).is_some() {}
        world
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions: Vec<_> = (0..FLOWS).map(Action::Packet).collect();
        actions.push(Action::Pause);
        if world.waiting() > 0 {
            actions.extend([Action::Wait, Action::Take]);
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        world.path.push(match action {
            Action::Packet(flow) => flow,
            Action::Wait => 100,
            Action::Pause => 101,
            Action::Take => 102,
        });
        match action {
            Action::Packet(flow) => world.arrive(flow, self.defect)?,
            Action::Wait => {
                let wake = world
                    .taim
                    .poll_at()
                    .ok_or("a packet waits, but no timer runs")?;
                world.now = world.now.max(wake.at);
                world.poll()?;
            }
            Action::Pause => {
                world.now += Duration::from_millis(170);
                world.poll()?;
            }
            Action::Take => {
                let handle = world.taim.take(world.now).ok_or("no packet to take")?;
                world.leaves(handle)?;
            }
        }
        let waiting = world.taim.waiting_packets() as usize;
        if waiting != world.waiting() || waiting > QUEUE {
            return Err(format!(
                "TAiM holds {waiting} packets instead of {}",
                world.waiting()
            ));
        }
        let longest = world.inside.iter().map(VecDeque::len).max();
        match longest > Some(FLOW_QUEUE as usize) {
            true => Err("TAiM holds more packets of a flow than allowed".to_owned()),
            false => Ok(()),
        }
    }

    /// Distinguishes states by their sequences of actions, because throughputs and times differ.
    fn key(&self, world: &World) -> u64 {
        hash_of(&world.path)
    }

    fn finish(&self, mut world: World) -> Result<(), String> {
        let limit = world.now + MAX_WAIT;
        while world.waiting() > 0 {
            let wake = world
                .taim
                .poll_at()
                .ok_or("a packet waits, but no timer runs")?;
            if wake.at > limit || self.defect == Some(Defect::Silent) {
                return Err(format!("{} packets still wait", world.waiting()));
            }
            world.now = world.now.max(wake.at);
            world.poll()?;
        }
        Ok(())
    }
}
