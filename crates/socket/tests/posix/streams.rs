//! Directions, queues, Fast Open and saved connections of streams.

use redpoll_base::{Duration, Instant};
use redpoll_socket::Errno;
use redpoll_socket::posix::blocking;
use redpoll_socket::posix::events::{POLLIN, POLLOUT, POLLRDHUP};
use redpoll_socket::posix::{MSG_DONTWAIT, Opt, Protocol, Shutdown};

use crate::common::{endpoint, node};
use crate::world::{EAGAIN, World, any};

#[test]
fn shutdown_ends_one_direction_or_both() {
    for (how, receives, sends) in [
        (Shutdown::Read, Ok(0), Ok(1)),
        (Shutdown::Write, Err(EAGAIN), Err(Errno::EPIPE)),
        (Shutdown::Both, Ok(0), Err(Errno::EPIPE)),
    ] {
        let mut world = World::new();
        let (here, there) = world.pair();
        assert_eq!(world.on(0, |s| s.shutdown(here, how)), Ok(()));
        assert_eq!(world.on(0, |s| s.recv(here, &mut [0], 0)), receives);
        let revents = world.on(0, |s| s.poll_one(here.into(), POLLIN));
        assert_eq!(revents == POLLIN, receives == Ok(0), "{how:?}");
        assert_eq!(world.on(0, |s| s.send(here, b"x", 0)), sends);
        // The peer notices the end of this side's sending direction only.
        let revents = world.on(1, |s| s.poll_one(there.into(), POLLRDHUP));
        assert_eq!(revents == POLLRDHUP, how != Shutdown::Read, "{how:?}");
        // Data that arrived before is still received.
        assert_eq!(world.on(1, |s| s.send(there, b"late", 0)), Ok(4));
        assert_eq!(world.on(0, |s| s.recv(here, &mut [0; 9], 0)), Ok(4));
    }
}

#[test]
fn a_listener_stops_listening_by_shutdown_of_its_reading_direction() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 1);
    let write = world.on(1, |s| s.shutdown(listener, Shutdown::Write));
    assert_eq!(write, Err(Errno::ENOTCONN));
    world.connect(80);
    assert_eq!(
        world.on(1, |s| s.shutdown(listener, Shutdown::Read)),
        Ok(())
    );
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let refused = blocking::connect(&mut world.side(0), fd, endpoint(2, 80));
    assert_eq!(refused, Err(Errno::ECONNREFUSED));
    // The descriptor is an unbound socket again, and the port is free.
    assert_eq!(world.on(1, |s| s.accept(listener)), Err(Errno::EINVAL));
    assert_eq!(world.on(1, |s| s.bind(listener, any(80))), Ok(()));
    assert_eq!(world.on(1, |s| s.listen(listener, 1)), Ok(()));
    assert_eq!(world.on(1, |s| s.listen(listener, 1)), Ok(()), "again");
}

#[test]
fn queues_are_counted_and_received_bytes_can_be_discarded() {
    let mut world = World::new();
    let (here, there) = world.pair();
    assert_eq!(world.on(0, |s| s.discard(here, 5)), Err(EAGAIN));
    world.is_cut = true;
    world.on(1, |s| s.send(there, b"0123456789", 0)).unwrap();
    assert_eq!(world.on(1, |s| s.unacked(there)), Ok(10));
    world.is_cut = false;
    while world.on(1, |s| s.unacked(there)).unwrap() > 0 {
        world.step(Instant::from_millis(60_000));
    }
    assert_eq!(world.on(0, |s| s.readable(here)), Ok(10));
    assert_eq!(world.on(0, |s| s.discard(here, 0)), Ok(0));
    assert_eq!(world.on(0, |s| s.discard(here, 7)), Ok(7));
    let mut out = [0; 8];
    assert_eq!(world.on(0, |s| s.recv(here, &mut out, 0)), Ok(3));
    assert_eq!(&out[..3], b"789");
    // `discard` discards at most the received bytes, and none at the end of the stream.
    world.on(1, |s| s.send(there, b"ab", 0)).unwrap();
    assert_eq!(world.on(0, |s| s.discard(here, 100)), Ok(2));
    world.on(1, |s| s.shutdown(there, Shutdown::Write)).unwrap();
    assert_eq!(world.on(0, |s| s.discard(here, 100)), Ok(0));
}

