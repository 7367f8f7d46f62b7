//! The part of Spinel that a radio co-processor needs (OpenThread's protocol between a host
//! and its radio): a header, a command, a property and its value.

pub mod property {
    pub const LAST_STATUS: u32 = 0;
    pub const PROTOCOL_VERSION: u32 = 1;
    pub const NCP_VERSION: u32 = 2;
    pub const HWADDR: u32 = 8;
    pub const PHY_ENABLED: u32 = 0x20;
    pub const PHY_CHAN: u32 = 0x21;
    pub const MAC_15_4_LADDR: u32 = 0x34;
    pub const MAC_15_4_SADDR: u32 = 0x35;
    pub const MAC_15_4_PANID: u32 = 0x36;
    pub const MAC_RAW_STREAM_ENABLED: u32 = 0x37;
    pub const STREAM_RAW: u32 = 0x71;
    pub const RADIO_CAPS: u32 = 0x120b;
    pub const MAC_SRC_MATCH_ENABLED: u32 = 0x1303;
    pub const MAC_SRC_MATCH_SHORT_ADDRESSES: u32 = 0x1304;
}

pub mod status {
    pub const OK: u32 = 0;
    pub const NO_ACK: u32 = 17;
    pub const CCA_FAILURE: u32 = 18;
    /// The first of the reset reasons, which end at 127.
    pub const RESET_BEGIN: u32 = 112;
    pub const RESET_END: u32 = 128;
}

pub mod radio_caps {
    pub const ACK_TIMEOUT: u32 = 1 << 0;
    pub const TRANSMIT_RETRIES: u32 = 1 << 2;
    pub const CSMA_BACKOFF: u32 = 1 << 3;
}

/// Flag of a received frame: its Imm-ACK had the frame-pending bit.
pub const ACKED_WITH_PENDING: u16 = 0x0010;
/// Flag of a received frame: its check sequence was wrong.
pub const BAD_FCS: u16 = 0x0004;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Command {
    // To the radio.
    Reset = 1,
    Get = 2,
    Set = 3,
    Insert = 4,
    Remove = 5,
    // To the host.
    Is = 6,
    Inserted = 7,
    /// An entry was removed from a list.
    Removed = 8,
}

