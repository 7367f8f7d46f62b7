//! Fragments of 6LoWPAN, as far as they are more than a node's own (RFC 8930, RFC 8931).

use redpoll_base::Memory;
use redpoll_lowpan::{Fragments, Lowpan};

use crate::Node;
use crate::assist::Assist;
use crate::transports::StreamTransport;

impl<M: Memory + 'static, A: Assist, T: StreamTransport> Node<M, A, T> {
    /// How this node treats fragments, to be chosen before it starts: passing them on as
    /// they come, recovering them one by one. Each is a feature of `redpoll-lowpan`.
    pub fn fragments(&mut self) -> Fragments<'_, M> {
        self.link.lowpan.fragments()
    }

    /// Its 6LoWPAN, to look at.
    pub fn lowpan(&self) -> &Lowpan<M> {
        &self.link.lowpan
    }
}
