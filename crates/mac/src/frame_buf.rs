//! A buffer for one frame.

use core::ops::Deref;

use redpoll_wire::NoRoom;

/// One frame: an MPDU without its frame check sequence. It dereferences to the frame's bytes.
#[derive(Clone)]
pub struct FrameBuf {
    bytes: [u8; FrameBuf::CAPACITY],
    len: u8,
}

impl FrameBuf {
    /// Bytes of the longest frame: aMaxPHYPacketSize (127) less the FCS.
    pub const CAPACITY: usize = 125;

    /// Returns an empty buffer.
    pub const fn new() -> Self {
        FrameBuf {
            bytes: [0; Self::CAPACITY],
            len: 0,
        }
    }

    /// Replaces the content by `frame`.
    ///
    /// # Errors
    /// [`NoRoom`], without a change, if `frame` has more than [`FrameBuf::CAPACITY`] bytes.
    pub fn copy_from(&mut self, frame: &[u8]) -> Result<(), NoRoom> {
        let room = self.bytes.get_mut(..frame.len()).ok_or(NoRoom)?;
        room.copy_from_slice(frame);
        self.len = u8::try_from(frame.len()).map_err(|_| NoRoom)?;
        Ok(())
    }

    /// Returns the whole buffer, for writing a frame in place before [`Self::set_len`].
    pub(crate) fn room_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    #[allow(dead_code, reason = "unused in a MAC without security")]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        let len = usize::from(self.len);
        self.bytes.get_mut(..len).unwrap_or_default()
    }

    pub(crate) fn set_len(&mut self, len: usize) {
        self.len = u8::try_from(len.min(Self::CAPACITY)).unwrap_or_default();
    }
}

impl Deref for FrameBuf {
    type Target = [u8];

    #[inline(never)] // size
    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Default for FrameBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for FrameBuf {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("FrameBuf").field(&&**self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_exactly_what_fits() {
        let mut buffer = FrameBuf::new();
        assert!(buffer.is_empty());
        let bytes: [u8; 126] = core::array::from_fn(|i| i as u8);
        assert_eq!(buffer.copy_from(&bytes[..125]), Ok(()));
        assert_eq!(*buffer, bytes[..125]);
        assert_eq!(buffer.copy_from(&bytes), Err(NoRoom));
        assert_eq!(*buffer, bytes[..125], "a refused frame changes nothing");
        assert_eq!(buffer.copy_from(&bytes[..3]), Ok(()));
        assert_eq!(*buffer, bytes[..3]);
        assert_eq!(buffer.copy_from(b""), Ok(()));
        assert!(buffer.is_empty());
    }
}
