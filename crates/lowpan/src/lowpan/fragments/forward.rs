//! Forwarding of fragments (RFC 8930), for a layer that contains 6LoWPAN.

use redpoll_base::Memory;

use super::Fragments;
use crate::{ForwardingMemory, Lowpan};

impl<M: Memory> Lowpan<M> {
    /// Forwards fragments as they arrive (RFC 8930) from now on, within this memory. Without it
    /// this node reassembles the datagrams that it forwards; its own can still pass relays that
    /// forward fragments.
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
