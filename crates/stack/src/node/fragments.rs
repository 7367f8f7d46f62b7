//! Fragments of datagrams for others, forwarded as they come (RFC 8930), and
//! recovered one by one (RFC 8931).

use redpoll_base::Memory;
#[cfg(feature = "forwarding")]
use redpoll_lowpan::ForwardingMemory;
#[cfg(feature = "recovery")]
use redpoll_lowpan::{RecoveryConfig, RecoveryCounters, RecoveryMemory};

use crate::Node;
use crate::assist::Assist;
use crate::transports::StreamTransport;

impl<M: Memory + 'static, A: Assist, T: StreamTransport> Node<M, A, T> {
    /// From now on this router passes fragments on as they come, as far as the
    /// memory goes (RFC 8930); without it, it reassembles what it forwards.
    #[cfg(feature = "forwarding")]
    pub fn forward_fragments(&mut self, memory: ForwardingMemory<M>) {
        self.link.lowpan.forward_fragments(memory);
    }

    /// From now on this node sends its datagrams in fragments that are recovered
    /// one by one, and takes such from others (RFC 8931). All nodes of a mesh
    /// must; a router should also [forward fragments](Self::forward_fragments),
    /// else it joins what it passes on.
    #[cfg(feature = "recovery")]
    pub fn recover_fragments(&mut self, config: RecoveryConfig, memory: RecoveryMemory<M>) {
        self.link.lowpan.recover_fragments(config, memory);
    }

    /// What recovery has done so far.
    #[cfg(feature = "recovery")]
    pub fn recovery_counters(&self) -> RecoveryCounters {
        self.link.lowpan.recovery_counters()
    }
}
