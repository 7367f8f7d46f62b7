//! The roles of a node on a radio.

/// `RP_LEAF`: its packets go to its parent, and none through it.
pub const LEAF: u8 = 0;
/// `RP_ROUTER`: it forwards.
pub const ROUTER: u8 = 1;
/// `RP_BORDER`: a router with a host side.
pub const BORDER: u8 = 2;
