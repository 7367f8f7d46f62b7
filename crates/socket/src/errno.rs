//! Error numbers, as calls of POSIX return them.

use core::fmt;

use redpoll_stack as stack;
use redpoll_tcp as tcp;

/// A value of `errno`. The numbers are those of Linux on most machines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

macro_rules! errnos {
    ($($name:ident = $number:literal, $what:literal;)*) => {
        impl Errno {
            $(#[doc = $what] pub const $name: Errno = Errno($number);)*
        }

        /// The names that there are.
        const NAMES: &[(&str, Errno)] = &[$((stringify!($name), Errno::$name)),*];
    };
}

errnos! {
    EBADF = 9, "The descriptor is not open.";
    EAGAIN = 11, "The call would block.";
    ENOMEM = 12, "The memory is not enough.";
    EFAULT = 14, "A pointer is bad.";
    EINVAL = 22, "An argument makes no sense, or not now.";
    EMFILE = 24, "No free descriptor, or no memory for another connection.";
    EPIPE = 32, "Nothing can be sent any more.";
    ENOSYS = 38, "There is no such call.";
    EDESTADDRREQ = 89, "To whom?";
    EMSGSIZE = 90, "The data do not fit one datagram.";
    ENOPROTOOPT = 92, "There is no such option.";
    EPROTONOSUPPORT = 93, "There is no such protocol.";
    EOPNOTSUPP = 95, "Not on this kind of socket, or not supported.";
    EAFNOSUPPORT = 97, "There is no such kind of address.";
    EADDRINUSE = 98, "The port is taken, or none is free.";
    EADDRNOTAVAIL = 99, "It is not an address of this node.";
    ENETUNREACH = 101, "No route leads there.";
    ECONNABORTED = 103, "The connection was aborted on this side.";
    ECONNRESET = 104, "The peer reset the connection.";
    EISCONN = 106, "The socket is connected, or listens.";
    ENOTCONN = 107, "The socket is not connected.";
    ETIMEDOUT = 110, "The peer did not answer.";
    ECONNREFUSED = 111, "The peer refused the connection.";
    EHOSTUNREACH = 113, "The network has no way to the peer.";
    EALREADY = 114, "The connection is being made already.";
    EINPROGRESS = 115, "The connection is being made.";
}

impl Errno {
    /// The number behind a name such as `EAGAIN`.
    pub fn named(name: &str) -> Option<Errno> {
        let &(_, errno) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(errno)
    }

    /// Every name, with its number.
    pub fn all() -> impl Iterator<Item = (&'static str, Errno)> {
        NAMES.iter().copied()
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, errno)| errno == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Errno {}

/// Why a connection ended.
impl From<tcp::Error> for Errno {
    fn from(error: tcp::Error) -> Errno {
        match error {
            tcp::Error::Reset => Errno::ECONNRESET,
            tcp::Error::Refused => Errno::ECONNREFUSED,
            tcp::Error::TimedOut | tcp::Error::UserTimeout => Errno::ETIMEDOUT,
            tcp::Error::Unreachable => Errno::EHOSTUNREACH,
            tcp::Error::Aborted => Errno::ECONNABORTED,
        }
    }
}

/// Why a node refused a call.
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
            stack::Error::Thaw(_) => Errno::EINVAL,
        }
    }
}
