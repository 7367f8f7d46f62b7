//! The format pcapng (draft-ietf-opsawg-pcapng).

use super::input::Input;
use super::odd::Odds;
use super::{Failure, RECORD_MAX, Record};

const INTERFACES_MAX: usize = 4_096;
/// Bytes of an interface description that are parsed; the rest is skipped.
const DESCRIPTION_MAX: usize = 65_536;

mod block {
    pub const SECTION: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const PACKET: u32 = 2;
    pub const SIMPLE: u32 = 3;
    pub const NAMES: u32 = 4;
    pub const STATISTICS: u32 = 5;
    pub const ENHANCED: u32 = 6;
    pub const JOURNAL: u32 = 9;
    pub const SECRETS: u32 = 10;
    pub const CUSTOM: [u32; 2] = [0x0bad, 0x4000_0bad];
}

mod option {
    pub const END: u16 = 0;
    pub const TS_RESOLUTION: u16 = 9;
    pub const FCS_LEN: u16 = 13;
    pub const TS_OFFSET: u16 = 14;
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u32,
    snap: u32,
    resolution: u8,
    offset_s: i64,
    fcs_len: Option<u8>,
}

pub(crate) struct Reader {
    input: Input,
    is_big: bool,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Order {
    is_big: bool,
}

impl Order {
    fn word(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two = *bytes.get(at..)?.first_chunk()?;
        Some(match self.is_big {
            true => u16::from_be_bytes(two),
            false => u16::from_le_bytes(two),
        })
    }

    fn long(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = *bytes.get(at..)?.first_chunk()?;
        Some(match self.is_big {
            true => u32::from_be_bytes(four),
            false => u32::from_le_bytes(four),
        })
    }

    fn signed(self, bytes: &[u8]) -> Option<i64> {
        let eight = *bytes.first_chunk()?;
        Some(match self.is_big {
            true => i64::from_be_bytes(eight),
            false => i64::from_le_bytes(eight),
        })
    }
}

impl Reader {
    /// Reads the first section header after its block type.
    pub(crate) fn open(input: Input) -> Result<Reader, Failure> {
        let mut reader = Reader {
            input,
            is_big: false,
            interfaces: Vec::new(),
        };
        let len = reader.input.array()?;
        reader.section(len)?;
        Ok(reader)
    }

    fn order(&self) -> Order {
        Order {
            is_big: self.is_big,
        }
    }

    fn section(&mut self, len: [u8; 4]) -> Result<(), Failure> {
        self.is_big = match self.input.array()? {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => {
                return Err(Failure::Format(
                    "a section without byte-order magic".to_owned(),
                ));
            }
        };
        let len = self.order().long(&len, 0).unwrap_or(0);
        if len < 28 || !len.is_multiple_of(4) {
            return Err(Failure::Format(format!(
                "a section header of {len} B; allowed: multiples of 4 B from 28 B"
            )));
        }
        self.interfaces.clear();
        Ok(self.input.skip(u64::from(len - 12))?)
    }

