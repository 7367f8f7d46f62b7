//! Lets the owner of a `Lowpan` start the forwarding of fragments (RFC 8930).

use redpoll_base::Memory;

use super::Fragments;
use crate::{ForwardingMemory, Lowpan};

impl<M: Memory> Lowpan<M> {
    /// From now on, forwards fragments as they arrive (RFC 8930), within `memory`. Without this
    /// call, the node reassembles the datagrams that it forwards.
    pub fn forward_fragments(&mut self, memory: ForwardingMemory<M>) {
        const {
            assert!(
                M::ROUTES,
                "LeafMemory has no room to forward fragments: use StaticMemory"
            );
        }
        self.forwarding.begin(memory, self.reassembly.timeout());
    }
}

impl<M: Memory> Fragments<'_, M> {
    /// [`Lowpan::forward_fragments`].
    pub fn forward(&mut self, memory: ForwardingMemory<M>) {
        self.0.forward_fragments(memory);
    }
}
