use super::*;

const LOCAL: &str = "[fd3d:fa7b:d17d::1]";

fn at(port: u16) -> SocketAddr {
    format!("{LOCAL}:{port}").parse().unwrap()
}

fn peer() -> SocketAddr {
    "[2001:db8::1]:8080".parse().unwrap()
}

fn sockets(count: i32) -> Sockets {
    let mut sockets = Sockets::new(Settings::default());
    (0..count).for_each(|fd| sockets.socket(fd).unwrap());
    sockets
}

fn listening(port: u16) -> Sockets {
    let mut sockets = sockets(1);
    sockets.bind(0, at(port)).unwrap();
    sockets.listen(0).unwrap();
    sockets
}

#[test]
fn ports_are_taken_and_given_back() {
    let mut sockets = sockets(3);
    assert_eq!(sockets.bind(0, at(80)), Ok(()));
    assert_eq!(sockets.bind(0, at(81)), Err(Errno::EINVAL));
    assert_eq!(sockets.bind(1, at(80)), Err(Errno::EADDRINUSE));
    let other = "[fd00::9]:81".parse().unwrap();
    assert_eq!(sockets.bind(1, other), Err(Errno::EADDRNOTAVAIL));
    assert_eq!(sockets.listen(1), Err(Errno::EOPNOTSUPP));
    assert_eq!(sockets.listen(0), Ok(()));
    assert_eq!(sockets.listen(0), Ok(()));
    assert_eq!(sockets.close(0), Ok(()));
    assert_eq!(sockets.close(0), Err(Errno::EBADF));
    assert_eq!(sockets.bind(2, at(80)), Ok(()));
    assert_eq!(sockets.listen(2), Ok(()));
}

#[test]
fn calls_on_the_wrong_socket() {
    let mut sockets = listening(80);
    sockets.socket(1).unwrap();
    let mut out = [0; 4];
    assert_eq!(sockets.recv(1, &mut out, 0), Err(Errno::ENOTCONN));
    assert_eq!(sockets.send(1, b"x", 0), Err(Errno::EPIPE));
    assert_eq!(sockets.shutdown(1, Shutdown::Write), Err(Errno::ENOTCONN));
    assert_eq!(sockets.accept(1, || Ok(9)), Err(Errno::EINVAL));
    assert_eq!(sockets.accept(0, || Ok(9)), Err(Errno::EAGAIN));
    assert_eq!(sockets.connect(0, peer()), Err(Errno::EISCONN));
    assert_eq!(sockets.recv(7, &mut out, 0), Err(Errno::EBADF));
    assert_eq!(sockets.poll_one(7, libc::POLLIN), libc::POLLNVAL);
    assert_eq!(sockets.poll_one(-1, libc::POLLIN), 0);
    assert_eq!(sockets.poll_one(0, libc::POLLIN), 0);
}

#[test]
fn unsupported_options_are_refused_by_name() {
    let mut sockets = sockets(2);
    assert_eq!(sockets.connect(1, peer()), Err(Errno::EINPROGRESS));
    assert_eq!(
        sockets.send(1, b"x", libc::MSG_MORE),
        Err(Errno::EOPNOTSUPP)
    );
    assert_eq!(
        sockets.recv(1, &mut [0], libc::MSG_WAITALL),
        Err(Errno::EOPNOTSUPP)
    );
    let tcp = libc::IPPROTO_TCP;
    assert_eq!(
        sockets.option(1, tcp, libc::TCP_INFO),
        Err(Errno::ENOPROTOOPT)
    );
    // The node has started: the call succeeds only if it changes nothing.
    assert_eq!(
        sockets.set_option(1, tcp, libc::TCP_MAXSEG, &[1220]),
        Ok(())
    );
    let late = sockets.set_option(1, tcp, libc::TCP_MAXSEG, &[1000]);
    assert_eq!(late, Err(Errno::EOPNOTSUPP));
    // TCP_NODELAY changes only the socket on which it is set, not the listener.
    assert_eq!(sockets.set_option(1, tcp, libc::TCP_NODELAY, &[1]), Ok(()));
    assert_eq!(sockets.option(1, tcp, libc::TCP_NODELAY), Ok(vec![1]));
    assert_eq!(sockets.option(0, tcp, libc::TCP_NODELAY), Ok(vec![0]));
}

#[test]
fn bind_then_connect() {
    let mut sockets = sockets(1);
    sockets.bind(0, at(4000)).unwrap();
    assert_eq!(sockets.connect(0, peer()), Err(Errno::EINPROGRESS));
    let syn = sockets.next_packet().unwrap().bytes;
    assert_eq!(syn[40..42], 4000u16.to_be_bytes());
}

#[test]
fn options_before_the_node_begins() {
    let mut sockets = sockets(1);
    let tcp = libc::IPPROTO_TCP;
    let socket = libc::SOL_SOCKET;
    for (level, name, value) in [
        (tcp, libc::TCP_NODELAY, 1),
        (tcp, libc::TCP_KEEPIDLE, 10),
        (tcp, libc::TCP_KEEPINTVL, 20),
        (tcp, libc::TCP_KEEPCNT, 3),
        (tcp, libc::TCP_MAXSEG, 500),
        (socket, libc::SO_KEEPALIVE, 1),
        (socket, libc::SO_RCVBUF, 3000),
        (socket, libc::SO_SNDBUF, 5000),
    ] {
        assert_eq!(sockets.set_option(0, level, name, &[value]), Ok(()));
        assert_eq!(sockets.option(0, level, name), Ok(vec![value]));
        assert_eq!(sockets.set_option(0, level, name, &[]), Err(Errno::EINVAL));
    }
    for (name, value) in [
        (libc::TCP_KEEPCNT, 0),
        (libc::TCP_KEEPIDLE, -1),
        (libc::TCP_MAXSEG, 9),
    ] {
        assert_eq!(
            sockets.set_option(0, tcp, name, &[value]),
            Err(Errno::EINVAL)
        );
    }
    assert_eq!(
        sockets.set_option(0, socket, libc::SO_LINGER, &[1, 5]),
        Ok(())
    );
    assert_eq!(sockets.option(0, socket, libc::SO_LINGER), Ok(vec![1, 5]));
    assert_eq!(sockets.connect(0, peer()), Err(Errno::EINPROGRESS));
    let syn = sockets.next_packet().unwrap().bytes;
    // After 40 bytes of IPv6, the SYN contains the window and the MSS option.
    assert_eq!(syn[54..56], 3000u16.to_be_bytes());
    assert_eq!(syn[60..64], [2, 4, 1, 244]);
}

#[test]
fn close_while_connecting_sends_no_segment() {
    let mut sockets = sockets(1);
    assert_eq!(sockets.connect(0, peer()), Err(Errno::EINPROGRESS));
    assert!(sockets.next_packet().is_some());
    assert_eq!(sockets.connect_result(0), Err(Errno::EAGAIN));
    assert_eq!(sockets.close(0), Ok(()));
    let hour = sockets.now() + redpoll_base::Duration::from_secs(3600);
    sockets.advance(hour);
    assert_eq!(sockets.next_packet(), None);
    assert_eq!(sockets.deadline(), None);
}
