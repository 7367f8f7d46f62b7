//! The MAC header (IEEE 802.15.4-2015 §7.2), of all versions and frame types.
//!
//! - [`element`]: information elements;
//! - `show`: the header as a layer.

pub mod element;
mod show;

use redpoll_wire::ieee802154::Address;

use crate::layer::Bytes;
use element::Element;

/// Types of frames (§7.2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Beacon,
    Data,
    Ack,
    Command,
    Multipurpose,
    /// A reserved type, or a type that is not decoded.
    Other(u8),
}

/// The auxiliary security header (IEEE 802.15.4-2015 §9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auxiliary<'a> {
    pub control: u8,
    /// Frame counter; absent if the sender suppresses it.
    pub counter: Option<u32>,
    /// Key source in the byte order of the frame: 0, 4 or 8 bytes.
    pub source: &'a [u8],
    pub index: Option<u8>,
}

impl Auxiliary<'_> {
    /// Returns the security level, 0 to 7.
    pub fn level(&self) -> u8 {
        self.control & 0b111
    }

    /// Returns the key identifier mode, 0 to 3.
    pub fn key_mode(&self) -> u8 {
        self.control >> 3 & 0b11
    }

    pub fn encrypts(&self) -> bool {
        self.level() & 0b100 != 0
    }

    pub fn mic_len(&self) -> usize {
        match self.level() & 0b11 {
            0 => 0,
            1 => 4,
            2 => 8,
            _ => 16,
        }
    }

    /// Returns the name of the security level (IEEE 802.15.4-2015 §9.4.2.2, table 9-6).
    pub fn name(&self) -> &'static str {
        match self.level() {
            0 => "NONE",
            1 => "MIC-32",
            2 => "MIC-64",
            3 => "MIC-128",
            4 => "ENC",
            5 => "ENC-MIC-32",
            6 => "ENC-MIC-64",
            _ => "ENC-MIC-128",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Mac<'a> {
    pub kind: Kind,
    /// The frame control field; one byte in short multipurpose frames.
    pub control: u16,
    /// Frame version, 0 to 3.
    pub version: u8,
    pub security: bool,
    /// Frame Pending: whether the sender has more frames for the receiver.
    pub frame_pending: bool,
    pub ack_request: bool,
    /// PAN ID Compression; its effect in frame version 2 depends on the addressing modes (IEEE
    /// 802.15.4-2015 §7.2.2.6).
    pub pan_compression: bool,
    /// Sequence number; absent if the sender suppresses it.
    pub dsn: Option<u8>,
    pub dst_pan: Option<u16>,
    pub dst: Address,
    pub src_pan: Option<u16>,
    pub src: Address,
    pub aux: Option<Auxiliary<'a>>,
    pub elements: Vec<Element<'a>>,
    /// Payload information elements, unless they are encrypted.
    pub payload_elements: Vec<Element<'a>>,
    /// Bytes before the payload.
    pub header_len: usize,
    pub payload: &'a [u8],
    pub mic: &'a [u8],
    /// First problem that the parser found after the addressing fields, if any.
    pub problem: Option<&'static str>,
    has_payload_elements: bool,
}

mod bits {
    pub const SECURITY: u16 = 1 << 3;
    pub const PENDING: u16 = 1 << 4;
    pub const ACK_REQUEST: u16 = 1 << 5;
    pub const PAN_COMPRESSION: u16 = 1 << 6;
    pub const NO_SEQUENCE: u16 = 1 << 8;
    pub const ELEMENTS: u16 = 1 << 9;
}

/// Bits of the frame control field of multipurpose frames (IEEE 802.15.4-2015 §7.3.5).
mod multipurpose {
    pub const LONG: u16 = 1 << 3;
    pub const PAN: u16 = 1 << 8;
    pub const SECURITY: u16 = 1 << 9;
    pub const NO_SEQUENCE: u16 = 1 << 10;
    pub const PENDING: u16 = 1 << 11;
    pub const ACK_REQUEST: u16 = 1 << 14;
    pub const ELEMENTS: u16 = 1 << 15;
}

const CUT: &str = "truncated header";

