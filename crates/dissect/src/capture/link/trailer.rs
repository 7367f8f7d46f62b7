//! A captured frame and its trailer: a check sequence, or the values that a TI radio puts in its
//! place.

use redpoll_base::crc;
use redpoll_wire::ieee802154::fcs;

use super::number;
use crate::capture::Record;

/// The bytes after a frame's last payload byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trailer {
    #[default]
    Absent,
    Crc16(u16),
    Crc32(u32),
    /// RSSI and correlation, which TI CC24xx radios put in place of the check sequence.
    Ti {
        /// Signal strength in the radio's own scale.
        rssi: i8,
        /// Correlation, 0 to 127; larger is better.
        correlation: u8,
        /// Whether the radio found the check sequence correct.
        is_right: bool,
    },
}

/// Facts that the capture states about a frame's reception.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Received {
    pub channel: Option<u16>,
    /// Received signal strength in dBm.
    pub rssi_dbm: Option<f32>,
    pub lqi: Option<u8>,
}

/// A frame without its trailer. `missing` is the number of bytes that the capture lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Captured<'a> {
    pub mpdu: &'a [u8],
    pub trailer: Trailer,
    pub missing: usize,
    pub received: Received,
}

impl<'a> Captured<'a> {
    /// Wraps a complete frame without check sequence.
    pub fn of(mpdu: &'a [u8]) -> Captured<'a> {
        Captured {
            mpdu,
            ..Captured::default()
        }
    }

    /// Returns whether the check sequence is correct; `None` if the capture has none.
    pub fn is_right(&self) -> Option<bool> {
        match self.trailer {
            Trailer::Absent => None,
            Trailer::Crc16(carried) => Some(carried == fcs(self.mpdu)),
            Trailer::Crc32(carried) => Some(carried == crc32(self.mpdu)),
            Trailer::Ti { is_right, .. } => Some(is_right),
        }
    }

    /// Returns the frame, if all of it was captured and its check sequence is correct or absent.
    pub fn whole(&self) -> Option<&'a [u8]> {
        let is_whole = self.missing == 0 && self.is_right().unwrap_or(true);
        is_whole.then_some(self.mpdu)
    }
}

/// Returns the length of a check sequence in bytes. Some files state it in bits, 16 or 32.
pub(super) fn fcs_bytes(len: u8) -> usize {
    match len {
        16 => 2,
        32 => 4,
        other => usize::from(other),
    }
}

/// Separates the last `len` bytes of a frame, which are its trailer. `has_ti` states that a trailer
/// of two bytes has the values of a TI radio.
pub(super) fn split(
    data: &[u8],
    len: usize,
    missing: usize,
    has_ti: bool,
) -> Result<Captured<'_>, String> {
    let mut frame = Captured {
        mpdu: data,
        missing,
        ..Captured::default()
    };
    // Do not split off a truncated check sequence: it cannot be distinguished from payload.
    if len == 0 || missing > 0 {
        return Ok(frame);
    }
    let at = data.len().checked_sub(len);
    let (mpdu, trailer) = at
        .and_then(|at| data.split_at_checked(at))
        .ok_or("the frame is too short for its check sequence")?;
    frame.mpdu = mpdu;
    frame.trailer = match *trailer {
        [rssi, status] if has_ti => ti(rssi, status),
        [a, b] => Trailer::Crc16(u16::from_le_bytes([a, b])),
        [a, b, c, d] => Trailer::Crc32(u32::from_le_bytes([a, b, c, d])),
        _ => Trailer::Absent,
    };
    Ok(frame)
}

fn ti(rssi: u8, status: u8) -> Trailer {
    Trailer::Ti {
        rssi: rssi.cast_signed(),
        correlation: status & 0x7f,
        is_right: status & 0x80 != 0,
    }
}

/// The apparent format of a frame's last two bytes.
pub(crate) enum Look {
    Right,
    Ti,
    Other,
}

/// Determines the format of a frame's last two bytes. Returns `None` if the record is truncated, or
/// its link type or check sequence length excludes two bytes of trailer.
pub(crate) fn looks_like_ti(record: &Record) -> Option<Look> {
    /// Correlations from that of the weakest received frames to that of perfect frames.
    const CORRELATIONS: std::ops::RangeInclusive<u8> = 40..=115;
    if record.link != number::WITH_FCS || record.missing > 0 || record.fcs_len == Some(4) {
        return None;
    }
    let (mpdu, &[rssi, status]) = record.data.split_last_chunk::<2>()?;
    if u16::from_le_bytes([rssi, status]) == fcs(mpdu) {
        return Some(Look::Right);
    }
    let is_like = status & 0x80 != 0 && CORRELATIONS.contains(&(status & 0x7f));
    Some(if is_like { Look::Ti } else { Look::Other })
}

/// Returns the 32-bit check sequence over at least four bytes (IEEE 802.15.4-2015 §7.2.10).
fn crc32(mpdu: &[u8]) -> u32 {
    let padding = 4_usize.saturating_sub(mpdu.len());
    let bytes = mpdu.iter().copied().chain(std::iter::repeat_n(0, padding));
    !bytes.fold(u32::MAX, crc::crc32)
}
