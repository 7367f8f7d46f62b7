//! Assistants of a simulated node, which process the packets that it forwards, and multicast.

use redpoll_assist::cache::{Cache, FlowSlot, HeldSlot, Memory};
use redpoll_assist::multicast::{self, GroupSlot, MessageSlot, Multicast, SeedSlot};
use redpoll_base::{Addr, Instant, Wake, earliest};
use redpoll_rivals::uip::forwarding::Forwarded;
use redpoll_stack::DropReason;
use redpoll_stack::assist::{Assist, Disposition, Passing, ToGroup};

use super::Birth;
use crate::kernel::Seed;
use crate::memory::{HeapMemory, buffer};
use crate::scenario::{Role, Scenario};

/// All CoAP Nodes, with realm-local and site-local scope (RFC 7252 §12.8, RFC 7346), which the
/// border router lets into the mesh.
const ALL_COAP_NODES: [Addr; 2] = [all_coap_nodes(3), all_coap_nodes(5)];

pub(crate) const fn all_coap_nodes(scope: u8) -> Addr {
    Addr([0xff, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd])
}

/// Assistants of a node, `None` if the node has no such assistant. Forwarded packets pass the
/// duplicate check of uIP's routers, then the segment cache.
#[derive(Debug, Default)]
pub struct Helper {
    forwarded: Option<Box<Forwarded>>,
    cache: Option<Box<Cache<HeapMemory>>>,
    groups: Option<Box<Multicast<HeapMemory>>>,
}

impl Helper {
    pub(crate) fn of(
        scenario: &Scenario,
        (seed, birth): (Seed, Birth),
        index: usize,
    ) -> (Helper, usize) {
        let forwarded = scenario.uip_forwarding.then(Box::<Forwarded>::default);
        let bytes = forwarded.as_ref().map_or(0, |it| size_of_val(&**it));
        let (cache, more) = cache(scenario, seed, index).unzip();
        let (groups, of_groups) = groups(scenario, (seed, birth), index).unzip();
        let bytes = bytes + more.unwrap_or(0) + of_groups.unwrap_or(0);
        let helper = Helper {
            forwarded,
            cache,
            groups,
        };
        (helper, bytes)
    }

    pub fn cache(&self) -> Option<&Cache<HeapMemory>> {
        self.cache.as_deref()
    }

    pub fn groups(&self) -> Option<&Multicast<HeapMemory>> {
        self.groups.as_deref()
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

fn groups(
    scenario: &Scenario,
    (seed, birth): (Seed, Birth),
    index: usize,
) -> Option<(Box<Multicast<HeapMemory>>, usize)> {
    let spec = scenario.multicast.as_ref()?;
    let role = scenario.nodes.get(index)?.role;
    let bytes = usize::from(spec.messages) * usize::from(spec.message_bytes);
    let memory: multicast::Memory<HeapMemory> = multicast::Memory {
        groups: vec![GroupSlot::EMPTY; spec.groups.into()].into(),
        seeds: vec![SeedSlot::EMPTY; spec.seeds.into()].into(),
        messages: vec![MessageSlot::EMPTY; spec.messages.into()].into(),
        bytes: buffer(bytes),
    };
    let tables =
        size_of_val(&*memory.groups) + size_of_val(&*memory.seeds) + size_of_val(&*memory.messages);
    let params = spec.params.with(|it| {
        it.host_is_far = false;
        if role == Role::Leaf {
            it.expirations = 0;
        }
    });
    let mut groups = Multicast::new(params, birth.stream(seed, "multicast", index), memory);
    if role == Role::Border {
        for group in &ALL_COAP_NODES {
            groups.let_in(group);
        }
    }
    let taken = tables + bytes + size_of_val(&groups);
    Some((Box::new(groups), taken))
}

impl Assist for Helper {
    const GROUPS: bool = true;

    fn on_group(
        &mut self,
        now: Instant,
        packet: &mut ToGroup<'_>,
    ) -> Result<Option<usize>, DropReason> {
        let groups = self.groups.as_mut().ok_or(DropReason::NoRoute)?;
        groups.on_group(now, packet)
    }

    fn set_member(&mut self, group: &Addr, joins: bool) -> bool {
        let groups = self.groups.as_mut();
        groups.is_some_and(|groups| groups.set_member(group, joins))
    }

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
        let cached = self.cache.as_mut().and_then(|it| it.poll_packet(now, out));
        cached.or_else(|| self.groups.as_mut()?.poll_packet(now, out))
    }

    fn on_no_room(&mut self, now: Instant) {
        if let Some(cache) = &mut self.cache {
            cache.on_no_room(now);
        }
        if let Some(groups) = &mut self.groups {
            groups.on_no_room(now);
        }
    }

    fn poll_at(&self) -> Option<Wake> {
        let cache = self.cache.as_ref().and_then(|cache| cache.poll_at());
        let groups = self.groups.as_ref().and_then(|groups| groups.poll_at());
        earliest(cache, groups)
    }
}
