//! Configuration of the optional treatment of 6LoWPAN fragments (RFC 8930, RFC 8931).

use redpoll_lowpan::{Fragments, Lowpan};

use crate::Node;
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// Returns the optional treatment of fragments, to be chosen before the node starts: forwarding
    /// them as they arrive, and recovering single ones. Each is a feature of `redpoll-lowpan`.
    pub fn fragments(&mut self) -> Fragments<'_, P::Memory> {
        self.link.lowpan.fragments()
    }

    /// Returns the node's 6LoWPAN, with its counters and the number of free datagram slots: all of
    /// them when the node is idle.
    pub fn lowpan(&self) -> &Lowpan<P::Memory> {
        &self.link.lowpan
    }
}
