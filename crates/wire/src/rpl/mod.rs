//! RPL (RFC 6550): its control messages and their options, the option that data packets carry
//! (`information.rs`, RFC 6553) and the source routing header (`source_route.rs`, RFC 6554).
//!
//! A control message is an ICMPv6 message of type [`MESSAGE_TYPE`]; [`Message`] is the part
//! after type, code and checksum. Not implemented: secured messages (RFC 6550 §6.1) and
//! consistency checks (§6.6), which need link-independent keys; P2P-RPL.

mod information;
mod message;
mod option;
mod source_route;
#[cfg(test)]
mod tests;

pub use information::{PacketInformation, is_option};
pub use message::{Dao, DaoAck, Dio, Message, parse_dis, status};
pub use option::{
    Configuration, Options, PrefixInformation, RplOption, TargetOption, Transit, config_flag,
};
pub use source_route::{Advance, SourceRoute, advance, has_source_route, srh_len};

use redpoll_base::Addr;

use crate::{Cursor, NoRoom};

/// Writes `bytes`. Control messages are rare, so this function is not inlined: inlined copies would
/// be most of the code of the functions that call it.
#[inline(never)]
fn put(out: &mut Cursor<'_>, bytes: &[u8]) -> Result<(), NoRoom> {
    out.put(bytes)
}

/// The ICMPv6 type of RPL's control messages (RFC 6550 §6).
pub const MESSAGE_TYPE: u8 = crate::icmpv6::message_type::RPL;
/// The group of all RPL nodes on a link (RFC 6550 §6).
pub const ALL_NODES: Addr = Addr([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a]);
/// INFINITE_RANK (RFC 6550 §17).
pub const INFINITE_RANK: u16 = 0xffff;
/// RPL_DEFAULT_INSTANCE (RFC 6550 §17).
pub const DEFAULT_INSTANCE: u8 = 0;

/// A lollipop counter (RFC 6550 §7.2), with the rules of the TID of RFC 8505 §5.2.1.
pub use crate::icmpv6::nd::Tid as Sequence;

/// Codes of the control messages (RFC 6550 §6).
pub mod code {
    /// DODAG Information Solicitation.
    pub const DIS: u8 = 0;
    /// DODAG Information Object.
    pub const DIO: u8 = 1;
    /// Destination Advertisement Object.
    pub const DAO: u8 = 2;
    /// Acknowledgement of a DAO.
    pub const DAO_ACK: u8 = 3;
}

/// Modes of operation (RFC 6550 §6.3.1).
pub mod mode {
    /// The root stores the downward routes, and writes them into packets.
    pub const NON_STORING: u8 = 1;
    /// Every router stores downward routes; no multicast.
    pub const STORING: u8 = 2;
}

/// Objective code points (RFC 6552 §8, RFC 6719 §8).
pub mod objective {
    /// Objective function zero.
    pub const OF0: u16 = 0;
    /// Minimum rank with hysteresis.
    pub const MRHOF: u16 = 1;
}
