//! Link types that precede a frame with facts about its reception (TAP) or with the header of the
//! physical layer.

use super::Content;
use super::trailer::{Received, split};
use crate::capture::Record;

/// Returns the frame after a TAP header.
pub(super) fn tap(record: &Record) -> Result<Content<'_>, String> {
    const FCS_TYPE: u16 = 0;
    const RSS: u16 = 1;
    const CHANNEL: u16 = 3;
    const LQI: u16 = 10;
    let data = record.data.as_slice();
    let word = |bytes: &[u8], at: usize| {
        let two = bytes.get(at..)?.first_chunk()?;
        Some(u16::from_le_bytes(*two))
    };
    let short = || "a truncated TAP header".to_owned();
    let len = usize::from(word(data, 2).ok_or_else(short)?);
    let header = data
        .get(..len)
        .filter(|header| header.len() >= 4)
        .ok_or_else(short)?;
    let mut fcs_len = 0;
    let mut received = Received::default();
    let mut at = 4;
    while let (Some(kind), Some(size)) = (word(header, at), word(header, at + 2)) {
        let size = usize::from(size);
        let value = header.get(at + 4..at + 4 + size).ok_or_else(short)?;
        match (kind, value) {
            (FCS_TYPE, &[kind, ..]) => {
                fcs_len = match kind {
                    1 => 2,
                    2 => 4,
                    _ => 0,
                };
            }
            (RSS, &[a, b, c, d, ..]) => received.rssi_dbm = Some(f32::from_le_bytes([a, b, c, d])),
            (CHANNEL, &[a, b, ..]) => received.channel = Some(u16::from_le_bytes([a, b])),
            (LQI, &[lqi, ..]) => received.lqi = Some(lqi),
            _ => {}
        }
        at += 4 + size.div_ceil(4) * 4;
    }
    let mut frame = split(
        data.get(len..).unwrap_or_default(),
        fcs_len,
        record.missing,
        false,
    )?;
    frame.received = received;
    Ok(Content::Frame(frame))
}

/// Returns the frame after the header of the physical layer: preamble, start of frame and length.
pub(super) fn preamble(record: &Record) -> Result<Content<'_>, String> {
    const START: u8 = 0xa7;
    let data = record.data.as_slice();
    let &[_, _, _, _, start, len, ref rest @ ..] = data else {
        return Err("a truncated PHY header".to_owned());
    };
    if start != START {
        return Err(format!(
            "a frame that starts with 0x{start:02x}; allowed: 0x{START:02x}"
        ));
    }
    let len = usize::from(len & 0x7f);
    let missing = record.missing.max(len.saturating_sub(rest.len()));
    let data = rest.get(..len).unwrap_or(rest);
    split(data, 2, missing, record.has_ti).map(Content::Frame)
}
