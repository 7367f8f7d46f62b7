//! Options of sockets, and their effect on connections.

use redpoll_base::Instant;
use redpoll_socket::Errno;
use redpoll_socket::posix::events::{POLLERR, POLLHUP, POLLIN, POLLOUT};
use redpoll_socket::posix::{Fd, Opt, Protocol};

use crate::common::endpoint;
use crate::world::World;

const SOCKET: i32 = 1;
const TCP: i32 = 6;

/// Options with one value, their numbers in Linux, and their values on a new TCP socket.
const OPTIONS: [(i32, i32, Opt, i32); 12] = [
    (SOCKET, 3, Opt::Type, 1),
    (SOCKET, 4, Opt::Error, 0),
    (SOCKET, 9, Opt::KeepAlive, 0),
    (SOCKET, 13, Opt::Linger, -1),
    (SOCKET, 30, Opt::AcceptConn, 0),
    (TCP, 1, Opt::NoDelay, 0),
    (TCP, 2, Opt::MaxSegment, 1_220),
    (TCP, 4, Opt::KeepIdle, 7_200),
    (TCP, 5, Opt::KeepInterval, 75),
    (TCP, 6, Opt::KeepCount, 8),
    (TCP, 18, Opt::UserTimeout, 0),
    (TCP, 23, Opt::FastOpen, 0),
];

#[test]
fn options_have_the_numbers_of_linux_and_defaults() {
    let mut world = World::new();
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    for (level, name, option, value) in OPTIONS {
        assert_eq!(Opt::of(level, name), Some(option));
        assert_eq!(
            world.on(0, |s| s.option(fd, option)),
            Ok(value),
            "{option:?}"
        );
    }
    for unknown in [(SOCKET, 1), (TCP, 3), (41, 1), (0, 3)] {
        assert_eq!(Opt::of(unknown.0, unknown.1), None);
    }
    let udp = world.on(0, |s| s.socket(Protocol::Udp)).unwrap();
    assert_eq!(world.on(0, |s| s.option(udp, Opt::Type)), Ok(2));
    let listener = world.listen(0, 80, 1);
    assert_eq!(world.on(0, |s| s.option(listener, Opt::AcceptConn)), Ok(1));
}

#[test]
fn options_return_the_value_that_was_set() {
    let mut world = World::new();
    let fd = world.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
    for (option, values) in [
        (Opt::KeepAlive, &[(1, 1), (0, 0), (7, 1)][..]),
        (Opt::Linger, &[(0, 0), (9, 9), (-1, -1), (70_000, -1)]),
        (Opt::NoDelay, &[(1, 1), (0, 0)]),
        (Opt::KeepIdle, &[(1, 1), (i32::MAX, i32::MAX)]),
        (Opt::KeepInterval, &[(3, 3)]),
        (Opt::KeepCount, &[(1, 1), (255, 255)]),
        (Opt::UserTimeout, &[(9_000, 9_000), (0, 0)]),
        (Opt::FastOpen, &[(3, 3), (0, 0), (1_000, 255)]),
    ] {
        for (value, kept) in values {
            assert_eq!(world.on(0, |s| s.set_option(fd, option, *value)), Ok(()));
            assert_eq!(
                world.on(0, |s| s.option(fd, option)),
                Ok(*kept),
                "{option:?}"
            );
        }
    }
    for (option, value, why) in [
        (Opt::KeepIdle, 0, Errno::EINVAL),
        (Opt::KeepIdle, -1, Errno::EINVAL),
        (Opt::KeepInterval, 0, Errno::EINVAL),
        (Opt::KeepCount, 0, Errno::EINVAL),
        (Opt::KeepCount, 256, Errno::EINVAL),
        (Opt::UserTimeout, -1, Errno::EINVAL),
        (Opt::FastOpen, -1, Errno::EINVAL),
        (Opt::Error, 1, Errno::ENOPROTOOPT),
        (Opt::Type, 1, Errno::ENOPROTOOPT),
        (Opt::AcceptConn, 1, Errno::ENOPROTOOPT),
        (Opt::MaxSegment, 500, Errno::ENOPROTOOPT),
    ] {
        let before = world.on(0, |s| s.option(fd, option));
        assert_eq!(world.on(0, |s| s.set_option(fd, option, value)), Err(why));
        assert_eq!(world.on(0, |s| s.option(fd, option)), before, "{option:?}");
    }
    // A listening socket accepts no other value, because its listener has the previous one.
    let listener = world.listen(0, 80, 1);
    let late = world.on(0, |s| s.set_option(listener, Opt::FastOpen, 1));
    assert_eq!(late, Err(Errno::EINVAL));
}

