//! The MAC header (IEEE 802.15.4-2015 §7.2).

use super::{Address, BROADCAST_PAN};
use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};

/// The purpose of a frame (§7.2.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum FrameType {
    /// A coordinator's beacon.
    Beacon,
    /// Payload for the layer above.
    #[default]
    Data,
    /// An acknowledgement.
    Ack,
    /// A MAC command.
    Command,
}

impl FrameType {
    const fn bits(self) -> u16 {
        match self {
            FrameType::Beacon => 0,
            FrameType::Data => 1,
            FrameType::Ack => 2,
            FrameType::Command => 3,
        }
    }

    const fn from_bits(bits: u16) -> Result<Self, Error> {
        match bits & 0b111 {
            0 => Ok(FrameType::Beacon),
            1 => Ok(FrameType::Data),
            2 => Ok(FrameType::Ack),
            3 => Ok(FrameType::Command),
            // Multipurpose, fragment and extended frames have other headers.
            5..=7 => Err(Error::Unsupported),
            _ => Err(Error::Reserved),
        }
    }
}

/// Bits of the frame control field (§7.2.1).
mod control {
    pub const SECURITY: u16 = 1 << 3;
    pub const FRAME_PENDING: u16 = 1 << 4;
    pub const ACK_REQUEST: u16 = 1 << 5;
    pub const PAN_ID_COMPRESSION: u16 = 1 << 6;
    pub const SEQUENCE_SUPPRESSED: u16 = 1 << 8;
    pub const IE_PRESENT: u16 = 1 << 9;
    pub const DST_MODE_SHIFT: u32 = 10;
    pub const VERSION_SHIFT: u32 = 12;
    pub const SRC_MODE_SHIFT: u32 = 14;
}

/// The header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameHeader {
    /// The purpose of the frame.
    pub frame_type: FrameType,
    /// Whether the payload starts with an auxiliary security header.
    pub security: bool,
    /// Whether the sender has more frames for the receiver.
    pub frame_pending: bool,
    /// Whether the sender requests an acknowledgement.
    pub ack_request: bool,
    /// Frame version, 0 to 2. [`FrameHeader::emit`] writes 2 as 1.
    pub version: u8,
    /// Data sequence number.
    pub dsn: u8,
    /// The receiver's PAN.
    pub dst_pan: Option<u16>,
    /// The receiver.
    pub dst: Address,
    /// The sender's PAN; if the frame elides it, the receiver's PAN.
    pub src_pan: Option<u16>,
    /// The sender.
    pub src: Address,
}

impl FrameHeader {
    /// Parses a frame without its check sequence; returns the header and the payload.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Reserved`] for reserved frame types, versions and addressing
    /// modes, and for PAN ID compression with one address in versions 0 and 1;
    /// [`Error::Unsupported`] for multipurpose, fragment and extended frames, and for frames of
    /// version 2 with information elements or without a sequence number.
    pub fn parse(frame: &[u8]) -> Result<(FrameHeader, &[u8]), Error> {
        let mut input = Reader::new(frame);
        let fcf = input.u16_le()?;
        let frame_type = FrameType::from_bits(fcf)?;
        let version = (fcf >> control::VERSION_SHIFT & 0b11) as u8;
        match version {
            0 | 1 => {}
            2 if fcf & (control::SEQUENCE_SUPPRESSED | control::IE_PRESENT) == 0 => {}
            2 => return Err(Error::Unsupported),
            _ => return Err(Error::Reserved),
        }
        let dsn = input.u8()?;
        let dst_mode = fcf >> control::DST_MODE_SHIFT & 0b11;
        let src_mode = fcf >> control::SRC_MODE_SHIFT & 0b11;
        let compression = fcf & control::PAN_ID_COMPRESSION != 0;
        let pans = PanFields::of(version, compression, dst_mode, src_mode)?;
        let dst_pan = pans.dst.then(|| input.u16_le()).transpose()?;
        let dst = Address::read(dst_mode, &mut input)?;
        let src_pan = pans.src.then(|| input.u16_le()).transpose()?;
        let src = Address::read(src_mode, &mut input)?;
        let header = FrameHeader {
            frame_type,
            security: fcf & control::SECURITY != 0,
            frame_pending: fcf & control::FRAME_PENDING != 0,
            ack_request: fcf & control::ACK_REQUEST != 0,
            version,
            dsn,
            dst_pan,
            dst,
            src_pan: src_pan.or(if src.is_empty() { None } else { dst_pan }),
            src,
        };
        Ok((header, input.rest()))
    }

