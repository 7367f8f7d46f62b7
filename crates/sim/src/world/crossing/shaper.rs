//! TAiM, or fair queueing, between the mesh and the border router's host side.

use redpoll_assist::spare::Side;
use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Memory, Taim};
use redpoll_base::{Addr, Instant};

use crate::fair_queue::FairQueue;
use crate::kernel::{Secrets, Seed};
use crate::memory::HeapMemory;
use crate::report::{FairQueueFigures, TaimFigures};
use crate::scenario::{Scenario, TaimParams};

/// A packet between mesh and host.
pub(super) struct Packet {
    pub(super) to: Side,
    pub(super) bytes: Vec<u8>,
}

impl AsMut<Vec<u8>> for Packet {
    fn as_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

enum Rule {
    Taim(Box<Taim<HeapMemory, Packet>>),
    FairQueue(Box<FairQueue<Packet>>),
}

impl Rule {
    fn input(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        match self {
            Rule::Taim(taim) => {
                // A copy, because the call takes the packet and also needs its header.
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

pub(super) struct Shaper {
    rule: Rule,
    /// Address of the border router, whose own connections are not flows between mesh and host.
    own: Addr,
    wakes_at: Instant,
}

impl Shaper {
    pub(super) fn of(
        scenario: &Scenario,
        seed: Seed,
        secrets: &mut Secrets,
    ) -> Option<Box<Shaper>> {
        let own = scenario.address(scenario.border_router()?)?;
        let rule = match (&scenario.border.taim, &scenario.border.fair_queue) {
            (Some(spec), _) => Rule::Taim(Box::new(taim(spec, seed, secrets))),
            (None, Some(params)) => Rule::FairQueue(Box::new(FairQueue::new(*params))),
            (None, None) => return None,
        };
        Some(Box::new(Shaper {
            rule,
            own,
            wakes_at: Instant::FAR_FUTURE,
        }))
    }

    pub(super) fn input(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let ends = [packet.bytes.get(8..24), packet.bytes.get(24..40)];
        match ends.contains(&Some(&self.own.0[..])) {
            true => Some(packet),
            false => self.rule.input(now, packet),
        }
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Packet> {
        self.rule.poll(now)
    }

    /// Returns whether a scheduled call of the shaper is due; an earlier call may have replaced it.
    pub(super) fn wakes(&mut self, now: Instant) -> bool {
        let is_due = self.wakes_at <= now;
        if is_due {
            self.wakes_at = Instant::FAR_FUTURE;
        }
        is_due
    }

    /// Returns when to schedule a call of the shaper, unless an early enough call is scheduled.
    pub(super) fn next_call(&mut self, now: Instant) -> Option<Instant> {
        let at = self.rule.poll_at().filter(|at| *at < self.wakes_at)?;
        let at = at.max(now);
        self.wakes_at = at;
        Some(at)
    }

    pub(super) fn taim_figures(&self) -> Option<TaimFigures> {
        match &self.rule {
            Rule::Taim(taim) => {
                let waiting = taim.waiting_packets().into();
                Some(TaimFigures::of(taim.counters(), taim.delay_ns(), waiting))
            }
            Rule::FairQueue(_) => None,
        }
    }

    pub(super) fn fair_queue_figures(&self) -> Option<FairQueueFigures> {
        match &self.rule {
            Rule::Taim(_) => None,
            Rule::FairQueue(queue) => {
                let waiting = queue.waiting() as u64;
                Some(FairQueueFigures::of(queue.counters(), waiting))
            }
        }
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
