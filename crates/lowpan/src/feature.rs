//! Features of a node as types: a value of such a type exists only with the feature. Without
//! it, the compiler removes each variant that contains one, and its code.

#[cfg(feature = "forwarding")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forwards;
#[cfg(not(feature = "forwarding"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forwards {}

#[cfg(feature = "recovery")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recovers;
#[cfg(not(feature = "recovery"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovers {}

/// Whether fragments may need gaps between them for the nodes that forward them.
pub(crate) const SPREADS_FRAGMENTS: bool = cfg!(any(feature = "forwarding", feature = "recovery"));
