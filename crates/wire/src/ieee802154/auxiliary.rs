//! The auxiliary security header (IEEE 802.15.4-2015 §9.4), which is between the MAC header and the
//! payload of a secured frame.

use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};

/// The protection of a frame (§9.4.1.1, table 9-6). Level 0 has no protection; level 4,
/// encryption without authentication, is forbidden since 2015.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum SecurityLevel {
    /// Authenticated by four bytes.
    Mic32 = 1,
    /// Authenticated by eight bytes.
    Mic64 = 2,
    /// Authenticated by sixteen bytes.
    Mic128 = 3,
    /// Encrypted, and authenticated by four bytes, as in Thread and Zigbee.
    EncMic32 = 5,
    /// Encrypted, and authenticated by eight bytes.
    EncMic64 = 6,
    /// Encrypted, and authenticated by sixteen bytes.
    EncMic128 = 7,
}

impl SecurityLevel {
    /// All levels, in the order of their numbers.
    pub const ALL: [SecurityLevel; 6] = [
        SecurityLevel::Mic32,
        SecurityLevel::Mic64,
        SecurityLevel::Mic128,
        SecurityLevel::EncMic32,
        SecurityLevel::EncMic64,
        SecurityLevel::EncMic128,
    ];

    /// Returns the level with this number.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for 0 and 4, which have no authentication, and [`Error::Reserved`]
    /// beyond 7.
    pub const fn from_number(number: u8) -> Result<Self, Error> {
        match number {
            1 => Ok(SecurityLevel::Mic32),
            2 => Ok(SecurityLevel::Mic64),
            3 => Ok(SecurityLevel::Mic128),
            5 => Ok(SecurityLevel::EncMic32),
            6 => Ok(SecurityLevel::EncMic64),
            7 => Ok(SecurityLevel::EncMic128),
            0 | 4 => Err(Error::Unsupported),
            _ => Err(Error::Reserved),
        }
    }

    /// Returns the number, 1 to 7.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns whether the payload is encrypted.
    pub const fn encrypts(self) -> bool {
        self.number() & 0b100 != 0
    }

    /// Returns the length of the message integrity code after the payload: 4, 8 or 16 bytes.
    pub const fn mic_len(self) -> usize {
        match self.number() & 0b11 {
            1 => 4,
            2 => 8,
            _ => 16,
        }
    }

    /// Returns whether a frame of this level is protected at least as well as one of `least`.
    pub const fn satisfies(self, least: SecurityLevel) -> bool {
        self.mic_len() >= least.mic_len() && (self.encrypts() || !least.encrypts())
    }
}

/// The key that protects a frame (§9.4.1.2, §9.4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum KeyIdentifier {
    /// Mode 0: the header does not identify the key; both ends find the key in another way.
    Implicit,
    /// Mode 1: the key with this index, 1 to 255, of the default source.
    Index(u8),
    /// Mode 2: the key with this index of a source whose identifier has four bytes.
    Source4([u8; 4], u8),
    /// Mode 3: the key with this index of a source whose identifier has eight bytes, in the order
    /// of transmission.
    Source8([u8; 8], u8),
}

impl KeyIdentifier {
    const fn mode(&self) -> u8 {
        match self {
            KeyIdentifier::Implicit => 0,
            KeyIdentifier::Index(_) => 1,
            KeyIdentifier::Source4(..) => 2,
            KeyIdentifier::Source8(..) => 3,
        }
    }

    /// Returns the length of the field: 0, 1, 5 or 9 bytes.
    const fn len(&self) -> usize {
        match self {
            KeyIdentifier::Implicit => 0,
            KeyIdentifier::Index(_) => 1,
            KeyIdentifier::Source4(..) => 5,
            KeyIdentifier::Source8(..) => 9,
        }
    }
}

/// Fields of the security control (§9.4.1).
mod control {
    pub const LEVEL: u8 = 0b111;
    pub const KEY_MODE_SHIFT: u32 = 3;
    /// Bit 5: no frame counter. Bit 6: the nonce contains the slot's number (TSCH).
    pub const TSCH: u8 = 0b0110_0000;
    pub const RESERVED: u8 = 0b1000_0000;
}

/// The auxiliary security header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AuxiliaryHeader {
    /// Protection of the frame.
    pub level: SecurityLevel,
    /// Identifier of the key.
    pub key: KeyIdentifier,
    /// Counter of the frames that the sender has secured. No sender may use the largest value,
    /// 0xffffffff (§9.2.1).
    pub frame_counter: u32,
}

impl AuxiliaryHeader {
    /// Parses the header at the start of `payload`; returns it and the rest, including the MIC.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Unsupported`] for levels without authentication and for the
    /// frames of TSCH, which have no counter; [`Error::Reserved`] if the reserved bit is set.
    pub fn parse(payload: &[u8]) -> Result<(AuxiliaryHeader, &[u8]), Error> {
        let mut input = Reader::new(payload);
        let bits = input.u8()?;
        if bits & control::RESERVED != 0 {
            return Err(Error::Reserved);
        }
        if bits & control::TSCH != 0 {
            return Err(Error::Unsupported);
        }
        let level = SecurityLevel::from_number(bits & control::LEVEL)?;
        let frame_counter = u32::from_le_bytes(input.array()?);
        let key = match bits >> control::KEY_MODE_SHIFT & 0b11 {
            0 => KeyIdentifier::Implicit,
            1 => KeyIdentifier::Index(input.u8()?),
            2 => KeyIdentifier::Source4(input.array()?, input.u8()?),
            _ => KeyIdentifier::Source8(input.array()?, input.u8()?),
        };
        let header = AuxiliaryHeader {
            level,
            key,
            frame_counter,
        };
        Ok((header, input.rest()))
    }

