//! Error numbers of POSIX calls.

use core::fmt;

use redpoll_stack as stack;
use redpoll_tcp as tcp;

macro_rules! errnos {
    ($($name:ident = $number:literal, $what:literal;)*) => {
        /// A value of `errno`, with the number that Linux uses on most processor architectures.
        /// `i32::from` returns the number of an error, and `Errno::from` the error of a number.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Errno {
            $(#[doc = $what] $name,)*
            /// A number without a name in this list. `Errno::from` makes it.
            Other(i32),
        }

        const NAMES: &[(&str, Errno)] = &[$((stringify!($name), Errno::$name)),*];

        impl From<Errno> for i32 {
            fn from(errno: Errno) -> i32 {
                match errno {
                    $(Errno::$name => $number,)*
                    Errno::Other(number) => number,
                }
            }
        }

        impl From<i32> for Errno {
            fn from(number: i32) -> Errno {
                match number {
                    $($number => Errno::$name,)*
                    number => Errno::Other(number),
                }
            }
        }
    };
}

errnos! {
    EBADF = 9, "The descriptor is not open.";
    EAGAIN = 11, "The call would block.";
    ENOMEM = 12, "Not enough memory.";
    EFAULT = 14, "Invalid pointer.";
    EINVAL = 22, "Invalid argument, or a call that is not allowed now.";
    EMFILE = 24, "No free descriptor, or no memory for another connection.";
    EPIPE = 32, "This side can no longer send.";
    ENOSYS = 38, "The call does not exist.";
    EDESTADDRREQ = 89, "The destination is missing.";
    EMSGSIZE = 90, "The data do not fit into one datagram.";
    ENOPROTOOPT = 92, "Unknown option.";
    EPROTONOSUPPORT = 93, "Unknown protocol.";
    EOPNOTSUPP = 95, "This kind of socket does not support the call, the call does not support \
        these flags, or `listen` was called on a socket without a port.";
    EAFNOSUPPORT = 97, "Unknown address family.";
    EADDRINUSE = 98, "The port is in use, or no port is free.";
    EADDRNOTAVAIL = 99, "Not an address of this node.";
    ENETUNREACH = 101, "No route to the destination.";
    ECONNABORTED = 103, "The connection was aborted on this side.";
    ECONNRESET = 104, "The peer reset the connection.";
    EISCONN = 106, "The socket is connected, or listens.";
    ENOTCONN = 107, "The socket is not connected.";
    ETIMEDOUT = 110, "The peer did not answer.";
    ECONNREFUSED = 111, "The peer refused the connection.";
    EHOSTUNREACH = 113, "A router reported the peer as unreachable.";
    EALREADY = 114, "The handshake is already in progress.";
    EINPROGRESS = 115, "The handshake has started.";
}

impl Errno {
    /// Returns the error number of a name such as `EAGAIN`.
    pub fn named(name: &str) -> Option<Errno> {
        let &(_, errno) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(errno)
    }

    /// Returns every name with its number.
    pub fn all() -> impl Iterator<Item = (&'static str, Errno)> {
        NAMES.iter().copied()
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, errno)| errno == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "errno {}", i32::from(*self)),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Errno {}

/// Converts the reason why a connection ended.
impl From<tcp::Error> for Errno {
    fn from(error: tcp::Error) -> Errno {
        match error {
            tcp::Error::Reset => Errno::ECONNRESET,
            tcp::Error::Refused => Errno::ECONNREFUSED,
            tcp::Error::TimedOut | tcp::Error::UserTimeout => Errno::ETIMEDOUT,
            tcp::Error::Unreachable => Errno::EHOSTUNREACH,
            _ => Errno::ECONNABORTED,
        }
    }
}

/// Converts the reason why a node rejected a call.
impl From<stack::Error> for Errno {
    fn from(error: stack::Error) -> Errno {
        match error {
            stack::Error::UnknownHandle | stack::Error::NotConnected => Errno::ENOTCONN,
            stack::Error::NoSlot => Errno::EMFILE,
            stack::Error::PortInUse => Errno::EADDRINUSE,
            stack::Error::NoRoute => Errno::ENETUNREACH,
            stack::Error::TooLong => Errno::EMSGSIZE,
            stack::Error::WouldBlock => Errno::EAGAIN,
            stack::Error::Failed(error) => error.into(),
            stack::Error::Thaw(tcp::ThawError::TooOld) => Errno::ETIMEDOUT,
            stack::Error::Thaw(tcp::ThawError::NoRoom) => Errno::ENOMEM,
            _ => Errno::EINVAL,
        }
    }
}
