//! A connection to a node whose window is one segment, and the peer's data that waits here.

use redpoll_base::Instant;
use redpoll_wire::tcp::{Flags, SeqNum};

use super::packet::ParsedPacket;
use crate::taim::End;

/// Maximum payload of a packet of 1,280 bytes.
const LONGEST: u32 = 1_220;

/// The state of a connection, without its data.
#[derive(Clone, Copy, Debug)]
pub struct FlowSlot {
    pub(super) is_used: bool,
    pub(super) mesh: End,
    pub(super) host: End,
    pub(super) active_at: Instant,
    /// First byte that the node has not acknowledged, if known. The stored data begins there.
    pub(super) una: Option<SeqNum>,
    /// Number of stored bytes; `sent`: number of these bytes forwarded since the peer's last
    /// retransmission; `ever`: number of these bytes forwarded at least once.
    pub(super) len: u32,
    pub(super) sent: u32,
    pub(super) ever: u32,
    /// The byte before the stored data, if known.
    pub(super) before: Option<u8>,
    /// Whether a FIN follows the data; `fin_sent`: whether the FIN has been forwarded.
    fin: bool,
    fin_sent: bool,
    pushed: bool,
    /// Whether the peer has retransmitted; its data are then forwarded whatever the node's window.
    again: bool,
    /// In bytes: the node's current window; `largest`: its largest window so far, at most `size`;
    /// `size`: the largest segment that the node accepts.
    window: u32,
    largest: u32,
    size: u32,
    /// Fields of the peer's last packet: version, traffic class and flow label; hop limit;
    /// acknowledgment.
    pub(super) class: [u8; 4],
    pub(super) hop_limit: u8,
    pub(super) host_ack: Option<SeqNum>,
    pub(super) host_window: u16,
    /// Sequence number between the two halves of the node's last segment.
    pub(super) split: Option<SeqNum>,
}

/// A piece to forward: its offset in the stored data, its length, and its PSH and FIN flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) at: u32,
    pub(super) len: u32,
    pub(super) push: bool,
    pub(super) fin: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DataPosition {
    /// The data was stored, except for bytes beyond the free room.
    Stays,
    /// The node has acknowledged all bytes of the segment.
    Old,
    /// Earlier data is missing.
    Gap,
    /// The node's acknowledgment is not known yet.
    Unknown,
}

impl FlowSlot {
    /// A free slot.
    pub const EMPTY: FlowSlot = FlowSlot {
        is_used: false,
        mesh: End {
            addr: redpoll_base::Addr([0; 16]),
            port: 0,
        },
        host: End {
            addr: redpoll_base::Addr([0; 16]),
            port: 0,
        },
        active_at: Instant::ZERO,
        una: None,
        len: 0,
        sent: 0,
        ever: 0,
        before: None,
        fin: false,
        fin_sent: false,
        pushed: false,
        again: false,
        window: 0,
        largest: 0,
        size: 0,
        class: [0x60, 0, 0, 0],
        hop_limit: 64,
        host_ack: None,
        host_window: 0,
        split: None,
    };

    /// Returns the state after the node's SYN `read`, which accepts segments of `size`.
    pub(super) fn new(read: &ParsedPacket, size: u16) -> FlowSlot {
        FlowSlot {
            is_used: true,
            mesh: read.from,
            host: read.to,
            size: u32::from(size).clamp(1, LONGEST),
            ..FlowSlot::EMPTY
        }
    }

    pub(super) fn on_answer(&mut self, now: Instant, read: &ParsedPacket) {
        self.active_at = now;
        (self.host_ack, self.host_window) = (Some(read.ack), read.window);
    }

    pub(super) fn next(&self) -> Option<SeqNum> {
        let fin = u32::from(self.fin_sent);
        Some(self.una? + self.sent + fin)
    }

