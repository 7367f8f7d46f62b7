//! Link-layer security of simulated nodes.

use std::cell::RefCell;

use redpoll_mac::security::{
    CcmStar, CipherFault, Key, Security, SecurityConfig, SecurityMemory, SoftwareAes,
};

use redpoll_mac::{Access, FrameBuf};

use super::SimNode;
use super::tables::bytes_of;
use crate::memory::HeapMemory;
use crate::scenario::{EUI64_PREFIX, NodeKey, Scenario};

/// Configures the security of node `index`, and returns the bytes of its replay table.
/// `counter_stored` is the last stored value of its frame counter.
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
        NodeKey::Own(bytes) => Key::new(params.key.index, bytes),
        NodeKey::None => return 0,
    };
    let memory = SecurityMemory {
        replay: vec![None; params.neighbours.into()].into(),
        names: Default::default(),
    };
    let bytes = bytes_of(&memory.replay);
    let config = SecurityConfig::new(params.level, key, &ObservedAes, spec.eui64).with(|it| {
        it.eui64_prefix = Some(EUI64_PREFIX);
        it.counter_stored = counter_stored;
        it.counter_stretch = params.counter_stretch;
    });
    node.secure(config, memory);
    bytes
}

/// An encrypted frame, as the simulator sees it.
pub(crate) struct Sealed {
    /// The payload before encryption.
    pub(crate) payload: FrameBuf,
    /// The frame counter in the nonce.
    pub(crate) counter: u32,
}

thread_local! {
    /// The latest frame that a node of this thread has encrypted, until it is taken.
    static SEALED: RefCell<Option<Sealed>> = const { RefCell::new(None) };
}

/// The cipher of simulated nodes, which shows the simulator each frame's payload before encryption.
struct ObservedAes;

impl CcmStar for ObservedAes {
    fn seal(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &mut [u8],
    ) -> Result<(), CipherFault> {
        let mut payload = FrameBuf::new();
        if payload.copy_from(message).is_ok() {
            // The nonce consists of source address, frame counter and security level (IEEE
            // 802.15.4-2015 §9.3.3.1).
            let [.., a, b, c, d, _] = *nonce;
            let counter = u32::from_be_bytes([a, b, c, d]);
            SEALED.set(Some(Sealed { payload, counter }));
        }
        SoftwareAes.seal(key, nonce, open, message, mic)
    }

    fn open(
        &self,
        key: &[u8; 16],
        nonce: &[u8; 13],
        open: &[u8],
        message: &mut [u8],
        mic: &[u8],
    ) -> bool {
        SoftwareAes.open(key, nonce, open, message, mic)
    }
}

/// Takes the frame that `node` encrypted in its latest call, if any.
pub(crate) fn take_sealed(node: &SimNode) -> Option<Sealed> {
    node.security()?;
    SEALED.take()
}

/// Returns how many bytes of a node's memory are unused because it has no security.
pub(super) fn unused(scenario: &Scenario) -> usize {
    match scenario.security {
        Some(_) => 0,
        // The state of link-layer security and two counters are unused.
        None => size_of::<Option<Security<HeapMemory>>>() + size_of::<[u32; 2]>(),
    }
}

pub(crate) fn store_counter(node: &mut SimNode) -> Option<u32> {
    let security = node.security_mut()?;
    let counter = security.poll_counter()?;
    security.on_counter_stored(counter);
    Some(counter)
}
