//! Memory of RPL for one neighbour, which takes no bytes in a library without RPL.

#[cfg(feature = "rpl")]
use redpoll_stack::RplNeighbour;

/// Whether the library has RPL.
#[cfg(feature = "radio")]
pub(crate) const AVAILABLE: bool = cfg!(feature = "rpl");

/// Memory for one neighbour.
#[cfg(feature = "rpl")]
pub(crate) type Candidate = Option<RplNeighbour>;
#[cfg(not(feature = "rpl"))]
pub(crate) type Candidate = ();

/// Memory that holds no neighbour yet.
#[cfg(feature = "rpl")]
pub(crate) const NO_CANDIDATE: Candidate = None;
#[cfg(not(feature = "rpl"))]
pub(crate) const NO_CANDIDATE: Candidate = ();
