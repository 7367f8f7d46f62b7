//! The roles of a node on a radio.

/// `RP_LEAF`: it sends its packets to its parent, and forwards none.
pub const LEAF: u8 = 0;
/// `RP_ROUTER`: it forwards.
pub const ROUTER: u8 = 1;
/// `RP_BORDER`: a router with a host side.
pub const BORDER: u8 = 2;
