//! The errors of socket calls.

use core::fmt;

/// Why a socket call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The handle is invalid: it never existed, or its socket was closed.
    UnknownHandle,
    /// Every slot of this kind of socket is in use.
    NoSlot,
    /// The port is in use, or no ephemeral port is free.
    PortInUse,
    /// No route leads to the destination.
    NoRoute,
    /// The data do not fit in one datagram.
    TooLong,
    /// No data can be sent or received now; try again after the next event.
    WouldBlock,
    /// The connection is not open yet, or no longer open, in the direction of this call.
    NotConnected,
    /// The connection failed for this reason.
    Failed(redpoll_tcp::Error),
    /// The bytes do not contain a frozen connection that can be restored.
    Thaw(redpoll_tcp::ThawError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::UnknownHandle => "the socket handle is not valid",
            Error::NoSlot => "no free socket slot",
            Error::PortInUse => "the port is in use",
            Error::NoRoute => "no route to the destination",
            Error::TooLong => "the data do not fit into one datagram",
            Error::WouldBlock => "the call would block",
            Error::NotConnected => "the connection is not open",
            Error::Failed(_) => "the connection failed",
            Error::Thaw(_) => "the frozen connection cannot be restored",
        })
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Error::Failed(error) => Some(error),
            Error::Thaw(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error as _;
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn errors_of_tcp_are_sources() {
        let failed = Error::Failed(redpoll_tcp::Error::TimedOut);
        let thaw = Error::Thaw(redpoll_tcp::ThawError::Spent);
        let source = |error: Error| error.source().map(|it| it.to_string());
        let tcp = redpoll_tcp::Error::TimedOut.to_string();
        assert_eq!(source(failed), Some(tcp));
        let spent = redpoll_tcp::ThawError::Spent.to_string();
        assert_eq!(source(thaw), Some(spent));
        assert_eq!(source(Error::NoRoute), None);
    }

    #[test]
    fn each_error_has_its_own_text() {
        let texts = [
            (Error::UnknownHandle, "the socket handle is not valid"),
            (Error::NoSlot, "no free socket slot"),
            (Error::PortInUse, "the port is in use"),
            (Error::NoRoute, "no route to the destination"),
            (Error::TooLong, "the data do not fit into one datagram"),
            (Error::WouldBlock, "the call would block"),
            (Error::NotConnected, "the connection is not open"),
            (
                Error::Failed(redpoll_tcp::Error::TimedOut),
                "the connection failed",
            ),
            (
                Error::Thaw(redpoll_tcp::ThawError::Spent),
                "the frozen connection cannot be restored",
            ),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
    }
}
