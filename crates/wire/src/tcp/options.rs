//! The option list of a TCP header (RFC 9293 §3.1, §3.2).

use core::iter::FusedIterator;

use crate::Error;

/// Kinds of options.
pub mod kind {
    /// End of Option List (RFC 9293 §3.2).
    pub const END: u8 = 0;
    /// No-Operation (RFC 9293 §3.2).
    pub const NOP: u8 = 1;
    /// Maximum Segment Size (RFC 9293 §3.2).
    pub const MSS: u8 = 2;
    /// Window Scale (RFC 7323 §2.2).
    pub const WINDOW_SCALE: u8 = 3;
    /// SACK Permitted (RFC 2018 §2).
    pub const SACK_PERMITTED: u8 = 4;
    /// SACK (RFC 2018 §3).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323 §3.2).
    pub const TIMESTAMPS: u8 = 8;
    /// User Timeout (RFC 5482 §3.1).
    pub const USER_TIMEOUT: u8 = 28;
    /// Fast Open Cookie (RFC 7413 §4.1.1).
    pub const FAST_OPEN: u8 = 34;
}

/// The option list of a header: 0 to 40 bytes, after the first 20 bytes of the header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OptionList<'a>(pub &'a [u8]);

impl<'a> OptionList<'a> {
    /// Reads every item, including NOP, END and, as an error, an option of an impossible length.
    /// Use it to judge a sender or to display its bytes.
    pub fn strict(self) -> StrictOptions<'a> {
        StrictOptions { rest: self.0 }
    }

    /// Reads kind and value of each option as a receiver does (RFC 9293 §3.1, MUST-6, MUST-7): NOPs
    /// are skipped, and END or an impossible length ends the list.
    pub fn lenient(self) -> LenientOptions<'a> {
        LenientOptions(self.strict())
    }

    /// Returns the value of the first option of `kind` that a [receiver](Self::lenient) finds.
    pub fn find(self, kind: u8) -> Option<&'a [u8]> {
        let mut options = self.lenient();
        options.find_map(|(it, value)| (it == kind).then_some(value))
    }
}

/// An item of an option list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionItem<'a> {
    /// End of Option List; the bytes after it are padding.
    End,
    /// No-Operation.
    Nop,
    /// Any other option.
    Option {
        /// Kind of the option, 2 to 255; see [`kind`].
        kind: u8,
        /// Bytes of the option after its kind and length. The length field of the option is 2 more.
        value: &'a [u8],
    },
}

/// Reads every item of an option list: see [`OptionList::strict`]. An item is [`Error::Truncated`]
/// if the length byte is missing, [`Error::Length`] if the length is below 2 or exceeds the end of
/// the list. [`OptionItem::End`] or an error is the last item.
#[derive(Clone, Debug)]
pub struct StrictOptions<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for StrictOptions<'a> {
    type Item = Result<OptionItem<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, tail) = self.rest.split_first()?;
        let item = match *kind {
            kind::END => Ok((OptionItem::End, &[][..])),
            kind::NOP => Ok((OptionItem::Nop, tail)),
            kind => self.option(kind, tail),
        };
        let (item, rest) = match item {
            Ok((item, rest)) => (Ok(item), rest),
            Err(error) => (Err(error), &[][..]),
        };
        self.rest = rest;
        Some(item)
    }
}

impl FusedIterator for StrictOptions<'_> {}

impl<'a> StrictOptions<'a> {
    /// Returns the option of `kind` at the start, and the bytes after it.
    fn option(&self, kind: u8, tail: &[u8]) -> Result<(OptionItem<'a>, &'a [u8]), Error> {
        let len = tail.first().ok_or(Error::Truncated)?;
        let (option, rest) = self
            .rest
            .split_at_checked(usize::from(*len))
            .ok_or(Error::Length)?;
        // The length counts kind and length.
        let value = option.get(2..).ok_or(Error::Length)?;
        Ok((OptionItem::Option { kind, value }, rest))
    }
}

/// Reads kind and value of each option as a receiver does: see [`OptionList::lenient`].
#[derive(Clone, Debug)]
pub struct LenientOptions<'a>(StrictOptions<'a>);

impl<'a> Iterator for LenientOptions<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(OptionItem::Option { kind, value }) => return Some((kind, value)),
                Ok(OptionItem::Nop) => {}
                Ok(OptionItem::End) | Err(_) => return None,
            }
        }
    }
}

impl FusedIterator for LenientOptions<'_> {}
