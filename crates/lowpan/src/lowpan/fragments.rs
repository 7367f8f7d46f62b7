//! Options of fragments, for a layer that contains 6LoWPAN.

use redpoll_base::Memory;

use super::Lowpan;
#[cfg(feature = "forwarding")]
use crate::ForwardingMemory;
#[cfg(feature = "recovery")]
use crate::{RecoveryConfig, RecoveryMemory};

/// How a 6LoWPAN treats fragments beyond its own: the features `forwarding` and `recovery`.
pub struct Fragments<'l, M: Memory>(
    #[cfg_attr(
        not(feature = "forwarding"),
        allow(dead_code, reason = "nothing to choose")
    )]
    &'l mut Lowpan<M>,
);

#[cfg(feature = "forwarding")]
impl<M: Memory> Fragments<'_, M> {
    /// [`Lowpan::forward_fragments`].
    pub fn forward(&mut self, memory: ForwardingMemory<M>) {
        self.0.forward_fragments(memory);
    }

    /// [`Lowpan::recover_fragments`].
    #[cfg(feature = "recovery")]
    pub fn recover(&mut self, config: RecoveryConfig, memory: RecoveryMemory<M>) {
        self.0.recover_fragments(config, memory);
    }
}

impl<M: Memory> Lowpan<M> {
    /// How fragments are treated, to be chosen.
    pub fn fragments(&mut self) -> Fragments<'_, M> {
        Fragments(self)
    }
}
