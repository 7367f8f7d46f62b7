//! Captures in pcapng with link type IEEE802_15_4_TAP (283), for Wireshark and tshark: each frame
//! with its check sequence, after a header that describes its transmission.
//!
//! This module does not use a library, because three kinds of blocks suffice, times must be in
//! microseconds, and the file must always end with a whole block: after a failed write, the
//! incomplete block is cut off.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use redpoll_wire::ieee802154::fcs;

use super::{FrameTrace, TraceError, TracedFrame};

/// Bytes collected before they are written.
const WRITE_AT: usize = 64 * 1024;
/// Channel in captures, on channel page 0: the simulator has one channel.
const CHANNEL: u16 = 26;
/// LINKTYPE_IEEE802_15_4_TAP.
const LINK_TYPE: u16 = 283;

/// Block types (pcapng §4).
mod block {
    pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub const INTERFACE_DESCRIPTION: u32 = 1;
    pub const ENHANCED_PACKET: u32 = 6;
}

/// Options of blocks (pcapng §3.5, §4.1, §4.2).
mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const USER_APPLICATION: u16 = 4;
    pub const INTERFACE_NAME: u16 = 2;
    pub const TIME_RESOLUTION: u16 = 9;
}

/// Fields of the TAP header ("IEEE 802.15.4 TAP link type", §3).
mod tlv {
    pub const FCS_TYPE: u16 = 0;
    pub const RSS: u16 = 1;
    pub const CHANNEL_ASSIGNMENT: u16 = 3;
    pub const START_OF_FRAME: u16 = 5;
    pub const END_OF_FRAME: u16 = 6;
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Notes {
    /// Comment for the reader of the capture, such as a hint for decoding.
    pub comment: String,
    /// Time from 1970 to the beginning of the run, added to all times in the capture; zero in
    /// virtual time.
    pub origin: std::time::Duration,
}

/// A capture file. Some hundreds of frames are written at a time, and the rest when the file is
/// flushed or dropped.
#[derive(Debug)]
pub struct PcapngFile<F: Truncate = File> {
    file: F,
    path: String,
    blocks: Vec<u8>,
    /// Number of bytes in the file, which consists of whole blocks.
    written: u64,
    failed: bool,
    /// [`Notes::origin`] in microseconds.
    origin_us: u64,
}

pub trait Truncate: Write {
    /// Truncates the file to the first `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

impl Truncate for File {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        // Pipes and terminals cannot be truncated, and need not be.
        if self.metadata()?.is_file() {
            self.set_len(len)?;
        }
        Ok(())
    }
}

impl Truncate for io::Stdout {
    // Bytes that a reader has read cannot be removed.
    fn truncate(&mut self, _len: u64) -> io::Result<()> {
        Ok(())
    }
}

impl PcapngFile {
    pub fn create(path: &Path, notes: &Notes) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        match File::create(path) {
            Ok(file) => PcapngFile::new(file, name, notes),
            Err(source) => Err(TraceError { path: name, source }),
        }
    }
}

impl<F: Truncate> PcapngFile<F> {
    /// Creates a capture that writes to `file`, called `path` in errors. Writes its header at once.
    pub fn new(file: F, path: String, notes: &Notes) -> Result<Self, TraceError> {
        let mut capture = PcapngFile {
            file,
            path,
            blocks: Vec::with_capacity(WRITE_AT + 512),
            written: 0,
            failed: false,
            origin_us: u64::try_from(notes.origin.as_micros()).unwrap_or(0),
        };
        capture.put_block(block::SECTION_HEADER, |out| {
            put_u32(out, 0x1a2b_3c4d);
            put_u16(out, 1);
            put_u16(out, 0);
            // The section's length is not known in advance.
            out.extend_from_slice(&[0xff; 8]);
            if !notes.comment.is_empty() {
                put_option(out, option::COMMENT, notes.comment.as_bytes());
            }
            put_option(out, option::USER_APPLICATION, b"redpoll");
            put_option(out, option::END, &[]);
        });
        capture.put_block(block::INTERFACE_DESCRIPTION, |out| {
            put_u16(out, LINK_TYPE);
            put_u16(out, 0);
            // No maximum length: frames are never cut.
            put_u32(out, 0);
            put_option(out, option::INTERFACE_NAME, b"air");
            // The unit is microseconds: ten to the power of minus six.
            put_option(out, option::TIME_RESOLUTION, &[6]);
            put_option(out, option::END, &[]);
        });
        capture.write_out()?;
        Ok(capture)
    }

