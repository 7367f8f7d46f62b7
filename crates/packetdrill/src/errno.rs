//! Error numbers, as calls return them and as scripts name them.

use std::fmt;

use redpoll_tcp as tcp;

/// A value of `errno`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

/// The names that a script may use.
const NAMES: &[(&str, i32)] = &[
    ("EADDRINUSE", libc::EADDRINUSE),
    ("EADDRNOTAVAIL", libc::EADDRNOTAVAIL),
    ("EAFNOSUPPORT", libc::EAFNOSUPPORT),
    ("EAGAIN", libc::EAGAIN),
    ("EALREADY", libc::EALREADY),
    ("EBADF", libc::EBADF),
    ("ECONNABORTED", libc::ECONNABORTED),
    ("ECONNREFUSED", libc::ECONNREFUSED),
    ("ECONNRESET", libc::ECONNRESET),
    ("EDESTADDRREQ", libc::EDESTADDRREQ),
    ("EHOSTUNREACH", libc::EHOSTUNREACH),
    ("EINPROGRESS", libc::EINPROGRESS),
    ("EINVAL", libc::EINVAL),
    ("EISCONN", libc::EISCONN),
    ("EMFILE", libc::EMFILE),
    ("ENETUNREACH", libc::ENETUNREACH),
    ("ENOPROTOOPT", libc::ENOPROTOOPT),
    ("ENOSYS", libc::ENOSYS),
    ("ENOTCONN", libc::ENOTCONN),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
    ("EPIPE", libc::EPIPE),
    ("EPROTONOSUPPORT", libc::EPROTONOSUPPORT),
    ("ETIMEDOUT", libc::ETIMEDOUT),
];

impl Errno {
    /// The number behind a name such as `EAGAIN`.
    pub fn named(name: &str) -> Option<Errno> {
        let &(_, number) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(Errno(number))
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
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

/// Why a connection ended, as POSIX has it.
impl From<tcp::Error> for Errno {
    fn from(error: tcp::Error) -> Errno {
        Errno(match error {
            tcp::Error::Reset => libc::ECONNRESET,
            tcp::Error::Refused => libc::ECONNREFUSED,
            tcp::Error::TimedOut | tcp::Error::UserTimeout => libc::ETIMEDOUT,
            tcp::Error::Unreachable => libc::EHOSTUNREACH,
            tcp::Error::Aborted => libc::ECONNABORTED,
        })
    }
}
