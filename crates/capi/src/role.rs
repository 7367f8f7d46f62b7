//! The roles of a node on a radio.

/// `RP_LEAF`: a node that sends its packets to its parent, and forwards no packets of other nodes.
pub const LEAF: u8 = 0;
/// `RP_ROUTER`: a node that forwards packets of other nodes.
pub const ROUTER: u8 = 1;
/// `RP_BORDER`: a router with a host side.
pub const BORDER: u8 = 2;
