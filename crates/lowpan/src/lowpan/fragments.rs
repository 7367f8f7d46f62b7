//! Lets the owner of a `Lowpan` start the optional mechanisms for fragments.

#[cfg(feature = "forwarding")]
mod forward;
#[cfg(feature = "recovery")]
mod recover;

use redpoll_base::Memory;

use super::Lowpan;

/// Starts the optional mechanisms for fragments: the features `forwarding` and `recovery`.
pub struct Fragments<'l, M: Memory>(
    #[allow(
        dead_code,
        reason = "unused in builds without the features `forwarding` and `recovery`"
    )]
    &'l mut Lowpan<M>,
);

impl<M: Memory> Lowpan<M> {
    /// Returns access to the optional mechanisms for fragments.
    pub fn fragments(&mut self) -> Fragments<'_, M> {
        Fragments(self)
    }
}