    /// Handles an acknowledgment and window of the node; `bytes` is the stored data.
    pub(super) fn on_ack(&mut self, ack: SeqNum, window: u16, bytes: &mut [u8]) {
        self.window = window.into();
        self.largest = self.largest.max(self.window.min(self.size));
        let Some(una) = self.una else {
            self.una = Some(ack);
            return;
        };
        let by = ack.since(una);
        if by == 0 || by > u32::MAX >> 1 {
            return;
        }
        let passed = self.ever.saturating_add(self.fin_sent.into());
        if by > passed && by <= self.len.saturating_add(self.fin.into()) {
            // The acknowledgment covers data that were never forwarded to the node, so the peer
            // would ignore it, too.
            return;
        }
        let known = by.min(self.len);
        let last = bytes.get((known as usize).wrapping_sub(1));
        self.before = last.copied().filter(|_| by == known);
        bytes.copy_within(known as usize..self.len as usize, 0);
        if by > known {
            (self.fin, self.fin_sent) = (false, false);
        }
        self.una = Some(ack);
        self.len = self.len.saturating_sub(known);
        self.sent = self.sent.saturating_sub(known);
        self.ever = self.ever.saturating_sub(known);
    }

    /// Appends the new part of `payload`, the peer's data, to the data stored in `bytes`.
    pub(super) fn on_data(
        &mut self,
        read: &ParsedPacket,
        payload: &[u8],
        bytes: &mut [u8],
    ) -> DataPosition {
        let Some(una) = self.una else {
            return DataPosition::Unknown;
        };
        let fin = read.flags.fin();
        let offset = read.seq.since(una);
        let (at, payload) = match offset > u32::MAX >> 1 {
            false => (offset, payload),
            true => match payload.split_at_checked(offset.wrapping_neg() as usize) {
                Some((_, rest)) if !rest.is_empty() || fin => (0, rest),
                _ => return DataPosition::Old,
            },
        };
        if at > self.len || (self.fin && at == self.len && !payload.is_empty()) {
            return DataPosition::Gap;
        }
        let known = self.len.saturating_sub(at) as usize;
        let room = bytes.len().saturating_sub(self.len as usize);
        let new = payload.get(known..).unwrap_or_default();
        let count = new.len().min(room);
        let place = bytes.get_mut(self.len as usize..).unwrap_or_default();
        for (to, from) in place.iter_mut().zip(new.iter().take(count)) {
            *to = *from;
        }
        if count > 0 {
            self.pushed = count == new.len() && read.flags.contains(Flags::PSH);
        }
        self.len = self.len.saturating_add(count as u32);
        let end = at.saturating_add(payload.len() as u32);
        if fin && count == new.len() && end == self.len {
            if self.fin_sent {
                self.fin_sent = false;
                self.again = true;
            }
            self.fin = true;
        }
        if at < self.sent {
            self.sent = at;
            self.fin_sent = false;
            self.again = true;
        }
        DataPosition::Stays
    }

    /// Returns the next piece to forward: a full segment or all stored data. It returns a smaller
    /// piece only if no forwarded data awaits an acknowledgment.
    pub(super) fn piece(&self) -> Option<Piece> {
        self.una?;
        let rest = self.len.saturating_sub(self.sent);
        let whole = rest.min(self.largest.max(1));
        let room = self.window.saturating_sub(self.sent);
        let len = match (whole <= room || self.again, self.sent) {
            (true, _) => whole,
            (false, 0) => room,
            (false, _) => 0,
        };
        let is_last = self.sent.saturating_add(len) == self.len;
        let fin = self.fin && is_last && !self.fin_sent;
        (len > 0 || fin && rest == 0).then_some(Piece {
            at: self.sent,
            len,
            push: is_last && self.pushed && len > 0,
            fin,
        })
    }

    pub(super) fn on_passed(&mut self, piece: Piece) {
        self.sent = self.sent.saturating_add(piece.len);
        self.ever = self.ever.max(self.sent);
        self.fin_sent |= piece.fin;
        self.again = false;
    }
}
