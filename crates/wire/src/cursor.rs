//! Cursors that write into, and read from, buffers of the caller.
//!
//! Every `emit` writes through a [`Cursor`], so that the length and the content of a header agree.
//! Most parsers use a [`Reader`], which never reads past the end. Both use network byte order
//! unless a name says `le`.

#[cfg(test)]
mod tests;

use crate::{Error, NoRoom};
use redpoll_base::copy;

/// Up to this number of bytes, a loop is faster than a call of `memcpy`.
const FEW: usize = 16;

/// A write position in a buffer.
///
/// ```
/// use redpoll_wire::{Cursor, NoRoom};
/// let mut buffer = [0; 4];
/// let mut out = Cursor::new(&mut buffer);
/// out.put_u16(0x6000)?;
/// assert_eq!(out.put_u32(1), Err(NoRoom));
/// assert_eq!(out.written(), [0x60, 0x00]);
/// # Ok::<(), NoRoom>(())
/// ```
#[derive(Debug)]
pub struct Cursor<'a> {
    buffer: &'a mut [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the start of `buffer`.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Cursor {
            buffer,
            position: 0,
        }
    }

    /// Reserves the next `len` bytes, to be filled in place; the cursor moves past them.
    ///
    /// # Errors
    /// [`NoRoom`] when fewer bytes remain; the cursor does not move.
    #[inline(never)] // size
    pub fn reserve(&mut self, len: usize) -> Result<&mut [u8], NoRoom> {
        let end = self.position.checked_add(len).ok_or(NoRoom)?;
        let room = self.buffer.get_mut(self.position..end).ok_or(NoRoom)?;
        self.position = end;
        Ok(room)
    }

    /// Writes `bytes`.
    ///
    /// # Errors
    /// [`NoRoom`] if not all bytes fit; then none is written. This applies to all `put` methods.
    #[inline(never)] // size
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let places = self.reserve(bytes.len())?;
        if bytes.len() > FEW {
            copy(bytes, places);
            return Ok(());
        }
        for (place, byte) in places.iter_mut().zip(bytes) {
            *place = *byte;
        }
        Ok(())
    }

    /// Writes a byte.
    #[inline(never)] // size
    pub fn put_u8(&mut self, value: u8) -> Result<(), NoRoom> {
        self.put(&[value])
    }

    /// Writes 16 bits in network order.
    #[inline(never)] // size
    pub fn put_u16(&mut self, value: u16) -> Result<(), NoRoom> {
        self.put(&value.to_be_bytes())
    }

    /// Writes 16 bits, low byte first, as IEEE 802.15.4 does.
    pub fn put_u16_le(&mut self, value: u16) -> Result<(), NoRoom> {
        self.put(&value.to_le_bytes())
    }

    /// Writes 32 bits in network order.
    #[inline(never)] // size
    pub fn put_u32(&mut self, value: u32) -> Result<(), NoRoom> {
        self.put(&value.to_be_bytes())
    }

    /// Writes `len` zero bytes.
    pub fn put_zeros(&mut self, len: usize) -> Result<(), NoRoom> {
        self.reserve(len)?.fill(0);
        Ok(())
    }

    /// Replaces 16 bits at `position`, such as a length or checksum that is known only later.
    ///
    /// # Errors
    /// [`NoRoom`] unless `position` is at least two bytes before the cursor.
    pub fn patch_u16(&mut self, position: usize, value: u16) -> Result<(), NoRoom> {
        let field = self
            .written_mut()
            .get_mut(position..)
            .and_then(|tail| tail.first_chunk_mut::<2>())
            .ok_or(NoRoom)?;
        *field = value.to_be_bytes();
        Ok(())
    }

    /// Returns the number of bytes written.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of bytes that can still be written.
    pub fn remaining(&self) -> usize {
        self.buffer.len().saturating_sub(self.position)
    }

    /// Returns the written bytes.
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.position).unwrap_or_default()
    }

    /// Returns the written bytes for changes in place.
    pub fn written_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.position).unwrap_or_default()
    }

    /// Returns the free part of the buffer. Bytes written there count once [`Cursor::reserve`] has
    /// moved past them.
    pub fn rest_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.position..).unwrap_or_default()
    }

    /// Returns the written bytes for the buffer's lifetime.
    pub fn into_written(self) -> &'a mut [u8] {
        self.buffer.get_mut(..self.position).unwrap_or_default()
    }
}

/// A read position in received bytes. If the bytes end too early, a method fails with
/// [`Error::Truncated`] and the position does not move.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Returns a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// Returns the next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (head, tail) = self.rest.split_at_checked(len).ok_or(Error::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    /// Returns the next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(Error::Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    /// Returns the next byte.
    #[inline(never)] // size
    pub fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_be_bytes)
    }

    /// Returns the next 16 bits, in network order.
    #[inline(never)] // size
    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    /// Returns the next 16 bits, low byte first, as in IEEE 802.15.4.
    pub fn u16_le(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    /// Returns the next 32 bits, in network order.
    #[inline(never)] // size
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    /// Returns the next byte without moving past it.
    pub fn peek(&self) -> Result<u8, Error> {
        self.rest.first().copied().ok_or(Error::Truncated)
    }

    /// Returns all bytes that have not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}
