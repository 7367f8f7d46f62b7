//! Fragments of 6LoWPAN, as far as they are more than a node's own (RFC 8930, RFC 8931).

use redpoll_lowpan::{Fragments, Lowpan};

use crate::Node;
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// How this node treats fragments, to be chosen before it starts: passing them on as
    /// they come, recovering them one by one. Each is a feature of `redpoll-lowpan`.
    pub fn fragments(&mut self) -> Fragments<'_, P::Memory> {
        self.link.lowpan.fragments()
    }

    /// Its 6LoWPAN, to look at.
    pub fn lowpan(&self) -> &Lowpan<P::Memory> {
        &self.link.lowpan
    }
}
