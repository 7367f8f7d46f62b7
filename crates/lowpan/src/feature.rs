//! Features of a node as types: a value of such a type exists only with the feature. Without it,
//! the compiler removes each variant that contains one, and its code.

#[cfg_attr(not(feature = "forwarding"), path = "feature/absent/forwarding.rs")]
pub(crate) mod forwarding;
#[cfg_attr(not(feature = "recovery"), path = "feature/absent/recovery.rs")]
pub(crate) mod recovery;

pub(crate) use forwarding::{FORWARDS, Forwards};
pub(crate) use recovery::{RECOVERS, Recovers};

/// Whether fragments may need gaps for the nodes that forward them.
pub(crate) const SPREADS_FRAGMENTS: bool = FORWARDS.is_some() || RECOVERS.is_some();
