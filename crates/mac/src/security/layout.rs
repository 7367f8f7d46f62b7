//! The parts of a secured frame (IEEE 802.15.4-2015 §9.4).

use redpoll_base::copy;
use redpoll_wire::ieee802154::{self, AuxiliaryHeader, FrameHeader, FrameType};

use super::Refusal;
use crate::FrameBuf;

/// Returns the auxiliary header at the start of a frame's payload.
pub(super) fn auxiliary(header: &FrameHeader, payload: &[u8]) -> Result<AuxiliaryHeader, Refusal> {
    if !header.security {
        return Err(Refusal::Unsecured);
    }
    // Frame version 0 (IEEE 802.15.4-2003) has incompatible security.
    if header.version == 0 {
        return Err(Refusal::Malformed);
    }
    let parsed = AuxiliaryHeader::parse(payload);
    parsed.map(|(aux, _)| aux).map_err(|_| Refusal::Malformed)
}

/// The parts of a secured frame: MAC header, auxiliary header, unencrypted part, message, code.
pub(super) struct Layout {
    pub(super) header_len: usize,
    pub(super) body_at: usize,
    pub(super) open_end: usize,
    pub(super) mic_at: usize,
}

impl Layout {
    /// Returns the layout of a frame of `len` bytes; `None` if it is too short for its parts.
    pub(super) fn of(
        header: &FrameHeader,
        header_len: usize,
        aux: &AuxiliaryHeader,
        frame_len: usize,
    ) -> Option<Layout> {
        let body_at = header_len.checked_add(aux.len())?;
        let mic_at = frame_len.checked_sub(aux.level.mic_len())?;
        let message_at = body_at.checked_add(open_len(header))?;
        (message_at <= mic_at).then_some(Layout {
            header_len,
            body_at,
            open_end: if aux.level.encrypts() {
                message_at
            } else {
                mic_at
            },
            mic_at,
        })
    }

    /// Copies the frame without its security to `clear`, and calls `open` with the unencrypted
    /// part, the message in `clear`, which `open` decrypts, and the integrity code. Returns the
    /// result of `open`, or `false` if a part does not fit.
    pub(super) fn uncover(
        &self,
        frame: &[u8],
        clear: &mut FrameBuf,
        open: impl FnOnce(&[u8], &mut [u8], &[u8]) -> bool,
    ) -> bool {
        let parts = (
            frame.get(..self.header_len),
            frame.get(self.body_at..self.mic_at),
            frame.get(..self.open_end),
            frame.get(self.mic_at..),
        );
        let (Some(header), Some(body), Some(public), Some(mic)) = parts else {
            return false;
        };
        clear.set_len(header.len().saturating_add(body.len()));
        let room = clear.as_mut_slice();
        copy(header, room);
        copy(body, room.get_mut(self.header_len..).unwrap_or_default());
        ieee802154::set_security(room, false);
        let aux_len = self.body_at.saturating_sub(self.header_len);
        let message_at = self.open_end.saturating_sub(aux_len);
        match room.get_mut(message_at..) {
            Some(message) => open(public, message, mic),
            None => false,
        }
    }
}

/// Returns the number of payload bytes that are never encrypted: 1 in a MAC command, the identifier
/// (IEEE 802.15.4-2006 table 59; frame versions before 2), and 0 in other frames.
pub(super) const fn open_len(header: &FrameHeader) -> usize {
    match header.frame_type {
        FrameType::Command => 1,
        _ => 0,
    }
}
