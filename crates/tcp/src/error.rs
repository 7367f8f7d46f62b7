//! Errors that the application and the caller see.

use core::fmt;

/// Reason why a connection ended, other than a normal close.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The peer reset the connection (RFC 9293 §3.5.3), or acknowledged bytes that a connection
    /// restored from an old copy never sent ([`Connection::thaw`](crate::Connection::thaw)).
    Reset,
    /// The peer, or a host on its behalf, refused the connection.
    Refused,
    /// The peer did not answer. Either the limit of retransmissions (RFC 9293 §3.8.3, R2), window
    /// probes or keep-alive probes was reached, or an orphaned connection did not close in time.
    TimedOut,
    /// The user timeout ran out (RFC 9293 §3.10.8).
    UserTimeout,
    /// The network has no route to the peer of a connection in its handshake (RFC 9293 §3.9.2.2).
    Unreachable,
    /// The application aborted the connection.
    Aborted,
}

/// Reason why no bytes are accepted for sending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The application closed its direction (RFC 9293 §3.10.2, "connection closing").
    Closing,
    /// The connection has ended, with the error that ended it, if any.
    Closed(Option<Error>),
}

/// Reason why no bytes are returned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RecvError {
    /// No data have arrived yet; [`Event::Readable`](crate::Event) follows when they do.
    WouldBlock,
    /// The connection ended by this error; its unread data are lost.
    Failed(Error),
}

/// The bytes of a token are gone: they were acknowledged, or the connection was reset or aborted.
/// The link need not send the rest of the segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gone;

/// Reason why bytes are not a TCP segment.
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
            RecvError::WouldBlock => "no data have arrived yet",
            RecvError::Failed(_) => "connection failed",
        })
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes were acknowledged, or the connection was reset or aborted")
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::Truncated => "the TCP header is cut short",
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
