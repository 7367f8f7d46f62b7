//! The POSIX-like sockets of two nodes in virtual time.

#[allow(dead_code)]
#[path = "../../examples/common/mod.rs"]
mod common;
mod options;
mod refusals;
mod streams;
mod world;

use common::endpoint;
use redpoll_base::{Duration, Instant};
use redpoll_socket::Errno;
use redpoll_socket::posix::blocking;
use redpoll_socket::posix::events::{POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP};
use redpoll_socket::posix::{Fd, MSG_DONTWAIT, MSG_PEEK, Opt, Poll, Protocol, Shutdown};

use world::{EAGAIN, World, any};

#[test]
fn connections_are_accepted_in_order_up_to_the_backlog() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 2);
    assert_eq!(world.on(1, |s| s.accept(listener)), Err(EAGAIN));
    let made: Vec<Fd> = (0..3).map(|_| world.connect(80)).collect();
    let mut poll = [Poll {
        fd: listener.into(),
        events: POLLIN,
        revents: 0,
    }];
    assert_eq!(world.on(1, |s| s.poll(&mut poll)), Ok(1));
    for fd in &made[..2] {
        let peer = world.on(0, |s| s.local(*fd));
        let accepted = world.on(1, |s| s.accept(listener)).map(|(_, peer)| peer);
        assert_eq!(accepted, peer);
    }
    // Only node 0 has established the third connection, because node 1 had a full backlog. The
    // handshake is complete after a retransmission of the SYN-ACK.
    assert_eq!(world.on(1, |s| s.accept(listener)), Err(EAGAIN));
    let accepted = blocking::accept(&mut world.side(1), listener);
    let peer = world.on(0, |s| s.local(made[2]));
    assert_eq!(accepted.map(|(_, peer)| peer), peer);
    assert_eq!(world.on(1, |s| s.accept(listener)), Err(EAGAIN));
    assert_eq!(world.on(1, |s| s.poll(&mut poll)), Ok(0));
    // Closing a listener resets the connection that waits.
    let last = world.connect(80);
    assert_eq!(world.on(1, |s| s.close(listener)), Ok(()));
    let answer = world.on(0, |s| s.recv(last, &mut [0], 0));
    assert_eq!(answer, Err(Errno::ECONNRESET));
    // The error is reported once.
    assert_eq!(world.on(0, |s| s.recv(last, &mut [0], 0)), Ok(0));
    assert_eq!(world.on(0, |s| s.send(last, b"x", 0)), Err(Errno::EPIPE));
}

#[test]
fn blocking_calls_continue_when_they_can() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 1);
    let second = Instant::from_millis(1_000);
    world.later = Some((second, |world| {
        world.connect(80);
    }));
    let (there, _) = blocking::accept(&mut world.side(1), listener).unwrap();
    assert_eq!(world.now, second);

    // Reads wait for data, and then for the end of the stream.
    let mut out = [0; 8];
    let none = blocking::recv(&mut world.side(1), there, &mut out, MSG_DONTWAIT);
    assert_eq!(none, Err(EAGAIN));
    world.later = Some((Instant::from_millis(2_000), |world| {
        assert_eq!(world.on(0, |s| s.send(0, b"hello", 0)), Ok(5));
        assert_eq!(world.on(0, |s| s.shutdown(0, Shutdown::Write)), Ok(()));
    }));
    let count = blocking::recv(&mut world.side(1), there, &mut out, MSG_PEEK);
    assert_eq!((count, world.now.as_millis()), (Ok(5), 2_000));
    let count = blocking::recv(&mut world.side(1), there, &mut out, 0);
    assert_eq!((count, &out[..5]), (Ok(5), &b"hello"[..]));
    assert_eq!(
        blocking::recv(&mut world.side(1), there, &mut out, 0),
        Ok(0)
    );

    // A write of more than both buffers hold waits until the other end reads.
    world.later = Some((Instant::from_millis(3_000), |world| {
        let mut waste = [0; 4_000];
        assert!(world.on(0, |s| s.recv(0, &mut waste, 0)).unwrap() > 0);
    }));
    let sent = blocking::send(&mut world.side(1), there, &[9; 5_000], 0);
    assert_eq!(sent, Ok(5_000));
    assert!(world.now.as_millis() >= 3_000);
    // A write that may not wait accepts the bytes for which there is room.
    world.on(1, |s| s.set_nonblocking(there, true)).unwrap();
    let sent = blocking::send(&mut world.side(1), there, &[9; 5_000], 0);
    assert!(matches!(sent, Ok(1..5_000)), "{sent:?}");
    let more = blocking::send(&mut world.side(1), there, b"x", 0);
    assert_eq!(more, Err(EAGAIN));
}

#[test]
fn connect_waits_for_its_result() {
    let mut world = World::new();
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    let refused = blocking::connect(&mut world.side(0), fd, endpoint(2, 80));
    assert_eq!(refused, Err(Errno::ECONNREFUSED));
    assert_eq!(world.on(0, |s| s.option(fd, Opt::Error)), Ok(0), "told");
    world.listen(1, 80, 1);
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    world.on(0, |s| s.bind(fd, any(4_000))).unwrap();
    assert_eq!(
        blocking::connect(&mut world.side(0), fd, endpoint(2, 80)),
        Ok(())
    );
    assert_eq!(world.on(0, |s| s.local(fd)).unwrap().port, 4_000);
    assert_eq!(world.on(0, |s| s.remote(fd)), Ok(endpoint(2, 80)));
    let again = world.on(0, |s| s.connect(fd, endpoint(2, 80)));
    assert_eq!(again, Err(Errno::EISCONN));
}

