//! The format pcap (draft-ietf-opsawg-pcap).

use super::input::Input;
use super::odd::Odds;
use super::{Failure, RECORD_MAX, Record};

pub(crate) struct Reader {
    input: Input,
    is_big: bool,
    per_second: u64,
    /// Additional bytes of a record's header in the format of a patched libpcap.
    extra: u64,
    snap: u32,
    link: u32,
    fcs_len: Option<u8>,
}

/// Bit P of the link-type field. If it is set, the upper four bits of the field hold the length of
/// the check sequence.
const FCS_LEN_PRESENT: u32 = 1 << 26;

impl Reader {
    /// Reads the file header after its magic number.
    pub(crate) fn open(
        mut input: Input,
        magic: [u8; 4],
        odds: &mut Odds,
    ) -> Result<Reader, Failure> {
        let (is_big, per_second, extra) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, 1_000_000, 0),
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, 1_000_000, 0),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, 1_000_000_000, 0),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, 1_000_000_000, 0),
            [0xa1, 0xb2, 0xcd, 0x34] => (true, 1_000_000, 8),
            [0x34, 0xcd, 0xb2, 0xa1] => (false, 1_000_000, 8),
            _ => {
                return Err(Failure::Format(
                    "the magic number of pcap is missing".to_owned(),
                ));
            }
        };
        let version: [u8; 4] = input.array()?;
        let _zone_and_accuracy: [u8; 8] = input.array()?;
        let long = |bytes| long(bytes, is_big);
        let snap = long(input.array()?);
        let network = long(input.array()?);
        let [a, b, c, d] = version;
        let major = match is_big {
            true => u16::from_be_bytes([a, b]),
            false => u16::from_le_bytes([a, b]),
        };
        if major != 2 {
            let minor = match is_big {
                true => u16::from_be_bytes([c, d]),
                false => u16::from_le_bytes([c, d]),
            };
            odds.add(
                &format!("the file has version {major}.{minor} of pcap; allowed: 2.4"),
                1,
            );
        }
        let words = u8::try_from(network >> 28).unwrap_or(0);
        Ok(Reader {
            input,
            is_big,
            per_second,
            extra,
            snap,
            link: network & 0xffff,
            fcs_len: (network & FCS_LEN_PRESENT != 0).then_some(words.saturating_mul(2)),
        })
    }

    /// Returns the next record, which is frame `number`; `None` at the end.
    pub(crate) fn next(&mut self, number: u64, odds: &mut Odds) -> Result<Option<Record>, Failure> {
        let Some(head) = self.input.head::<16>()? else {
            return Ok(None);
        };
        let word = |at: usize| {
            let bytes = head.get(at..).and_then(|rest| rest.first_chunk());
            long(bytes.copied().unwrap_or_default(), self.is_big)
        };
        let (seconds, part, captured, original) = (word(0), word(4), word(8), word(12));
        self.input.skip(self.extra)?;
        let len = usize::try_from(captured).unwrap_or(usize::MAX);
        if len > RECORD_MAX {
            return Err(Failure::Format(format!(
                "a record of {captured} B; allowed: up to {RECORD_MAX} B"
            )));
        }
        if captured > self.snap {
            odds.add(
                &format!(
                    "frames are longer than the snapshot length of the file, {} B",
                    self.snap
                ),
                number,
            );
        }
        if original < captured {
            odds.add(
                "frames have an original length below the captured length",
                number,
            );
        }
        if u64::from(part) >= self.per_second {
            odds.add(
                "timestamps have a sub-second part of one second or more",
                number,
            );
        }
        let data = self.input.bytes(len)?;
        let at_us = u64::from(seconds) * 1_000_000 + u64::from(part) * 1_000_000 / self.per_second;
        Ok(Some(Record {
            number,
            at_us: Some(at_us),
            link: self.link,
            fcs_len: self.fcs_len,
            missing: usize::try_from(original.saturating_sub(captured)).unwrap_or(usize::MAX),
            data,
            has_ti: false,
        }))
    }
}

fn long(bytes: [u8; 4], is_big: bool) -> u32 {
    match is_big {
        true => u32::from_be_bytes(bytes),
        false => u32::from_le_bytes(bytes),
    }
}
