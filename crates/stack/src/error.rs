//! What a socket call can answer instead of a result.

use core::fmt;

/// Why a socket call could not be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The handle names nothing, or something that is gone.
    UnknownHandle,
    /// Every slot of this kind of socket is in use.
    NoSlot,
    /// The port is taken, or no ephemeral port is free.
    PortInUse,
    /// No route leads to the destination.
    NoRoute,
    /// The data do not fit one datagram.
    TooLong,
    /// Nothing can be sent or received at the moment; try after the next event.
    WouldBlock,
    /// The connection is not (or no longer) open for this.
    NotConnected,
    /// The connection failed.
    Failed(redpoll_tcp::Error),
    /// The bytes are no connection that could go on.
    Thaw(redpoll_tcp::ThawError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownHandle => f.write_str("the socket handle is not valid"),
            Error::NoSlot => f.write_str("no free socket slot"),
            Error::PortInUse => f.write_str("the port is in use"),
            Error::NoRoute => f.write_str("no route to the destination"),
            Error::TooLong => f.write_str("the data do not fit one datagram"),
            Error::WouldBlock => f.write_str("the call would block"),
            Error::NotConnected => f.write_str("the connection is not open"),
            Error::Failed(error) => write!(f, "the connection failed: {error:?}"),
            Error::Thaw(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for Error {}