#[test]
fn the_result_of_a_handshake_is_reported_once() {
    let mut world = World::new();
    world.is_cut = true;
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let begun = world.on(0, |s| s.connect(fd, endpoint(2, 80)));
    assert_eq!(begun, Err(Errno::EINPROGRESS));
    let again = world.on(0, |s| s.connect(fd, endpoint(2, 80)));
    assert_eq!(again, Err(Errno::EALREADY));
    assert_eq!(world.on(0, |s| s.send(fd, b"x", 0)), Err(EAGAIN));
    assert_eq!(world.on(0, |s| s.recv(fd, &mut [0], 0)), Err(EAGAIN));
    assert_eq!(world.on(0, |s| s.poll_one(fd.into(), POLLIN | POLLOUT)), 0);
    let failed = blocking::finish_connect(&mut world.side(0), fd);
    assert_eq!(failed, Err(Errno::ETIMEDOUT));
    let again = world.on(0, |s| s.connect(fd, endpoint(2, 80)));
    assert_eq!(again, Err(Errno::ECONNABORTED));
    let closed = world.on(0, |s| s.shutdown(fd, Shutdown::Both));
    assert_eq!(closed, Err(Errno::ENOTCONN));
}

#[test]
fn calls_that_may_not_wait_return_at_once() {
    let mut world = World::new();
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    world.on(0, |s| s.set_nonblocking(fd, true)).unwrap();
    assert_eq!(world.on(0, |s| s.is_nonblocking(fd)), Ok(true));
    world.listen(1, 80, 1);
    let begun = blocking::connect(&mut world.side(0), fd, endpoint(2, 80));
    assert_eq!(begun, Err(Errno::EINPROGRESS));
    assert_eq!(world.on(0, |s| s.connect_result(fd)), Ok(()));
    let none = blocking::recv(&mut world.side(0), fd, &mut [0], 0);
    assert_eq!(none, Err(EAGAIN));
    let listener = world.listen(0, 81, 1);
    world.on(0, |s| s.set_nonblocking(listener, true)).unwrap();
    let none = blocking::accept(&mut world.side(0), listener);
    assert_eq!(none, Err(EAGAIN));
    let udp = world.on(0, |s| s.socket(Protocol::Udp)).unwrap();
    world.on(0, |s| s.bind(udp, any(53))).unwrap();
    let none = blocking::recv_from(&mut world.side(0), udp, &mut [0], MSG_DONTWAIT);
    assert_eq!(none, Err(EAGAIN));
    assert_eq!(world.now, Instant::ZERO);
}

/// RFC 7413: the first connection requests a cookie; the SYN of the second one carries the data.
#[test]
fn the_second_fast_open_carries_its_data() {
    let mut world = World::new();
    let listener = world.on(1, |s| {
        let fd = s.socket(Protocol::Tcp).unwrap();
        s.bind(fd, any(80)).unwrap();
        s.set_option(fd, Opt::FastOpen, 2).unwrap();
        s.listen(fd, 2).unwrap();
        fd
    });
    let opened = |world: &mut World| world.nodes[1].counters().fast_opens;
    for (round, wait) in [(0, false), (1, false), (2, true)] {
        let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
        let sent = if wait {
            blocking::send_fast(&mut world.side(0), fd, b"reading", endpoint(2, 80), 0)
        } else {
            let flags = MSG_DONTWAIT;
            blocking::send_fast(&mut world.side(0), fd, b"reading", endpoint(2, 80), flags)
        };
        let expected = if round == 0 {
            Err(Errno::EINPROGRESS)
        } else {
            Ok(7)
        };
        assert_eq!(sent, expected, "round {round}");
        assert_eq!(opened(&mut world), round);
        if round == 0 {
            // The handshake is complete, so this is an ordinary `send`.
            let sent = world.on(0, |s| s.send_fast(fd, b"reading", endpoint(2, 80)));
            assert_eq!(sent, Ok(7));
        }
        let (there, _) = world.on(1, |s| s.accept(listener)).unwrap();
        let mut out = [0; 9];
        assert_eq!(world.on(1, |s| s.recv(there, &mut out, 0)), Ok(7));
        assert_eq!(&out[..7], b"reading");
        // An accepted connection sends even before its handshake is complete.
        assert_eq!(world.on(1, |s| s.send(there, b"ok", 0)), Ok(2));
        assert_eq!(world.on(0, |s| s.recv(fd, &mut out, 0)), Ok(2));
        world.on(0, |s| s.close(fd)).unwrap();
        world.on(1, |s| s.close(there)).unwrap();
    }
}

