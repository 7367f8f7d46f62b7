//! The filter for frames to this node (IEEE 802.15.4-2015 §6.7.2).

use redpoll_wire::ieee802154::{Address, BROADCAST_PAN, FrameHeader, FrameType};

use crate::MacConfig;

/// The highest accepted frame version. 0 and 1 are the editions of 2003 and 2006, 2 is that of
/// 2015. [`FrameHeader::parse`] rejects frames of version 2 with information elements or without a
/// sequence number; neither this MAC nor a radio in software acknowledges them.
const MAX_VERSION: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FilterResult {
    /// A data frame for this node; `acknowledge` it unless the radio has.
    Accept {
        acknowledge: bool,
    },
    /// A MAC command for this node; `acknowledge` it unless the radio has.
    Command {
        acknowledge: bool,
    },
    /// An acknowledgment, whose addressee only the sequence number identifies.
    Ack,
    OtherPan,
    NotForUs,
    Version,
    /// A frame for this node, which cannot use it. If `acknowledge`, the node still acknowledges
    /// the frame, so that its sender does not repeat it.
    Useless {
        why: Useless,
        acknowledge: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Useless {
    Secured,
    UnsupportedType,
    NoSource,
    ForeignSource,
}

pub(crate) fn judge(config: &MacConfig, header: &FrameHeader) -> FilterResult {
    if header.version > MAX_VERSION {
        return FilterResult::Version;
    }
    let broadcast = match header.frame_type {
        FrameType::Ack => return FilterResult::Ack,
        // A beacon has no destination and is not acknowledged.
        FrameType::Beacon => true,
        FrameType::Data | FrameType::Command => {
            // §6.7.2: an absent PAN identifier (version 2) is not compared.
            let is_other = match header.dst_pan {
                Some(pan) => pan != config.pan_id && pan != BROADCAST_PAN,
                None => header.version < MAX_VERSION,
            };
            if is_other {
                return FilterResult::OtherPan;
            }
            if !is_ours(config, header.dst) {
                return FilterResult::NotForUs;
            }
            header.dst == Address::BROADCAST
        }
    };
    // A broadcast is never acknowledged, whatever its request bit.
    let acknowledge = header.ack_request && !broadcast;
    let why = if header.security {
        Useless::Secured
    } else if header.frame_type == FrameType::Beacon {
        Useless::UnsupportedType
    } else if header.src == Address::Absent {
        Useless::NoSource
    } else if header.src_pan.is_some_and(|pan| pan != config.pan_id) {
        // The sender is in another PAN, so its short address may also belong to a node of this PAN.
        Useless::ForeignSource
    } else if header.frame_type == FrameType::Command {
        return FilterResult::Command { acknowledge };
    } else {
        return FilterResult::Accept { acknowledge };
    };
    FilterResult::Useless { why, acknowledge }
}

fn is_ours(config: &MacConfig, dst: Address) -> bool {
    match dst {
        _ if dst.is_broadcast() => true,
        Address::Short(short) => config.has_short() && short == config.short,
        Address::Extended(eui64) => eui64 == config.extended,
        Address::Absent => false,
    }
}

/// Returns whether a frame to `dst` requests an acknowledgment: all but broadcasts do.
pub(crate) fn asks_for_ack(dst: Address) -> bool {
    dst != Address::BROADCAST
}

#[cfg(test)]
mod tests;
