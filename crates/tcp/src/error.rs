//! What can go wrong, as the application and the caller see it.

use core::fmt;

/// Why a connection ended other than by a normal close.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The peer reset the connection (RFC 9293 §3.5.3). Or it was taken up from an old copy
    /// ([`Connection::thaw`](crate::Connection::thaw)) and the peer is ahead of it.
    Reset,
    /// The peer, or a host on its behalf, refused the connection.
    Refused,
    /// The peer did not answer: retransmissions (RFC 9293 §3.8.3, R2), window
    /// probes or keep-alives ran out, or a connection that the application
    /// had let go did not end in time.
    TimedOut,
    /// The user timeout ran out (RFC 9293 §3.10.8).
    UserTimeout,
    /// The network has no way to the peer and the connection was not yet
    /// established (RFC 9293 §3.9.2.2).
    Unreachable,
    /// The application aborted the connection.
    Aborted,
}

/// Why bytes cannot be taken for sending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The application closed its direction (RFC 9293 §3.10.2, "connection closing").
    Closing,
    /// The connection is gone.
    Closed(Option<Error>),
}

/// Why no bytes are handed out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RecvError {
    /// Nothing has arrived yet; [`Event::Readable`](crate::Event) will say when.
    WouldBlock,
    /// The connection ended by this error; its unread data is gone.
    Failed(Error),
}

/// The bytes behind a token are no longer there: they were acknowledged, or
/// the connection was reset or aborted. What is left of the segment need not
/// be sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gone;

/// Why bytes are not a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ParseError {
    /// Shorter than a header.
    Truncated,
    /// The data offset is below five words or past the end.
    DataOffset,
    /// The checksum is wrong.
    Checksum,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Reset => "connection reset by peer",
            Error::Refused => "connection refused",
            Error::TimedOut => "connection timed out",
            Error::UserTimeout => "connection aborted due to user timeout",
            Error::Unreachable => "peer unreachable",
            Error::Aborted => "connection aborted",
        })
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::Closing => "connection closing",
            SendError::Closed(None) => "connection closed",
            SendError::Closed(Some(_)) => "connection failed",
        })
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecvError::WouldBlock => "no data yet",
            RecvError::Failed(_) => "connection failed",
        })
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the segment is no longer needed")
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::Truncated => "TCP header cut short",
            ParseError::DataOffset => "impossible TCP data offset",
            ParseError::Checksum => "wrong TCP checksum",
        })
    }
}

impl core::error::Error for Error {}
impl core::error::Error for Gone {}
impl core::error::Error for ParseError {}

impl core::error::Error for SendError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SendError::Closed(Some(error)) => Some(error),
            SendError::Closed(None) | SendError::Closing => None,
        }
    }
}

impl core::error::Error for RecvError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            RecvError::Failed(error) => Some(error),
            RecvError::WouldBlock => None,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::error::Error as _;
    use std::string::ToString as _;

    use super::*;

    /// A report of an error and its sources names the error of the connection once.
    #[test]
    fn the_error_of_the_connection_is_the_source() {
        let send = SendError::Closed(Some(Error::Reset));
        assert_eq!(send.to_string(), "connection failed");
        let recv = RecvError::Failed(Error::Reset);
        for source in [send.source(), recv.source()] {
            assert_eq!(source.unwrap().to_string(), Error::Reset.to_string());
        }
        assert!(SendError::Closed(None).source().is_none());
        assert!(SendError::Closing.source().is_none());
        assert!(RecvError::WouldBlock.source().is_none());
    }
}