    fn put_block(&mut self, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.blocks;
        let start = out.len();
        put_u32(out, kind);
        put_u32(out, 0);
        fill(out);
        pad(out, start);
        let len = (out.len() - start + 4) as u32;
        out[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
        put_u32(out, len);
    }

    fn write_out(&mut self) -> Result<(), TraceError> {
        if self.failed {
            self.blocks.clear();
            return Ok(());
        }
        let mut rest = self.blocks.as_slice();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(self.fail(rest.len(), io::ErrorKind::WriteZero.into())),
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail(rest.len(), error)),
            }
        }
        self.written += self.blocks.len() as u64;
        self.blocks.clear();
        Ok(())
    }

    /// Truncates the file after its last whole block; `missing` collected bytes were not written.
    fn fail(&mut self, missing: usize, source: io::Error) -> TraceError {
        let arrived = self.blocks.len() - missing;
        let mut whole = 0;
        while let Some(len) = self.blocks.get(whole + 4..whole + 8) {
            let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
            if whole + len > arrived {
                break;
            }
            whole += len;
        }
        // If the truncation fails as well, readers find an incomplete block at the end.
        let _ = self.file.truncate(self.written + whole as u64);
        self.failed = true;
        self.blocks.clear();
        TraceError {
            path: self.path.clone(),
            source,
        }
    }
}

impl<F: Truncate> FrameTrace for PcapngFile<F> {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let time = self.origin_us + frame.start.as_micros();
        self.put_block(block::ENHANCED_PACKET, |out| put_packet(out, time, frame));
        if self.blocks.len() >= WRITE_AT {
            self.write_out()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.write_out()?;
        self.file.flush().map_err(|source| self.fail(0, source))
    }
}

impl<F: Truncate> Drop for PcapngFile<F> {
    fn drop(&mut self) {
        // An error is ignored here. A caller that needs errors flushes the file first.
        let _ = self.write_out();
    }
}

/// Writes the body of an enhanced packet block (pcapng §4.3).
fn put_packet(out: &mut Vec<u8>, time: u64, frame: &TracedFrame<'_>) {
    put_u32(out, 0);
    put_u32(out, (time >> 32) as u32);
    put_u32(out, time as u32);
    let lengths = out.len();
    out.extend_from_slice(&[0; 8]);
    let start = out.len();
    put_tap_header(out, frame);
    out.extend_from_slice(frame.mpdu);
    put_u16(out, fcs(frame.mpdu));
    let len = (out.len() - start) as u32;
    out[lengths..lengths + 4].copy_from_slice(&len.to_le_bytes());
    out[lengths + 4..lengths + 8].copy_from_slice(&len.to_le_bytes());
    pad(out, start);
}

fn put_tap_header(out: &mut Vec<u8>, frame: &TracedFrame<'_>) {
    let start = out.len();
    // Version and reserved.
    out.extend_from_slice(&[0; 2]);
    put_u16(out, 0);
    // 1 means the 16-bit CRC.
    put_field(out, tlv::FCS_TYPE, &[1]);
    if let Some(rssi) = frame.rssi_dbm {
        put_field(out, tlv::RSS, &f32::from(rssi).to_le_bytes());
    }
    let [low, high] = CHANNEL.to_le_bytes();
    put_field(out, tlv::CHANNEL_ASSIGNMENT, &[low, high, 0]);
    // TAP stores the times in nanoseconds.
    let start_ns = frame.start.as_micros() * 1_000;
    let end_ns = frame.end.as_micros() * 1_000;
    put_field(out, tlv::START_OF_FRAME, &start_ns.to_le_bytes());
    put_field(out, tlv::END_OF_FRAME, &end_ns.to_le_bytes());
    let len = (out.len() - start) as u16;
    out[start + 2..start + 4].copy_from_slice(&len.to_le_bytes());
}

/// Writes a field of the TAP header or an option of a block, which have the same format.
fn put_field(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    put_u16(out, kind);
    put_u16(out, value.len() as u16);
    let start = out.len();
    out.extend_from_slice(value);
    pad(out, start);
}

fn put_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    put_field(out, code, value);
}

/// Pads to a multiple of four bytes, counted from `start`.
fn pad(out: &mut Vec<u8>, start: usize) {
    let len = (out.len() - start).next_multiple_of(4);
    out.resize(start + len, 0);
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}
