//! The numbers and names of errors, and the errors of the layers below.

use std::collections::BTreeSet;

use redpoll_socket::Errno;
use redpoll_stack::Error;
use redpoll_tcp::ThawError;

#[test]
fn names_and_numbers_belong_together() {
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for (name, errno) in Errno::all() {
        assert!(
            names.insert(name) && numbers.insert(i32::from(errno)),
            "{name}"
        );
        assert_eq!(Errno::named(name), Some(errno));
        assert_eq!(Errno::from(i32::from(errno)), errno);
        assert_eq!(
            (errno.to_string(), format!("{errno:?}")),
            (name.to_owned(), name.to_owned())
        );
    }
    assert!(names.contains("EAGAIN") && numbers.contains(&11));
    assert_eq!(Errno::named("EPERM"), None);
    assert_eq!(Errno::named("eagain"), None);
}

#[test]
fn a_number_without_a_name_is_kept() {
    for number in [-1, 0, 4, 1_000, i32::MIN] {
        let errno = Errno::from(number);
        assert_eq!((errno, i32::from(errno)), (Errno::Other(number), number));
        assert_eq!(errno.to_string(), format!("errno {number}"));
    }
    let error: &dyn std::error::Error = &Errno::Other(4);
    assert!(error.source().is_none());
}

#[test]
fn errors_of_connections_have_numbers() {
    for (error, errno) in [
        (redpoll_tcp::Error::Reset, Errno::ECONNRESET),
        (redpoll_tcp::Error::Refused, Errno::ECONNREFUSED),
        (redpoll_tcp::Error::TimedOut, Errno::ETIMEDOUT),
        (redpoll_tcp::Error::UserTimeout, Errno::ETIMEDOUT),
        (redpoll_tcp::Error::Unreachable, Errno::EHOSTUNREACH),
        (redpoll_tcp::Error::Aborted, Errno::ECONNABORTED),
    ] {
        assert_eq!(Errno::from(error), errno);
        assert_eq!(Errno::from(Error::Failed(error)), errno);
    }
}

#[test]
fn errors_of_nodes_have_numbers() {
    for (error, errno) in [
        (Error::UnknownHandle, Errno::ENOTCONN),
        (Error::NotConnected, Errno::ENOTCONN),
        (Error::NoSlot, Errno::EMFILE),
        (Error::PortInUse, Errno::EADDRINUSE),
        (Error::NoRoute, Errno::ENETUNREACH),
        (Error::TooLong, Errno::EMSGSIZE),
        (Error::WouldBlock, Errno::EAGAIN),
        (Error::Thaw(ThawError::TooOld), Errno::ETIMEDOUT),
        (Error::Thaw(ThawError::NoRoom), Errno::ENOMEM),
        (Error::Thaw(ThawError::Version), Errno::EINVAL),
    ] {
        assert_eq!(Errno::from(error), errno);
    }
}
