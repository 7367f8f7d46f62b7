//! Options of fragments, for a layer that contains 6LoWPAN.

#[cfg(feature = "forwarding")]
mod forward;
#[cfg(feature = "recovery")]
mod recover;

use redpoll_base::Memory;

use super::Lowpan;

/// How a 6LoWPAN treats fragments beyond its own: the features `forwarding` and `recovery`.
pub struct Fragments<'l, M: Memory>(
    #[allow(dead_code, reason = "a build may have nothing to choose")] &'l mut Lowpan<M>,
);

impl<M: Memory> Lowpan<M> {
    /// How fragments are treated, to be chosen.
    pub fn fragments(&mut self) -> Fragments<'_, M> {
        Fragments(self)
    }
}
