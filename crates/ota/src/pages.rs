//! Writes bytes to flash page by page, in the order of arrival.

/// Buffer for one flash page in the caller's memory, such as `[u8; 256]` or `&mut [u8]`. If this
/// memory is lost, an incomplete page must be downloaded again.
#[derive(Debug)]
pub struct Pages<P> {
    page: P,
    filled: usize,
    begin: u64,
}

impl<P: AsMut<[u8]>> Pages<P> {
    /// Continues an image at offset `begin`. `page` has the length of a flash page; an empty `page`
    /// accepts no bytes.
    pub fn new(page: P, begin: u64) -> Pages<P> {
        Pages {
            page,
            filled: 0,
            begin,
        }
    }

    /// Adds the next bytes, and calls `write` with the offset and the bytes of each full page.
    ///
    /// # Errors
    /// The error of `write`; the bytes after the page that `write` rejected are then not added.
    pub fn push<E>(
        &mut self,
        mut bytes: &[u8],
        mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let page = self.page.as_mut();
            let room = page.get_mut(self.filled..).unwrap_or_default();
            let len = room.len().min(bytes.len());
            let (now, later) = bytes.split_at(len);
            for (place, byte) in room.iter_mut().zip(now) {
                *place = *byte;
            }
            let is_full = len == room.len();
            self.filled += len;
            bytes = later;
            if !is_full || self.filled == 0 {
                return Ok(());
            }
            self.flush(&mut write)?;
        }
    }

    /// Calls `write` for the incomplete last page at the end of the image.
    ///
    /// # Errors
    /// The error of `write`.
    pub fn finish<E>(
        &mut self,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.filled {
            0 => Ok(()),
            _ => self.flush(&mut write),
        }
    }

    /// Returns the number of bytes written, counted from the start of the image.
    pub fn durable(&self) -> u64 {
        self.begin
    }

    fn flush<E>(&mut self, write: &mut impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let page = self.page.as_mut().get(..self.filled).unwrap_or_default();
        write(self.begin, page)?;
        self.begin += page.len() as u64;
        self.filled = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn pages_are_written_whole_and_the_last_one_at_the_end() {
        let image: Vec<u8> = (0..21).collect();
        for piece in 1..21 {
            let mut pages = Pages::new([0; 8], 16);
            let mut written = Vec::new();
            let mut write = |at: u64, page: &[u8]| {
                written.push((at, page.to_vec()));
                Ok::<_, ()>(())
            };
            for bytes in image.chunks(piece) {
                pages.push(bytes, &mut write).unwrap();
            }
            assert_eq!(pages.durable(), 32);
            pages.finish(&mut write).unwrap();
            pages.finish(&mut write).unwrap();
            assert_eq!(pages.durable(), 37);
            let starts: Vec<u64> = written.iter().map(|(at, _)| *at).collect();
            assert_eq!(starts, [16, 24, 32], "{piece}");
            let bytes: Vec<u8> = written.into_iter().flat_map(|(_, page)| page).collect();
            assert_eq!(bytes, image);
        }
    }

    #[test]
    fn a_page_that_cannot_be_written_is_not_durable() {
        let mut page = [0; 4];
        let mut pages = Pages::new(&mut page, 0);
        assert_eq!(pages.push(b"abcdefgh", |_, _| Err("worn")), Err("worn"));
        assert_eq!(pages.durable(), 0);
        let mut pages = Pages::new([0; 0], 0);
        assert_eq!(pages.push(b"abc", |_, _| Err("never")), Ok(()));
    }
}