impl<'a> Mac<'a> {
    /// Parses the header of a frame without check sequence. An error describes the problem: the
    /// frame is too short, or a header field has a reserved value.
    pub fn parse(mpdu: &'a [u8]) -> Result<Mac<'a>, &'static str> {
        let mut input = Bytes(mpdu);
        let low = input.u8().ok_or("empty")?;
        let kind = match low & 0b111 {
            0 => Kind::Beacon,
            1 => Kind::Data,
            2 => Kind::Ack,
            3 => Kind::Command,
            5 => Kind::Multipurpose,
            other => Kind::Other(other),
        };
        let mut mac = match kind {
            Kind::Multipurpose => Mac::multipurpose(low, &mut input)?,
            Kind::Other(_) => Mac::empty(kind, low.into()),
            _ => Mac::general(kind, low, &mut input)?,
        };
        let has_elements = mac.has_elements();
        if mac.security && mac.has_auxiliary() {
            mac.auxiliary(&mut input)?;
        }
        if has_elements {
            let read = element::header(&mut input);
            mac.elements = read.elements;
            mac.problem = mac.problem.or(read.problem);
            mac.has_payload_elements = read.payload_elements_follow;
        }
        mac.header_len = mpdu.len() - input.0.len();
        let rest = input.rest();
        let mic_len = mac.aux.map_or(0, |aux| aux.mic_len());
        match rest.len().checked_sub(mic_len) {
            Some(at) => (mac.payload, mac.mic) = rest.split_at(at),
            None => {
                mac.payload = rest;
                mac.problem = Some("the frame is too short for its message integrity code");
            }
        }
        if mac.is_readable() {
            mac.read_payload_elements();
        }
        Ok(mac)
    }

    fn empty(kind: Kind, control: u16) -> Mac<'a> {
        Mac {
            kind,
            control,
            version: 0,
            security: false,
            frame_pending: false,
            ack_request: false,
            pan_compression: false,
            dsn: None,
            dst_pan: None,
            dst: Address::Absent,
            src_pan: None,
            src: Address::Absent,
            aux: None,
            elements: Vec::new(),
            payload_elements: Vec::new(),
            header_len: 0,
            payload: &[],
            mic: &[],
            problem: None,
            has_payload_elements: false,
        }
    }

    fn general(kind: Kind, low: u8, input: &mut Bytes<'a>) -> Result<Mac<'a>, &'static str> {
        let control = u16::from_le_bytes([low, input.u8().ok_or(CUT)?]);
        let has = |bit: u16| control & bit != 0;
        let mut mac = Mac {
            version: (control >> 12 & 0b11) as u8,
            security: has(bits::SECURITY),
            frame_pending: has(bits::PENDING),
            ack_request: has(bits::ACK_REQUEST),
            pan_compression: has(bits::PAN_COMPRESSION),
            ..Mac::empty(kind, control)
        };
        if mac.version == 3 {
            return Err("frame version 3 is reserved");
        }
        if mac.version < 2 || !has(bits::NO_SEQUENCE) {
            mac.dsn = Some(input.u8().ok_or(CUT)?);
        }
        let (dst, src) = (control >> 10 & 0b11, control >> 14 & 0b11);
        let (has_dst_pan, has_src_pan) = pans(mac.version, mac.pan_compression, dst, src)?;
        mac.dst_pan = pan(has_dst_pan, input)?;
        mac.dst = address(dst, input)?;
        mac.src_pan = pan(has_src_pan, input)?;
        mac.src = address(src, input)?;
        Ok(mac)
    }

    fn multipurpose(low: u8, input: &mut Bytes<'a>) -> Result<Mac<'a>, &'static str> {
        let is_long = u16::from(low) & multipurpose::LONG != 0;
        let high = match is_long {
            true => input.u8().ok_or(CUT)?,
            false => 0,
        };
        let control = u16::from_le_bytes([low, high]);
        let has = |bit: u16| control & bit != 0;
        let mut mac = Mac {
            version: (control >> 12 & 0b11) as u8,
            security: has(multipurpose::SECURITY),
            frame_pending: has(multipurpose::PENDING),
            ack_request: has(multipurpose::ACK_REQUEST),
            ..Mac::empty(Kind::Multipurpose, control)
        };
        if mac.version != 0 {
            return Err("a multipurpose frame of a reserved version");
        }
        if !has(multipurpose::NO_SEQUENCE) {
            mac.dsn = Some(input.u8().ok_or(CUT)?);
        }
        mac.dst_pan = pan(has(multipurpose::PAN), input)?;
        mac.dst = address(control >> 4 & 0b11, input)?;
        mac.src = address(control >> 6 & 0b11, input)?;
        Ok(mac)
    }

    fn has_elements(&self) -> bool {
        match self.kind {
            Kind::Multipurpose => self.control & multipurpose::ELEMENTS != 0,
            Kind::Other(_) => false,
            _ => self.version == 2 && self.control & bits::ELEMENTS != 0,
        }
    }

    /// Returns whether this is a multipurpose frame whose frame control field is one byte (IEEE
    /// 802.15.4-2015 §7.3.5).
    fn is_short_multipurpose(&self) -> bool {
        self.kind == Kind::Multipurpose && self.control & multipurpose::LONG == 0
    }

    /// Returns whether a secured frame has the auxiliary header, new in IEEE 802.15.4-2006.
    fn has_auxiliary(&self) -> bool {
        self.version != 0 || self.kind == Kind::Multipurpose
    }

    fn auxiliary(&mut self, input: &mut Bytes<'a>) -> Result<(), &'static str> {
        const CUT: &str = "truncated auxiliary security header";
        const NO_COUNTER: u8 = 1 << 5;
        let control = input.u8().ok_or(CUT)?;
        let counter = match self.version == 2 && control & NO_COUNTER != 0 {
            true => None,
            false => Some(u32::from_le_bytes(input.array().ok_or(CUT)?)),
        };
        let mode = control >> 3 & 0b11;
        let source_len = match mode {
            2 => 4,
            3 => 8,
            _ => 0,
        };
        let source = input.take(source_len).ok_or(CUT)?;
        let index = match mode {
            0 => None,
            _ => Some(input.u8().ok_or(CUT)?),
        };
        self.aux = Some(Auxiliary {
            control,
            counter,
            source,
            index,
        });
        Ok(())
    }

    pub fn is_readable(&self) -> bool {
        match self.aux {
            Some(aux) => !aux.encrypts(),
            None => !self.security,
        }
    }

    pub fn opened(&mut self, plain: &'a [u8]) {
        self.payload = plain;
        self.read_payload_elements();
    }

    fn read_payload_elements(&mut self) {
        if !self.has_payload_elements {
            return;
        }
        let mut input = Bytes(self.payload);
        let read = element::payload(&mut input);
        self.payload_elements = read.elements;
        self.problem = self.problem.or(read.problem);
        self.payload = input.rest();
    }

    /// Returns the number of payload bytes that are never encrypted: the command identifier in
    /// frames before version 2 (IEEE 802.15.4-2006 §7.6.3.1).
    pub fn open_len(&self) -> usize {
        usize::from(self.kind == Kind::Command && self.version < 2)
    }
}