    /// Writes the header in the format of versions 0 and 1. If both addresses are present, the
    /// sender's PAN ID is elided when it is `None` or equals the receiver's. A required PAN ID that
    /// is `None` is written as [`BROADCAST_PAN`].
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        // Writes all or nothing, like every `put`.
        if out.remaining() < self.len() {
            return Err(NoRoom);
        }
        let flag = |set: bool, bit: u16| if set { bit } else { 0 };
        let fcf = self.frame_type.bits()
            | flag(self.security, control::SECURITY)
            | flag(self.frame_pending, control::FRAME_PENDING)
            | flag(self.ack_request, control::ACK_REQUEST)
            | flag(self.compresses_pan(), control::PAN_ID_COMPRESSION)
            | self.dst.mode() << control::DST_MODE_SHIFT
            | u16::from(self.version.min(1)) << control::VERSION_SHIFT
            | self.src.mode() << control::SRC_MODE_SHIFT;
        out.put_u16_le(fcf)?;
        out.put_u8(self.dsn)?;
        if !self.dst.is_empty() {
            out.put_u16_le(self.dst_pan.unwrap_or(BROADCAST_PAN))?;
            self.dst.emit(out)?;
        }
        if !self.src.is_empty() {
            if !self.compresses_pan() {
                out.put_u16_le(self.src_pan.unwrap_or(BROADCAST_PAN))?;
            }
            self.src.emit(out)?;
        }
        Ok(())
    }

    /// Returns the number of bytes that [`FrameHeader::emit`] writes: 3 to 23.
    pub const fn len(&self) -> usize {
        let dst_pan = if self.dst.is_empty() { 0 } else { 2 };
        let src_pan = if self.src.is_empty() || self.compresses_pan() {
            0
        } else {
            2
        };
        3usize
            .saturating_add(dst_pan)
            .saturating_add(self.dst.len())
            .saturating_add(src_pan)
            .saturating_add(self.src.len())
    }

    /// Returns `false`: a header is never empty.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns whether to elide the sender's PAN ID: both addresses present, PANs equal (§7.2.1.5).
    const fn compresses_pan(&self) -> bool {
        !self.dst.is_empty()
            && !self.src.is_empty()
            && match (self.dst_pan, self.src_pan) {
                (_, None) => true,
                (Some(dst), Some(src)) => dst == src,
                (None, Some(src)) => src == BROADCAST_PAN,
            }
    }
}

/// The PAN IDs that a header has (§7.2.1.5, Table 7-2).
struct PanFields {
    dst: bool,
    src: bool,
}

impl PanFields {
    fn of(version: u8, compression: bool, dst: u16, src: u16) -> Result<PanFields, Error> {
        const ABSENT: u16 = 0b00;
        const EXTENDED: u16 = 0b11;
        let fields = |dst, src| Ok(PanFields { dst, src });
        match (version, dst, src) {
            // Frame versions 0 and 1 permit PAN ID compression only with both addresses present.
            (0 | 1, ABSENT, _) | (0 | 1, _, ABSENT) if compression => Err(Error::Reserved),
            (0 | 1, _, _) => fields(dst != ABSENT, src != ABSENT && !compression),
            (_, ABSENT, ABSENT) => fields(compression, false),
            (_, _, ABSENT) => fields(!compression, false),
            (_, ABSENT, _) => fields(false, !compression),
            (_, EXTENDED, EXTENDED) => fields(!compression, false),
            (_, _, _) => fields(true, !compression),
        }
    }
}

/// Command identifier of a data request, the only payload of its MAC command frame: a child
/// requests waiting frames from its parent (§7.5.5).
pub const DATA_REQUEST: u8 = 0x04;

/// Sets the frame-pending bit of an emitted frame (§7.2.2.4): the sender has more for the receiver.
pub fn set_frame_pending(frame: &mut [u8]) {
    if let Some(low) = frame.first_mut() {
        *low |= control::FRAME_PENDING.to_le_bytes()[0];
    }
}

/// Sets or clears the security-enabled bit of an emitted frame (§7.2.2.2), which states that an
/// auxiliary security header follows the MAC header.
pub fn set_security(frame: &mut [u8], enabled: bool) {
    let bit = control::SECURITY.to_le_bytes()[0];
    if let Some(low) = frame.first_mut() {
        *low = if enabled { *low | bit } else { *low & !bit };
    }
}

/// Returns the immediate acknowledgement of frame `dsn`, without its check sequence (§7.3.3).
pub const fn imm_ack(dsn: u8, frame_pending: bool) -> [u8; 3] {
    let pending = if frame_pending {
        control::FRAME_PENDING
    } else {
        0
    };
    let [low, high] = (FrameType::Ack.bits() | pending).to_le_bytes();
    [low, high, dsn]
}
