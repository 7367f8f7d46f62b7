//! Types that stand for features of the build. Without a feature, its type has no values, and the
//! compiler removes enum variants that contain the type, with their code.

#[cfg_attr(not(feature = "forwarding"), path = "feature/absent/forwarding.rs")]
pub(crate) mod forwarding;
#[cfg_attr(not(feature = "recovery"), path = "feature/absent/recovery.rs")]
pub(crate) mod recovery;

pub(crate) use forwarding::{FORWARDS, Forwards};
pub(crate) use recovery::{RECOVERS, Recovers};

/// Whether this build can wait between two fragments, so that a relay can forward the first one
/// before it receives the second.
pub(crate) const SPREADS_FRAGMENTS: bool = FORWARDS.is_some() || RECOVERS.is_some();