    /// Returns the next record, which is frame `number`; `None` at the end.
    pub(crate) fn next(&mut self, number: u64, odds: &mut Odds) -> Result<Option<Record>, Failure> {
        loop {
            let Some(kind) = self.input.head::<4>()? else {
                return Ok(None);
            };
            let len_bytes = self.input.array()?;
            let kind = self.order().long(&kind, 0).unwrap_or(0);
            if kind == block::SECTION {
                self.section(len_bytes)?;
                continue;
            }
            let len = self.order().long(&len_bytes, 0).unwrap_or(0);
            if len < 12 || !len.is_multiple_of(4) {
                return Err(Failure::Format(format!(
                    "a block of type 0x{kind:08x} with a length of {len} B; allowed: multiples \
                     of 4 B from 12 B"
                )));
            }
            let body = len - 12;
            let record = match kind {
                block::INTERFACE => {
                    let body = self.body(body, DESCRIPTION_MAX)?;
                    self.interface(&body)?;
                    None
                }
                block::ENHANCED | block::PACKET | block::SIMPLE => {
                    Some(self.packet(kind, body, number, odds)?)
                }
                block::NAMES | block::STATISTICS | block::JOURNAL | block::SECRETS => {
                    self.input.skip(body.into())?;
                    None
                }
                other => {
                    let what = match block::CUSTOM.contains(&other) {
                        true => "custom blocks were skipped".to_owned(),
                        false => format!("blocks of the unknown type 0x{other:08x} were skipped"),
                    };
                    odds.add(&what, number);
                    self.input.skip(body.into())?;
                    None
                }
            };
            let trailer: [u8; 4] = self.input.array()?;
            if self.order().long(&trailer, 0) != Some(len) {
                odds.add("the two length fields of a block differ", number);
            }
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// Reads a block's body, and skips bytes beyond `most`.
    fn body(&mut self, len: u32, most: usize) -> Result<Vec<u8>, Failure> {
        let all = usize::try_from(len).unwrap_or(usize::MAX);
        let body = self.input.bytes(all.min(most))?;
        self.input.skip((all - body.len()) as u64)?;
        Ok(body)
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), Failure> {
        let order = self.order();
        let short = || Failure::Format("an interface description that is too short".to_owned());
        let mut interface = Interface {
            link: order.word(body, 0).ok_or_else(short)?.into(),
            snap: order.long(body, 4).ok_or_else(short)?,
            resolution: 6,
            offset_s: 0,
            fcs_len: None,
        };
        let mut options = body.get(8..).unwrap_or_default();
        while let (Some(code), Some(len)) = (order.word(options, 0), order.word(options, 2)) {
            let len = usize::from(len);
            let Some(value) = options.get(4..4 + len) else {
                break;
            };
            match code {
                option::END => break,
                option::TS_RESOLUTION => {
                    interface.resolution = value.first().copied().unwrap_or(6);
                }
                option::TS_OFFSET => interface.offset_s = order.signed(value).unwrap_or(0),
                option::FCS_LEN => interface.fcs_len = value.first().copied(),
                _ => {}
            }
            options = options
                .get(4 + len.next_multiple_of(4)..)
                .unwrap_or_default();
        }
        if self.interfaces.len() == INTERFACES_MAX {
            return Err(Failure::Format(format!(
                "more than {INTERFACES_MAX} interfaces in a section; allowed: at most \
                 {INTERFACES_MAX}"
            )));
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn packet(
        &mut self,
        kind: u32,
        len: u32,
        number: u64,
        odds: &mut Odds,
    ) -> Result<Record, Failure> {
        let fixed = if kind == block::SIMPLE { 4 } else { 20 };
        if len < fixed {
            return Err(Failure::Format(format!(
                "a packet block of {} B, which is too short for its fixed fields",
                len + 12
            )));
        }
        let order = self.order();
        let head = self.input.bytes(fixed as usize)?;
        let long = |at: usize| order.long(&head, at).unwrap_or(0);
        let room = len - fixed;
        let (index, ticks, captured, original) = match kind {
            block::SIMPLE => (0, None, room, long(0)),
            block::PACKET => {
                let index = order.word(&head, 0).unwrap_or(0);
                let ticks = u64::from(long(4)) << 32 | u64::from(long(8));
                (u32::from(index), Some(ticks), long(12), long(16))
            }
            _ => {
                let ticks = u64::from(long(4)) << 32 | u64::from(long(8));
                (long(0), Some(ticks), long(12), long(16))
            }
        };
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let Some(&interface) = self.interfaces.get(at) else {
            return Err(Failure::Format(
                "a frame of an interface without a description".to_owned(),
            ));
        };
        // A Simple Packet Block has no captured length.
        let limit = match (kind, interface.snap) {
            (block::SIMPLE, 0) => original,
            (block::SIMPLE, snap) => original.min(snap),
            _ => u32::MAX,
        };
        let captured = captured.min(limit);
        if captured > room {
            return Err(Failure::Format(format!(
                "a frame of {captured} B in a block with room for {room} B"
            )));
        }
        if captured as usize > RECORD_MAX {
            return Err(Failure::Format(format!(
                "a frame of {captured} B; allowed: up to {RECORD_MAX} B"
            )));
        }
        if interface.snap != 0 && captured > interface.snap {
            let what = format!(
                "frames are longer than the snapshot length of their interface, {} B",
                interface.snap
            );
            odds.add(&what, number);
        }
        if original < captured {
            odds.add(
                "frames have an original length below the captured length",
                number,
            );
        }
        let data = self.input.bytes(captured as usize)?;
        self.input.skip(u64::from(room - captured))?;
        let at_us = ticks.and_then(|ticks| micros(ticks, interface));
        if ticks.is_some() && at_us.is_none() {
            odds.add("timestamps cannot be expressed in microseconds", number);
        }
        Ok(Record {
            number,
            at_us,
            link: interface.link,
            fcs_len: interface.fcs_len,
            missing: (original.saturating_sub(captured)) as usize,
            data,
            has_ti: false,
        })
    }
}

/// Converts ticks of 10^-resolution s, or of 2^-n s if the top bit is set, to microseconds.
fn micros(ticks: u64, interface: Interface) -> Option<u64> {
    let exponent = u32::from(interface.resolution & 0x7f);
    let base: i128 = if interface.resolution & 0x80 == 0 {
        10
    } else {
        2
    };
    let per_second = base.checked_pow(exponent)?;
    let us = i128::from(ticks).checked_mul(1_000_000)? / per_second;
    let offset_us = i128::from(interface.offset_s) * 1_000_000;
    u64::try_from(us.checked_add(offset_us)?).ok()
}
