//! Errors of received bytes and of too small buffers.

use core::fmt;

/// A reason why bytes are not a valid header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end before the end of the header, or are fewer than the header announces.
    Truncated,
    /// An unknown version number.
    Version,
    /// A length or offset field contradicts the rest of the packet.
    Length,
    /// The checksum is wrong, or missing although it is required.
    Checksum,
    /// A value that the standard reserves.
    Reserved,
    /// A valid format that Redpoll does not implement.
    Unsupported,
    /// A 6LoWPAN address refers to this unknown context, 0 to 15.
    UnknownContext(u8),
    /// An elided address needs a link-layer address that the frame lacks.
    NoLinkAddress,
    /// The buffer offered for the result is too short.
    NoRoom,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated => f.write_str("truncated"),
            Error::Version => f.write_str("unknown version"),
            Error::Length => f.write_str("a length or offset field contradicts the packet"),
            Error::Checksum => f.write_str("wrong checksum"),
            Error::Reserved => f.write_str("reserved value"),
            Error::Unsupported => f.write_str("unsupported format"),
            Error::UnknownContext(cid) => write!(f, "unknown 6LoWPAN context {cid}"),
            Error::NoLinkAddress => f.write_str(
                "an elided address, but the frame has no \
                link-layer address",
            ),
            Error::NoRoom => f.write_str("the buffer is too small"),
        }
    }
}

impl core::error::Error for Error {}

/// The buffer is too short for what was to be written. Each `put` of a [`Cursor`](crate::Cursor)
/// writes all or nothing. A function that calls several may have written a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the buffer is too small")
    }
}

impl core::error::Error for NoRoom {}

impl From<NoRoom> for Error {
    fn from(_: NoRoom) -> Self {
        Error::NoRoom
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    /// Dissectors print these texts, so each must name its own cause.
    #[test]
    fn each_error_has_its_own_text() {
        let texts = [
            (Error::Truncated, "truncated"),
            (Error::Version, "unknown version"),
            (
                Error::Length,
                "a length or offset field contradicts the packet",
            ),
            (Error::Checksum, "wrong checksum"),
            (Error::Reserved, "reserved value"),
            (Error::Unsupported, "unsupported format"),
            (Error::UnknownContext(11), "unknown 6LoWPAN context 11"),
            (
                Error::NoLinkAddress,
                "an elided address, but the frame has no link-layer address",
            ),
            (Error::NoRoom, "the buffer is too small"),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
        assert_eq!(NoRoom.to_string(), Error::from(NoRoom).to_string());
        assert_eq!(Error::from(NoRoom), Error::NoRoom);
    }
}
