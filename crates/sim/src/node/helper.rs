//! Assistants of a simulated node for the packets that it forwards.

use redpoll_assist::cache::{Cache, FlowSlot, HeldSlot, Memory};
use redpoll_base::{Instant, Wake};
use redpoll_rivals::uip::forwarding::Forwarded;
use redpoll_stack::assist::{Assist, Disposition, Passing};

use crate::kernel::Seed;
use crate::memory::{HeapMemory, buffer};
use crate::scenario::Scenario;

/// Assistants of a node in the order of use: the duplicate check of uIP's routers, then a cache of
/// segments, each if the node has it.
#[derive(Debug, Default)]
pub struct Helper {
    forwarded: Option<Box<Forwarded>>,
    cache: Option<Box<Cache<HeapMemory>>>,
}

impl Helper {
    pub(crate) fn of(scenario: &Scenario, seed: Seed, index: usize) -> (Helper, usize) {
        let forwarded = scenario.uip_forwarding.then(Box::<Forwarded>::default);
        let bytes = forwarded.as_ref().map_or(0, |it| size_of_val(&**it));
        let (cache, more) = cache(scenario, seed, index).unzip();
        (Helper { forwarded, cache }, bytes + more.unwrap_or(0))
    }

    pub fn cache(&self) -> Option<&Cache<HeapMemory>> {
        self.cache.as_deref()
    }
}

fn cache(scenario: &Scenario, seed: Seed, index: usize) -> Option<(Box<Cache<HeapMemory>>, usize)> {
    let params = scenario.cache.as_ref()?;
    if !params.on.contains(&index) {
        return None;
    }
    let (flows, packets) = (usize::from(params.flows), usize::from(params.packets));
    let bytes = packets * usize::from(params.packet_bytes);
    let memory: Memory<HeapMemory> = Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        held: vec![HeldSlot::EMPTY; packets].into(),
        bytes: buffer(bytes),
    };
    let tables = size_of_val(&*memory.flows) + size_of_val(&*memory.held);
    let rng = seed.node_stream("cache", index);
    let cache = Cache::new(params.params, rng, memory);
    let taken = tables + bytes + size_of_val(&cache);
    Some((Box::new(cache), taken))
}

impl Assist for Helper {
    fn on_forward(&mut self, now: Instant, packet: &mut Passing<'_>) -> Disposition {
        let header = packet.header;
        if let Some(forwarded) = &mut self.forwarded
            && forwarded.drops(header.src, header.dst, header.flow_label)
        {
            return Disposition::Keep;
        }
        match &mut self.cache {
            Some(cache) => Assist::on_forward(&mut **cache, now, packet),
            None => Disposition::Forward,
        }
    }

    fn on_heard(&mut self, now: Instant, passing: Option<&[u8]>) {
        if let Some(cache) = &mut self.cache {
            cache.on_heard(now, passing);
        }
    }

    fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        self.cache.as_mut()?.poll_packet(now, out)
    }

    fn on_no_room(&mut self, now: Instant) {
        if let Some(cache) = &mut self.cache {
            cache.on_no_room(now);
        }
    }

    fn poll_at(&self) -> Option<Wake> {
        self.cache.as_ref()?.poll_at()
    }
}
