//! TAiM, or fair queueing, between the mesh and the border router's host side.

use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Memory, Taim};
use redpoll_base::{Addr, Instant};

use super::{Event, World};
use crate::fair_queue::FairQueue;
use crate::kernel::{Secrets, Seed};
use crate::memory::HeapMemory;
use crate::report::{FairQueueFigures, TaimFigures};
use crate::scenario::{Scenario, TaimParams};

/// A packet on its way between mesh and host.
struct Packet {
    into_mesh: bool,
    bytes: Vec<u8>,
}

impl AsMut<Vec<u8>> for Packet {
    fn as_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// Who decides when packets cross.
enum Rule {
    Taim(Box<Taim<HeapMemory, Packet>>),
    FairQueue(FairQueue<Packet>),
}

impl Rule {
    /// A packet comes; what is to cross at once.
    fn input(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        match self {
            Rule::Taim(taim) => {
                // The bytes go with the packet, which is read before.
                let header = packet.bytes.clone();
                match taim.input(now, &header, packet) {
                    Input::Pass(packet) | Input::WaitInstead(packet) => Some(packet),
                    Input::Wait => None,
                }
            }
            Rule::FairQueue(queue) => {
                queue.input(now, packet);
                None
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Packet> {
        match self {
            Rule::Taim(taim) => taim.poll(now).map(|released| released.handle),
            Rule::FairQueue(queue) => queue.poll(now),
        }
    }

    fn poll_at(&self) -> Option<Instant> {
        match self {
            Rule::Taim(taim) => taim.poll_at().map(|wake| wake.at),
            Rule::FairQueue(queue) => queue.poll_at(),
        }
    }
}

/// The rule, and when it is to be called.
pub(super) struct Crossing {
    rule: Rule,
    /// The border router's own address: its own connections are no flows between mesh
    /// and host.
    own: Addr,
    /// The earliest call in the queue of events.
    wakes_at: Instant,
}

impl Crossing {
    /// As the scenario says.
    pub(super) fn of(
        scenario: &Scenario,
        seed: Seed,
        secrets: &mut Secrets,
    ) -> Option<Box<Crossing>> {
        let own = scenario.address(scenario.border_router()?)?;
        let rule = match (&scenario.border.taim, &scenario.border.fair_queue) {
            (Some(spec), _) => Rule::Taim(Box::new(taim(spec, seed, secrets))),
            (None, Some(params)) => Rule::FairQueue(FairQueue::new(*params)),
            (None, None) => return None,
        };
        Some(Box::new(Crossing {
            rule,
            own,
            wakes_at: Instant::FAR_FUTURE,
        }))
    }

    fn is_own(&self, bytes: &[u8]) -> bool {
        [bytes.get(8..24), bytes.get(24..40)].contains(&Some(&self.own.0[..]))
    }
}

fn taim(spec: &TaimParams, seed: Seed, secrets: &mut Secrets) -> Taim<HeapMemory, Packet> {
    let (flows, packets) = (usize::from(spec.flows), usize::from(spec.packets));
    let key = u128::from_le_bytes(secrets.key(&mut seed.stream("taim")));
    let secret = [key as u32, (key >> 32) as u32];
    let memory = Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        index: vec![0; (2 * flows).next_power_of_two()].into(),
        schedule: vec![0; flows].into(),
        held: (0..packets).map(|_| HeldSlot::EMPTY).collect(),
    };
    Taim::new(spec.params, secret, memory)
}

impl World {
    /// A packet crosses the border, at once or later.
    pub(super) fn cross(&mut self, into_mesh: bool, bytes: Vec<u8>) {
        let now = self.now;
        let Some(crossing) = &mut self.taim else {
            return;
        };
        let packet = Packet { into_mesh, bytes };
        let leaves = match crossing.is_own(&packet.bytes) {
            true => Some(packet),
            false => crossing.rule.input(now, packet),
        };
        if let Some(packet) = leaves {
            self.has_crossed(packet);
        }
        self.release();
    }

    /// The time of a packet that waits may have come.
    pub(super) fn on_taim(&mut self) {
        let Some(crossing) = &mut self.taim else {
            return;
        };
        if crossing.wakes_at > self.now {
            // An earlier call has taken this one's place.
            return;
        }
        crossing.wakes_at = Instant::FAR_FUTURE;
        self.release();
    }

    /// What may leave leaves, and the next call is asked for.
    fn release(&mut self) {
        let now = self.now;
        while let Some(crossing) = &mut self.taim
            && let Some(packet) = crossing.rule.poll(now)
        {
            self.has_crossed(packet);
        }
        let Some(crossing) = &mut self.taim else {
            return;
        };
        if let Some(at) = crossing.rule.poll_at()
            && at < crossing.wakes_at
        {
            let at = at.max(now);
            crossing.wakes_at = at;
            self.queue.schedule(at, Event::Taim);
        }
    }

    fn has_crossed(&mut self, packet: Packet) {
        match packet.into_mesh {
            true => self.enter_mesh(&packet.bytes),
            false => self.leave_mesh(packet.bytes),
        }
    }

    /// What TAiM has done, if there is one.
    pub fn taim(&self) -> Option<TaimFigures> {
        match &self.taim.as_ref()?.rule {
            Rule::Taim(taim) => Some(TaimFigures::of(taim)),
            Rule::FairQueue(_) => None,
        }
    }

    /// What fair queueing has done, if it is there.
    pub fn fair_queue(&self) -> Option<FairQueueFigures> {
        match &self.taim.as_ref()?.rule {
            Rule::Taim(_) => None,
            Rule::FairQueue(queue) => Some(FairQueueFigures::of(queue.counters(), queue.waiting())),
        }
    }
}