#[test]
fn a_blocking_fast_open_sends_all_data() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 1);
    world.later = Some((Instant::from_millis(500), |world| {
        let (there, _) = world.on(1, |s| s.accept(0)).unwrap();
        let mut all = 0;
        let mut out = [0; 5_000];
        while let Ok(len @ 1..) = world.on(1, |s| s.recv(there, &mut out, 0)) {
            all += len;
        }
        assert!(all > 2_000);
    }));
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let data = [7; 5_000];
    let sent = blocking::send_fast(&mut world.side(0), fd, &data, endpoint(2, 80), 0);
    assert_eq!(sent, Ok(5_000));
    assert!(world.now >= Instant::from_millis(500));
    // An empty write only opens the connection.
    world.on(1, |s| s.close(listener)).unwrap();
    world.listen(1, 81, 1);
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let opened = blocking::send_fast(&mut world.side(0), fd, &[], endpoint(2, 81), 0);
    assert_eq!(opened, Ok(0));
    assert_eq!(world.on(0, |s| s.connect_result(fd)), Ok(()));
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let refused = blocking::send_fast(&mut world.side(0), fd, &data, endpoint(2, 82), 0);
    assert_eq!(refused, Err(Errno::ECONNREFUSED));
    let udp = world.on(0, |s| s.socket(Protocol::Udp)).unwrap();
    let refused = blocking::send_fast(&mut world.side(0), udp, &data, endpoint(2, 81), 0);
    assert_eq!(refused, Err(Errno::EOPNOTSUPP));
}

/// With TCP_FASTOPEN, data without a cookie follow the handshake.
#[test]
fn data_open_a_connection_without_a_cookie() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 1);
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let sent = world.on(0, |s| s.open_by_sending(fd, b"reading", endpoint(2, 80)));
    assert_eq!(sent, Ok(7));
    let (there, _) = world.on(1, |s| s.accept(listener)).unwrap();
    assert_eq!(world.on(1, |s| s.recv(there, &mut [0; 9], 0)), Ok(7));
}

#[test]
fn a_saved_connection_continues_after_a_reboot() {
    let mut world = World::new();
    let (here, there) = world.pair();
    let mut frozen = [0; 400];
    let short = world.on(0, |s| s.freeze(here, &mut [0; 20]));
    assert_eq!(short, Err(Errno::ENOMEM));
    world
        .on(0, |s| s.set_option(here, Opt::NoDelay, 1))
        .unwrap();
    let len = world.on(0, |s| s.freeze(here, &mut frozen)).unwrap();
    assert!(!world.on(0, |s| s.exists(here)));
    world.nodes[0] = node(1);
    let (slept, frozen) = (Duration::from_secs(60), &mut frozen[..len]);
    let copy = frozen.to_vec();
    let fd = world.on(0, |s| s.thaw(slept, frozen)).unwrap();
    assert_eq!(world.on(0, |s| s.option(fd, Opt::NoDelay)), Ok(1));
    assert_eq!(world.on(0, |s| s.remote(fd)), Ok(endpoint(2, 80)));
    assert_eq!(world.on(0, |s| s.send(fd, b"back", 0)), Ok(4));
    assert_eq!(world.on(1, |s| s.recv(there, &mut [0; 9], 0)), Ok(4));
    // The bytes can be used once, and only by their node.
    let used = world.on(0, |s| s.thaw(slept, frozen));
    assert!(used.is_err());
    let twin = world.on(0, |s| s.thaw(slept, &mut copy.clone()));
    assert_eq!(twin, Err(Errno::EADDRINUSE));
    let foreign = world.on(1, |s| s.thaw(slept, &mut copy.clone()));
    assert_eq!(foreign, Err(Errno::ENETUNREACH));
    let invalid = world.on(0, |s| s.thaw(slept, &mut [7; 90]));
    assert_eq!(invalid, Err(Errno::EINVAL));
    while world.on(0, |s| s.socket(Protocol::Tcp)).is_ok() {}
    let full = world.on(0, |s| s.thaw(slept, &mut copy.clone()));
    assert_eq!(full, Err(Errno::EMFILE));
}
