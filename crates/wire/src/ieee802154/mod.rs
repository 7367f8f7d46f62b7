//! IEEE 802.15.4 frames: the MAC header, immediate acknowledgements, the frame
//! check sequence and the standard's timings at 2.4 GHz.
//!
//! Header versions 0 (2003) and 1 (2006) are read and written; version 2
//! (2015) is read where it has neither information elements nor a suppressed
//! sequence number. Section numbers are those of IEEE Std 802.15.4-2015.
//!
//! Not implemented here: security processing (a secured payload starts with the auxiliary header,
//! which has its own parser), and the contents of beacons and of commands other than the data
//! request.

mod address;
mod auxiliary;
mod fcs;
mod header;
#[cfg(test)]
mod tests;
pub mod timing;

pub use address::Address;
pub use auxiliary::{AuxiliaryHeader, KeyIdentifier, SecurityLevel};
pub use fcs::fcs;
pub use header::{DATA_REQUEST, FrameHeader, FrameType, imm_ack, set_frame_pending, set_security};

/// The PAN id that every PAN accepts (§7.2.6).
pub const BROADCAST_PAN: u16 = 0xffff;
/// Bytes of the frame check sequence at the end of every frame (§7.2.10).
pub const FCS_LEN: usize = 2;
