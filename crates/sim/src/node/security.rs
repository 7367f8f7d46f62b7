//! Link-layer security of simulated nodes.

use redpoll_mac::security::{
    Key, Refusal, Security, SecurityConfig, SecurityCounters, SecurityMemory, SoftwareAes,
};

use redpoll_mac::Access;

use super::{SimNode, bytes_of};
use crate::memory::HeapMemory;
use crate::scenario::{EUI64_PREFIX, NodeKey, Scenario};

/// Configures the security of node `index`, and returns its bytes. `counter_stored` is the last
/// stored value of its frame counter.
pub(super) fn secure(
    scenario: &Scenario,
    index: usize,
    counter_stored: u32,
    node: &mut SimNode<impl Access>,
) -> usize {
    let (Some(params), Some(spec)) = (scenario.security, scenario.nodes.get(index)) else {
        return 0;
    };
    let key = match spec.key {
        NodeKey::Network => params.key,
        NodeKey::Own(bytes) => Key::new(params.key.index(), bytes),
        NodeKey::None => return 0,
    };
    let memory = SecurityMemory {
        replay: vec![None; params.neighbours.into()].into(),
        names: Box::default(),
    };
    let bytes = bytes_of(&memory.replay);
    let config = SecurityConfig::new(params.level, key, &SoftwareAes, spec.eui64).with(|it| {
        it.eui64_prefix = Some(EUI64_PREFIX);
        it.counter_stored = counter_stored;
        it.counter_stretch = params.counter_stretch;
    });
    node.secure(config, memory);
    bytes
}

/// Returns the bytes of a node that it does not need without security.
pub(super) fn unused(scenario: &Scenario) -> usize {
    match scenario.security {
        Some(_) => 0,
        // The state of security, and two counters.
        None => size_of::<Option<Security<HeapMemory>>>() + size_of::<[u32; 2]>(),
    }
}

/// Returns the frame counter to store, if the node has one to store now.
pub(crate) fn store_counter(node: &mut SimNode) -> Option<u32> {
    let security = node.security_mut()?;
    let counter = security.poll_counter()?;
    security.on_counter_stored(counter);
    Some(counter)
}

/// Returns the numbers of refused frames, by the name of the reason.
pub(crate) fn refusals(counters: &SecurityCounters) -> impl Iterator<Item = (&'static str, u32)> {
    counters
        .refusals()
        .map(|(why, count): (Refusal, u32)| (why.name(), count))
}