    /// Writes the header.
    ///
    /// # Errors
    /// [`NoRoom`]; then nothing is written.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        if out.remaining() < self.len() {
            return Err(NoRoom);
        }
        out.put_u8(self.level.number() | self.key.mode() << control::KEY_MODE_SHIFT)?;
        out.put(&self.frame_counter.to_le_bytes())?;
        match self.key {
            KeyIdentifier::Implicit => Ok(()),
            KeyIdentifier::Index(index) => out.put_u8(index),
            KeyIdentifier::Source4(source, index) => {
                out.put(&source)?;
                out.put_u8(index)
            }
            KeyIdentifier::Source8(source, index) => {
                out.put(&source)?;
                out.put_u8(index)
            }
        }
    }

    /// Returns the length of the header: 5, 6, 10 or 14 bytes.
    pub const fn len(&self) -> usize {
        5usize.saturating_add(self.key.len())
    }

    /// Returns `false`: a header is never empty.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns the number of bytes that this protection adds to a frame: the header and the MIC.
    pub const fn overhead(&self) -> usize {
        self.len().saturating_add(self.level.mic_len())
    }

    /// Returns the nonce of a frame from the sender with the EUI-64 `source` (§9.3.3.1). The same
    /// nonce must never be used twice with the same key.
    pub fn nonce(&self, source: [u8; 8]) -> [u8; 13] {
        let mut nonce = [0; 13];
        let mut out = Cursor::new(&mut nonce);
        // The fields have thirteen bytes, so they fit.
        let _ = out.put(&source);
        let _ = out.put(&self.frame_counter.to_be_bytes());
        let _ = out.put_u8(self.level.number());
        nonce
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emit(header: &AuxiliaryHeader) -> std::vec::Vec<u8> {
        let mut buffer = [0; 14];
        let mut out = Cursor::new(&mut buffer);
        header.emit(&mut out).unwrap();
        out.written().to_vec()
    }

    #[test]
    fn the_auxiliary_header_of_thread_has_six_bytes() {
        let header = AuxiliaryHeader {
            level: SecurityLevel::EncMic32,
            key: KeyIdentifier::Index(1),
            frame_counter: 0x0102_0304,
        };
        assert_eq!(emit(&header), [0x0d, 4, 3, 2, 1, 1]);
        assert_eq!((header.len(), header.overhead()), (6, 10));
        let rest = [&emit(&header)[..], &[9, 9]].concat();
        assert_eq!(AuxiliaryHeader::parse(&rest), Ok((header, &[9, 9][..])));
    }

    #[test]
    fn every_level_and_key_mode_is_read_as_it_was_written() {
        let keys = [
            KeyIdentifier::Implicit,
            KeyIdentifier::Index(255),
            KeyIdentifier::Source4([1, 2, 3, 4], 7),
            KeyIdentifier::Source8([1, 2, 3, 4, 5, 6, 7, 8], 9),
        ];
        for (level, key) in SecurityLevel::ALL
            .into_iter()
            .flat_map(|level| keys.map(|key| (level, key)))
        {
            let header = AuxiliaryHeader {
                level,
                key,
                frame_counter: u32::MAX,
            };
            let bytes = emit(&header);
            assert_eq!(bytes.len(), header.len());
            assert_eq!(AuxiliaryHeader::parse(&bytes), Ok((header, &[][..])));
            for cut in 0..bytes.len() {
                let parsed = AuxiliaryHeader::parse(&bytes[..cut]);
                assert_eq!(parsed, Err(Error::Truncated));
            }
            let mut short = [0; 13];
            let mut out = Cursor::new(&mut short[..bytes.len() - 1]);
            assert_eq!(header.emit(&mut out), Err(NoRoom));
            assert_eq!(out.position(), 0);
        }
    }

    #[test]
    fn levels_without_authentication_are_refused() {
        let parse = |control| AuxiliaryHeader::parse(&[control, 0, 0, 0, 0, 0]).map(|_| ());
        for level in [0, 4] {
            assert_eq!(parse(0x08 | level), Err(Error::Unsupported));
        }
        assert_eq!(parse(0x2d), Err(Error::Unsupported));
        assert_eq!(parse(0x4d), Err(Error::Unsupported));
        assert_eq!(parse(0x8d), Err(Error::Reserved));
    }

    #[test]
    fn a_level_satisfies_equal_and_weaker_levels() {
        use SecurityLevel::*;
        assert!(EncMic64.satisfies(EncMic32) && EncMic32.satisfies(Mic32));
        assert!(!Mic128.satisfies(EncMic32) && !EncMic32.satisfies(EncMic64));
    }

    /// Checks the nonce of IEEE 802.15.4-2006 §C.2.1.2.
    #[test]
    fn the_nonce_is_the_standards() {
        let header = AuxiliaryHeader {
            level: SecurityLevel::Mic64,
            key: KeyIdentifier::Implicit,
            frame_counter: 5,
        };
        let nonce = [
            0xac, 0xde, 0x48, 0, 0, 0, 0, 0x01, 0x00, 0x00, 0x00, 0x05, 0x02,
        ];
        assert_eq!(header.nonce([0xac, 0xde, 0x48, 0, 0, 0, 0, 1]), nonce);
    }

    #[test]
    fn a_number_that_the_field_cannot_hold_is_reserved() {
        for number in [8, 255] {
            let level = SecurityLevel::from_number(number);
            assert_eq!(level, Err(Error::Reserved), "{number}");
        }
        for level in SecurityLevel::ALL {
            assert_eq!(SecurityLevel::from_number(level.number()), Ok(level));
        }
    }
}
