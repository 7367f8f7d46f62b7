//! Checks that `redpoll-socket` has the same error numbers as the operating system.

#[test]
fn the_numbers_are_this_system_s() {
    use redpoll_socket::Errno;
    for (name, errno) in Errno::all() {
        let text = std::io::Error::from_raw_os_error(errno.into()).to_string();
        assert!(!text.starts_with("Unknown error"), "{name}: {text}");
        assert_eq!(Errno::named(name), Some(errno));
        assert_eq!(Errno::from(i32::from(errno)), errno);
    }
    let other = Errno::from(libc::EINTR);
    assert_eq!((other, i32::from(other)), (Errno::Other(4), libc::EINTR));
    for (errno, number) in [
        (Errno::EBADF, libc::EBADF),
        (Errno::EAGAIN, libc::EAGAIN),
        (Errno::EFAULT, libc::EFAULT),
        (Errno::EINVAL, libc::EINVAL),
        (Errno::EMFILE, libc::EMFILE),
        (Errno::EPIPE, libc::EPIPE),
        (Errno::ENOSYS, libc::ENOSYS),
        (Errno::EDESTADDRREQ, libc::EDESTADDRREQ),
        (Errno::EMSGSIZE, libc::EMSGSIZE),
        (Errno::ENOPROTOOPT, libc::ENOPROTOOPT),
        (Errno::EPROTONOSUPPORT, libc::EPROTONOSUPPORT),
        (Errno::EOPNOTSUPP, libc::EOPNOTSUPP),
        (Errno::EAFNOSUPPORT, libc::EAFNOSUPPORT),
        (Errno::EADDRINUSE, libc::EADDRINUSE),
        (Errno::EADDRNOTAVAIL, libc::EADDRNOTAVAIL),
        (Errno::ENETUNREACH, libc::ENETUNREACH),
        (Errno::ECONNABORTED, libc::ECONNABORTED),
        (Errno::ECONNRESET, libc::ECONNRESET),
        (Errno::EISCONN, libc::EISCONN),
        (Errno::ENOTCONN, libc::ENOTCONN),
        (Errno::ETIMEDOUT, libc::ETIMEDOUT),
        (Errno::ECONNREFUSED, libc::ECONNREFUSED),
        (Errno::EHOSTUNREACH, libc::EHOSTUNREACH),
        (Errno::EALREADY, libc::EALREADY),
        (Errno::EINPROGRESS, libc::EINPROGRESS),
    ] {
        assert_eq!(i32::from(errno), number, "{errno}");
    }
}