#[test]
fn poll_reports_events_and_respects_its_timeout() {
    let mut world = World::new();
    let (here, there) = world.pair();
    let poll = |fd: i32, events| Poll {
        fd,
        events,
        revents: 9,
    };
    let mut all = [poll(there.into(), POLLIN), poll(-1, POLLIN)];
    let timeout = Some(Duration::from_millis(1_500));
    assert_eq!(blocking::poll(&mut world.side(1), &mut all, timeout), Ok(0));
    assert_eq!(world.now.as_millis(), 1_500);
    assert_eq!(all.map(|one| one.revents), [0, 0]);
    let mut all = [
        poll(there.into(), POLLIN | POLLOUT),
        poll(77, POLLIN),
        poll(-1, POLLIN),
    ];
    world.on(0, |s| s.send(here, b"x", 0)).unwrap();
    assert_eq!(blocking::poll(&mut world.side(1), &mut all, None), Ok(2));
    assert_eq!(all.map(|one| one.revents), [POLLIN | POLLOUT, POLLNVAL, 0]);
    // Both ends have closed.
    world.on(0, |s| s.close(here)).unwrap();
    world.on(1, |s| s.shutdown(there, Shutdown::Write)).unwrap();
    let revents = world.on(1, |s| s.poll_one(there.into(), POLLIN | POLLRDHUP));
    assert_eq!(revents, POLLIN | POLLRDHUP | POLLHUP);
}

#[test]
fn close_resets_if_data_is_lost_or_if_requested() {
    for (linger, unread, expected) in [
        (-1, false, Ok(0)),
        (0, false, Err(Errno::ECONNRESET)),
        (-1, true, Err(Errno::ECONNRESET)),
    ] {
        let mut world = World::new();
        let (here, there) = world.pair();
        if unread {
            world.on(0, |s| s.send(here, b"x", 0)).unwrap();
        }
        world
            .on(1, |s| s.set_option(there, Opt::Linger, linger))
            .unwrap();
        world.on(1, |s| s.close(there)).unwrap();
        assert_eq!(world.on(1, |s| s.close(there)), Err(Errno::EBADF));
        assert_eq!(world.on(0, |s| s.recv(here, &mut [0; 4], 0)), expected);
    }
}

#[test]
fn datagrams_find_their_socket() {
    let mut world = World::new();
    let server = world.on(1, |s| s.socket(Protocol::Udp)).unwrap();
    world.on(1, |s| s.bind(server, any(53))).unwrap();
    let client = world.on(0, |s| s.socket(Protocol::Udp)).unwrap();
    let nobody = world.on(0, |s| s.send(client, b"?", 0));
    assert_eq!(nobody, Err(Errno::EDESTADDRREQ));
    world.on(0, |s| s.connect(client, endpoint(2, 53))).unwrap();
    assert_eq!(world.on(1, |s| s.poll_one(server.into(), POLLIN)), 0);
    assert_eq!(world.on(0, |s| s.send(client, b"ask", 0)), Ok(3));
    assert_eq!(world.on(1, |s| s.poll_one(server.into(), POLLIN)), POLLIN);
    let mut out = [0; 8];
    let (count, from) = blocking::recv_from(&mut world.side(1), server, &mut out, 0).unwrap();
    assert_eq!(&out[..count], b"ask");
    assert_eq!(from.port, world.on(0, |s| s.local(client)).unwrap().port);
    // A connected socket receives only from its peer.
    let other = world.on(1, |s| s.socket(Protocol::Udp)).unwrap();
    world.on(1, |s| s.send_to(other, b"else", from)).unwrap();
    world.on(1, |s| s.send_to(server, b"answer", from)).unwrap();
    assert_eq!(world.on(0, |s| s.recv(client, &mut out, 0)), Ok(6));
    assert_eq!(world.on(0, |s| s.recv(client, &mut out, 0)), Err(EAGAIN));
    assert_eq!(world.on(1, |s| s.listen(server, 1)), Err(Errno::EOPNOTSUPP));
    world.on(1, |s| s.close(server)).unwrap();
    let again = world.on(1, |s| s.socket(Protocol::Udp)).unwrap();
    assert_eq!(world.on(1, |s| s.bind(again, any(53))), Ok(()));
}

#[test]
fn the_table_is_the_limit() {
    let mut world = World::new();
    for fd in 0..6 {
        assert_eq!(world.on(0, |s| s.socket(Protocol::Tcp)), Ok(fd));
    }
    let full = world.on(0, |s| s.socket(Protocol::Tcp));
    assert_eq!(full, Err(Errno::EMFILE));
    world.on(0, |s| s.close(3)).unwrap();
    assert_eq!(world.on(0, |s| s.socket(Protocol::Tcp)), Ok(3));
}
