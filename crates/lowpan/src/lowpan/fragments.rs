//! Options of fragments, for a layer that contains 6LoWPAN.

#[cfg(feature = "forwarding")]
mod forward;
#[cfg(feature = "recovery")]
mod recover;

use redpoll_base::Memory;

use super::Lowpan;

/// Additional treatment of fragments by a 6LoWPAN: the features `forwarding` and `recovery`.
pub struct Fragments<'l, M: Memory>(
    #[allow(dead_code, reason = "some builds have no options")] &'l mut Lowpan<M>,
);

impl<M: Memory> Lowpan<M> {
    /// Returns the options of fragments.
    pub fn fragments(&mut self) -> Fragments<'_, M> {
        Fragments(self)
    }
}