fn pan(is_present: bool, input: &mut Bytes<'_>) -> Result<Option<u16>, &'static str> {
    match is_present {
        true => input.u16_le().map(Some).ok_or(CUT),
        false => Ok(None),
    }
}

fn address(mode: u16, input: &mut Bytes<'_>) -> Result<Address, &'static str> {
    match mode {
        0b00 => Ok(Address::Absent),
        0b10 => input.u16_le().map(Address::Short).ok_or(CUT),
        0b11 => {
            let mut eui64: [u8; 8] = input.array().ok_or(CUT)?;
            eui64.reverse();
            Ok(Address::Extended(eui64))
        }
        _ => Err("a reserved addressing mode"),
    }
}

/// Returns whether the destination and source PAN IDs are present (IEEE 802.15.4-2015 §7.2.2.6,
/// table 7-2).
fn pans(version: u8, compression: bool, dst: u16, src: u16) -> Result<(bool, bool), &'static str> {
    const ABSENT: u16 = 0b00;
    const EXTENDED: u16 = 0b11;
    Ok(match (version, dst, src) {
        (0 | 1, ABSENT, _) | (0 | 1, _, ABSENT) if compression => {
            return Err("PAN ID compression without two addresses");
        }
        (0 | 1, _, _) => (dst != ABSENT, src != ABSENT && !compression),
        (_, ABSENT, ABSENT) => (compression, false),
        (_, _, ABSENT) => (!compression, false),
        (_, ABSENT, _) => (false, !compression),
        (_, EXTENDED, EXTENDED) => (!compression, false),
        _ => (true, !compression),
    })
}
