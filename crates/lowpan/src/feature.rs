//! What a node can do by a feature, as types: a value of one is at hand only where the
//! feature is. A variant that holds one cannot be where it is not, and the compiler leaves
//! out what would be done with it.

/// Fragments pass through.
#[cfg(feature = "forwarding")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forwards;
#[cfg(not(feature = "forwarding"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forwards {}

/// Datagrams are sent in fragments that are recovered one by one.
#[cfg(feature = "recovery")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recovers;
#[cfg(not(feature = "recovery"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovers {}

/// Whether fragments may have to leave apart from one another, for those who pass them on.
pub(crate) const SPREADS_FRAGMENTS: bool = cfg!(any(feature = "forwarding", feature = "recovery"));