/// Returns the time of the failure of an idle connection whose peer is gone, in milliseconds.
fn fails_at(world: &mut World, fd: Fd) -> u64 {
    world.is_cut = true;
    let end = Instant::from_millis(1_000_000);
    while world.now < end && world.on(0, |s| s.poll_one(fd.into(), POLLIN)) == 0 {
        world.step(end);
    }
    let revents = world.on(0, |s| s.poll_one(fd.into(), POLLIN | POLLOUT));
    assert_eq!(revents, POLLIN | POLLOUT | POLLERR | POLLHUP);
    let error = world.on(0, |s| s.option(fd, Opt::Error));
    assert_eq!(error, Ok(Errno::ETIMEDOUT.into()));
    assert_eq!(world.on(0, |s| s.option(fd, Opt::Error)), Ok(0), "told");
    world.now.as_millis()
}

#[test]
fn probes_find_a_peer_that_is_gone() {
    let mut world = World::new();
    let (here, there) = world.pair();
    for (option, value) in [
        (Opt::KeepIdle, 20),
        (Opt::KeepInterval, 5),
        (Opt::KeepCount, 3),
        (Opt::KeepAlive, 1),
    ] {
        world.on(0, |s| s.set_option(here, option, value)).unwrap();
    }
    // The peer answers the probes.
    while world.now < Instant::from_millis(100_000) {
        world.step(Instant::from_millis(100_000));
    }
    assert_eq!(world.on(1, |s| s.poll_one(there.into(), POLLIN)), 0);
    let at = fails_at(&mut world, here);
    // The first probe is sent after at most 20 s without a packet. The connection fails one
    // interval after the third probe.
    assert!((110_000..=135_000).contains(&at), "{at} ms");
}

#[test]
fn data_may_stay_unacknowledged_for_the_user_timeout() {
    let mut world = World::new();
    let (here, _) = world.pair();
    world
        .on(0, |s| s.set_option(here, Opt::UserTimeout, 9_000))
        .unwrap();
    world.is_cut = true;
    world.on(0, |s| s.send(here, b"x", 0)).unwrap();
    assert_eq!(fails_at(&mut world, here), 9_000);
    // 0 stands for no limit.
    let mut world = World::new();
    let (here, _) = world.pair();
    world
        .on(0, |s| s.set_option(here, Opt::UserTimeout, 9_000))
        .unwrap();
    world
        .on(0, |s| s.set_option(here, Opt::UserTimeout, 0))
        .unwrap();
    world.is_cut = true;
    world.on(0, |s| s.send(here, b"x", 0)).unwrap();
    assert!(fails_at(&mut world, here) > 60_000);
}

#[test]
fn accepted_connections_inherit_the_options_of_their_listener() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 1);
    for (option, value) in [
        (Opt::NoDelay, 1),
        (Opt::KeepIdle, 30),
        (Opt::UserTimeout, 7),
    ] {
        world
            .on(1, |s| s.set_option(listener, option, value))
            .unwrap();
    }
    world.connect(80);
    let (there, _) = world.on(1, |s| s.accept(listener)).unwrap();
    assert_eq!(world.on(1, |s| s.option(there, Opt::NoDelay)), Ok(1));
    assert_eq!(world.on(1, |s| s.option(there, Opt::KeepIdle)), Ok(30));
    world.on(1, |s| {
        let connection = s.tcp(there).unwrap();
        assert!(!connection.has_nagle());
        let timeout = connection.user_timeout().map(|it| it.as_millis());
        assert_eq!(timeout, Some(7));
    });
    // On the connection of the other side, nothing was set.
    world.on(0, |s| assert!(s.tcp(0).unwrap().has_nagle()));
}

/// Sets the option on an open connection, with one small segment unacknowledged.
#[test]
fn without_delay_a_small_segment_does_not_wait_for_the_previous_one() {
    for (nodelay, arrived) in [(0, 1), (1, 2)] {
        let mut world = World::new();
        let (here, there) = world.pair();
        world
            .on(0, |s| s.set_option(here, Opt::NoDelay, nodelay))
            .unwrap();
        for _ in 0..2 {
            world.on(0, |s| s.send(here, b"x", 0)).unwrap();
        }
        assert_eq!(world.on(1, |s| s.readable(there)), Ok(arrived));
    }
}

#[test]
fn a_connection_has_the_segment_length_of_both_ends() {
    let mut world = World::new();
    let small = crate::common::node_with(2, 300, 2_048);
    world.nodes[1] = small;
    let (here, _) = world.pair();
    // The timestamps take 12 bytes of each segment.
    let most = world.on(0, |s| s.option(here, Opt::MaxSegment)).unwrap();
    assert!((280..=300).contains(&most), "{most} bytes");
    let unknown = world.on(0, |s| s.remote(here));
    assert_eq!(unknown, Ok(endpoint(2, 80)));
}