impl Command {
    fn from_number(number: u32) -> Option<Command> {
        Some(match number {
            1 => Command::Reset,
            2 => Command::Get,
            3 => Command::Set,
            4 => Command::Insert,
            5 => Command::Remove,
            6 => Command::Is,
            7 => Command::Inserted,
            8 => Command::Removed,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// Identifier of the request that the message answers; 0 for an unsolicited message.
    pub tid: u8,
    pub command: Command,
    /// Property that the command concerns; 0 for [`Command::Reset`].
    pub property: u32,
    pub value: &'a [u8],
}

/// The first two bits of every header.
const HEADER: u8 = 0x80;
const HEADER_MASK: u8 = 0xc0;
const TID_MASK: u8 = 0x0f;

impl<'a> Message<'a> {
    /// Returns the message of a frame; `None` if it is invalid, for another interface than the
    /// first, or with another command.
    pub fn parse(frame: &'a [u8]) -> Option<Message<'a>> {
        let (&header, rest) = frame.split_first()?;
        let interface = header >> 4 & 0b11;
        if header & HEADER_MASK != HEADER || interface != 0 {
            return None;
        }
        let mut fields = Fields(rest);
        let command = Command::from_number(fields.packed()?)?;
        let property = match command {
            Command::Reset => 0,
            _ => fields.packed()?,
        };
        Some(Message {
            tid: header & TID_MASK,
            command,
            property,
            value: fields.0,
        })
    }

    pub fn to_frame(&self) -> Vec<u8> {
        let mut frame = vec![HEADER | self.tid & TID_MASK, self.command as u8];
        if self.command != Command::Reset {
            put_packed(&mut frame, self.property);
        }
        frame.extend(self.value);
        frame
    }
}

/// Appends a number of up to 21 bits: seven to a byte, the lowest first.
pub fn put_packed(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The remaining fields of a value, read one by one and never beyond its end.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Reads the types `C` and `c`, without conversion.
    pub fn u8(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub fn bool(&mut self) -> Option<bool> {
        self.u8().map(|byte| byte != 0)
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.u8()?, self.u8()?]))
    }

    /// Reads the type `i`, of at most three bytes.
    pub fn packed(&mut self) -> Option<u32> {
        let mut number = 0;
        for shift in [0, 7, 14] {
            let byte = self.u8()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads the types `d` and `t`: data after their length.
    pub fn data(&mut self) -> Option<&'a [u8]> {
        let len = self.u16()?.into();
        let (data, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(data)
    }

    /// Reads the type `U`: text up to a zero byte.
    pub fn text(&mut self) -> Option<&'a str> {
        let len = self.0.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(self.0.get(..len)?).ok()?;
        self.0 = self.0.get(len + 1..)?;
        Some(text)
    }
}

/// A frame of the property STREAM_RAW from the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received<'a> {
    /// The MPDU without its check sequence.
    pub mpdu: &'a [u8],
    /// Signal strength in dBm.
    pub rssi_dbm: i8,
    /// Link quality, 0 to 255; 0 where it is not known.
    pub lqi: u8,
    /// Flags of the reception, such as [`ACKED_WITH_PENDING`] and [`BAD_FCS`].
    pub flags: u16,
}

impl<'a> Received<'a> {
    /// Returns the frame in a value of STREAM_RAW.
    pub fn parse(value: &'a [u8]) -> Option<Received<'a>> {
        let mut fields = Fields(value);
        let psdu = fields.data()?;
        let mpdu = psdu.get(..psdu.len().checked_sub(2)?)?;
        // The fields after the frame may be missing: they count as 0 then.
        let rssi_dbm = fields.u8().unwrap_or(0) as i8;
        let _noise = fields.u8();
        let flags = fields.u16().unwrap_or(0);
        let mut phy = Fields(fields.data().unwrap_or_default());
        let _channel = phy.u8();
        Some(Received {
            mpdu,
            rssi_dbm,
            lqi: phy.u8().unwrap_or(0),
            flags,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_as_in_the_protocol() {
        for (number, bytes) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (0x1304, &[0x84, 0x26]),
            (2_097_151, &[0xff, 0xff, 0x7f]),
        ] {
            let mut out = Vec::new();
            put_packed(&mut out, number);
            assert_eq!(out, bytes);
            assert_eq!(Fields(bytes).packed(), Some(number));
        }
        assert_eq!(Fields(&[0xff, 0xff, 0xff, 1]).packed(), None);
        assert_eq!(Fields(&[0x80]).packed(), None);
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let message = Message {
            tid: 5,
            command: Command::Set,
            property: property::RADIO_CAPS,
            value: &[1, 2],
        };
        let frame = message.to_frame();
        assert_eq!(frame, [0x85, 3, 0x8b, 0x24, 1, 2]);
        assert_eq!(Message::parse(&frame), Some(message));
        for cut in 0..4 {
            assert_eq!(Message::parse(&frame[..cut]), None);
        }
        assert_eq!(Message::parse(&[0x05, 3, 1]), None, "no header");
        assert_eq!(Message::parse(&[0x95, 3, 1]), None, "another interface");
        assert_eq!(Message::parse(&[0x85, 99, 1]), None, "another command");
    }

    #[test]
    fn metadata_of_a_received_frame_may_be_missing() {
        let whole = [
            5, 0, 1, 2, 3, 0xaa, 0xbb, 0xc4, 0x80, 0x10, 0, 10, 0, 26, 200, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let frame = Received::parse(&whole).unwrap();
        assert_eq!(frame.mpdu, [1, 2, 3]);
        assert_eq!((frame.rssi_dbm, frame.lqi), (-60, 200));
        assert_eq!(frame.flags, ACKED_WITH_PENDING);
        assert_eq!(Received::parse(&whole[..7]).unwrap().lqi, 0);
        assert_eq!(Received::parse(&whole[..6]), None);
        assert_eq!(Received::parse(&[1, 0, 9]), None, "no check sequence");
    }
}
