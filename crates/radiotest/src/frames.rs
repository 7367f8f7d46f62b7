//! Builds frames byte by byte (IEEE 802.15.4-2006 §7.2), so that the tested code does not build the
//! frames of its own tests.

use crate::{IDENTITY, TESTER};

/// Frame control of a data frame: PAN ID compression, short source address.
const DATA: u16 = 0x8041;
/// Frame control of a MAC command: PAN ID compression, acknowledgment request, short addresses.
const COMMAND: u16 = 0x8863;
const TO_SHORT: u16 = 2 << 10;
const TO_EXTENDED: u16 = 3 << 10;
const ACK_REQUEST: u16 = 1 << 5;
const DATA_REQUEST: u8 = 4;

fn header(control: u16, dsn: u8, pan: u16, dst: &[u8], src: u16) -> Vec<u8> {
    let mut frame = Vec::from(control.to_le_bytes());
    frame.push(dsn);
    frame.extend(pan.to_le_bytes());
    frame.extend(dst);
    frame.extend(src.to_le_bytes());
    frame
}

fn with_payload(mut frame: Vec<u8>, len: usize) -> Vec<u8> {
    let dsn = frame[2];
    frame.extend((0..len).map(|at| (at as u8).wrapping_mul(7) ^ dsn));
    frame
}

/// Returns a data frame from the tester to a short address.
pub(crate) fn to_short(dsn: u8, dst: u16, wants_ack: bool, len: usize) -> Vec<u8> {
    in_pan(IDENTITY.pan_id, dsn, dst, wants_ack, len)
}

/// Returns a data frame from the tester to a short address in the PAN `pan`.
pub(crate) fn in_pan(pan: u16, dsn: u8, dst: u16, wants_ack: bool, len: usize) -> Vec<u8> {
    let ack = if wants_ack { ACK_REQUEST } else { 0 };
    let dst = dst.to_le_bytes();
    with_payload(header(DATA | TO_SHORT | ack, dsn, pan, &dst, TESTER), len)
}

/// Returns a data frame from the tester to the radio's extended address.
pub(crate) fn to_extended(dsn: u8, wants_ack: bool, len: usize) -> Vec<u8> {
    let ack = if wants_ack { ACK_REQUEST } else { 0 };
    let mut dst = IDENTITY.extended;
    dst.reverse();
    let control = DATA | TO_EXTENDED | ack;
    with_payload(header(control, dsn, IDENTITY.pan_id, &dst, TESTER), len)
}

pub(crate) fn from_radio(dsn: u8, wants_ack: bool, len: usize) -> Vec<u8> {
    let ack = if wants_ack { ACK_REQUEST } else { 0 };
    let (dst, pan) = (TESTER.to_le_bytes(), IDENTITY.pan_id);
    with_payload(
        header(DATA | TO_SHORT | ack, dsn, pan, &dst, IDENTITY.short),
        len,
    )
}

pub(crate) fn data_request(dsn: u8, src: u16) -> Vec<u8> {
    let dst = IDENTITY.short.to_le_bytes();
    let mut frame = header(COMMAND, dsn, IDENTITY.pan_id, &dst, src);
    frame.push(DATA_REQUEST);
    frame
}

/// Returns an Imm-ACK's sequence number and frame-pending bit; `None` if `frame` is not an Imm-ACK.
pub(crate) fn as_ack(frame: &[u8]) -> Option<(u8, bool)> {
    match frame {
        [0x02, 0x00, dsn] => Some((*dsn, false)),
        [0x12, 0x00, dsn] => Some((*dsn, true)),
        _ => None,
    }
}
