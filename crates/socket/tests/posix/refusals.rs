//! Calls on the wrong kind of socket, with wrong arguments or at the wrong time.

use redpoll_base::{Addr, Duration};
use redpoll_socket::Errno;
use redpoll_socket::posix::blocking::{self, Waiter};
use redpoll_socket::posix::events::{POLLHUP, POLLIN, POLLNVAL, POLLOUT};
use redpoll_socket::posix::{
    Answer, Fd, MSG_DONTWAIT, MSG_PEEK, Opt, Poll, Protocol, Shutdown, Sockets, Wait,
};

use crate::common::{HeapMemory, endpoint};
use crate::world::{EAGAIN, World, any};

const GROUP: Addr = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

#[test]
fn a_closed_descriptor_is_refused_by_every_call() {
    let mut world = World::new();
    for fd in [0, 5, 6, 255] {
        let bad = Errno::EBADF;
        world.on(0, |s| {
            assert!(!s.exists(fd));
            assert_eq!(s.bind(fd, any(1)), Err(bad));
            assert_eq!(s.listen(fd, 1), Err(bad));
            assert_eq!(s.accept(fd), Err(bad));
            assert_eq!(s.connect(fd, endpoint(2, 1)), Err(bad));
            assert_eq!(s.connect_result(fd), Err(bad));
            assert_eq!(s.send(fd, b"x", 0), Err(bad));
            assert_eq!(s.send_to(fd, b"x", endpoint(2, 1)), Err(bad));
            assert_eq!(s.send_fast(fd, b"x", endpoint(2, 1)), Err(bad));
            assert_eq!(s.recv(fd, &mut [0], 0), Err(bad));
            assert_eq!(s.recv_from(fd, &mut [0], 0), Err(bad));
            assert_eq!(s.discard(fd, 1), Err(bad));
            assert_eq!(s.readable(fd), Err(bad));
            assert_eq!(s.unacked(fd), Err(bad));
            assert_eq!(s.freeze(fd, &mut [0]), Err(bad));
            assert_eq!(s.shutdown(fd, Shutdown::Both), Err(bad));
            assert_eq!(s.local(fd), Err(bad));
            assert_eq!(s.remote(fd), Err(bad));
            assert_eq!(s.tcp(fd).err(), Some(bad));
            assert_eq!(s.option(fd, Opt::Type), Err(bad));
            assert_eq!(s.set_option(fd, Opt::NoDelay, 1), Err(bad));
            assert_eq!(s.is_nonblocking(fd), Err(bad));
            assert_eq!(s.set_nonblocking(fd, true), Err(bad));
            assert_eq!(s.join_group(fd, &GROUP), Err(bad));
            assert_eq!(s.leave_group(fd, &GROUP), Err(bad));
            assert_eq!(s.is_for_group(fd), Err(bad));
            assert_eq!(s.close(fd), Err(bad));
            assert_eq!(s.poll_one(fd.into(), POLLIN), POLLNVAL);
            // Calls that wait for the descriptor can continue, and report the error.
            assert!(s.is_ready(Wait::Readable(fd)) && s.is_ready(Wait::Connected(fd)));
        });
        let side = &mut world.side(0);
        assert_eq!(blocking::recv(side, fd, &mut [0], 0), Err(bad));
        assert_eq!(blocking::send(side, fd, b"x", 0), Err(bad));
    }
}

#[test]
fn an_address_is_bound_once_and_only_by_its_node() {
    let mut world = World::new();
    world.on(0, |s| {
        let [a, b] = [0; 2].map(|_| s.socket(Protocol::Tcp).unwrap());
        assert_eq!(s.bind(a, endpoint(2, 80)), Err(Errno::EADDRNOTAVAIL));
        assert_eq!(s.local(a), Ok(any(0)));
        assert_eq!(s.bind(a, endpoint(1, 80)), Ok(()));
        assert_eq!(s.local(a), Ok(any(80)));
        assert_eq!(s.bind(a, any(81)), Err(Errno::EINVAL));
        assert_eq!(s.bind(b, any(80)), Err(Errno::EADDRINUSE));
        s.listen(a, 1).unwrap();
        assert_eq!(s.bind(b, any(80)), Err(Errno::EADDRINUSE));
        assert_eq!(s.bind(a, any(81)), Err(Errno::EINVAL));
        // Port 0 leaves the choice to `connect`.
        assert_eq!(s.bind(b, any(0)), Ok(()));
        assert_eq!(s.listen(b, 1), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.bind(b, any(82)), Ok(()));
        let [c, d] = [0; 2].map(|_| s.socket(Protocol::Udp).unwrap());
        assert_eq!(s.bind(c, endpoint(2, 53)), Err(Errno::EADDRNOTAVAIL));
        // The TCP port 80 of this node is in use. The address in the call is not one of this node.
        assert_eq!(s.bind(c, endpoint(2, 80)), Err(Errno::EADDRNOTAVAIL));
        assert_eq!(s.bind(c, endpoint(1, 53)), Ok(()));
        assert_eq!(s.bind(d, any(53)), Err(Errno::EADDRINUSE));
        assert_eq!(s.bind(c, any(54)), Err(Errno::EINVAL));
        // For port 0, the node chooses a port of the ephemeral range.
        assert_eq!(s.bind(d, any(0)), Ok(()));
        assert!(s.local(d).unwrap().port >= 49_152);
    });
}

#[test]
fn listeners_connections_and_datagrams_have_their_own_calls() {
    let mut world = World::new();
    let (here, there) = world.pair();
    world.on(0, |s| {
        assert_eq!(s.listen(here, 1), Err(Errno::EINVAL));
        assert_eq!(s.accept(here), Err(Errno::EINVAL));
        assert_eq!(s.bind(here, any(9)), Err(Errno::EINVAL));
        let peer = endpoint(2, 80);
        assert_eq!(s.send_to(here, b"x", peer), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.recv_from(here, &mut [0], 0), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.join_group(here, &GROUP), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.recv(here, &mut [], 0), Ok(0));
        assert_eq!(s.recv(here, &mut [0], 1), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.send(here, b"x", MSG_PEEK), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.send(here, b"x", MSG_DONTWAIT), Ok(1));
        assert_eq!(s.tcp(here).unwrap().remote(), peer);
    });
    world.on(1, |s| {
        // Descriptor 0 is the listener of the pair.
        assert_eq!(s.connect(0, endpoint(1, 9)), Err(Errno::EISCONN));
        assert_eq!(
            s.open_by_sending(0, b"x", endpoint(1, 9)),
            Err(Errno::EOPNOTSUPP)
        );
        assert_eq!(s.send(0, b"x", 0), Err(Errno::EPIPE));
        assert_eq!(s.recv(0, &mut [0], 0), Err(Errno::ENOTCONN));
        assert_eq!(s.freeze(0, &mut [0]), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.local(0), Ok(any(80)));
        assert_eq!(s.remote(0), Err(Errno::ENOTCONN));
        assert!(s.is_ready(Wait::Readable(there)));
        assert!(!s.is_ready(Wait::Readable(0)));
    });
    world.on(0, |s| {
        let idle = s.socket(Protocol::Tcp).unwrap();
        assert_eq!(s.readable(idle), Err(Errno::ENOTCONN));
        assert_eq!(s.shutdown(idle, Shutdown::Both), Err(Errno::ENOTCONN));
        let revents = s.poll_one(idle.into(), POLLIN | POLLOUT);
        assert_eq!(revents, POLLOUT | POLLHUP);
        assert_eq!(s.close(idle), Ok(()));
        let udp = s.socket(Protocol::Udp).unwrap();
        assert_eq!(s.remote(udp), Err(Errno::ENOTCONN));
        assert_eq!(s.recv(udp, &mut [0], 0), Err(EAGAIN));
        assert_eq!(s.recv_from(udp, &mut [0], MSG_PEEK), Err(Errno::EOPNOTSUPP));
        assert_eq!(s.shutdown(udp, Shutdown::Both), Err(Errno::ENOTCONN));
        assert_eq!(s.poll_one(udp.into(), POLLIN | POLLOUT), POLLOUT);
        s.connect(udp, endpoint(2, 53)).unwrap();
        assert_eq!(s.remote(udp), Ok(endpoint(2, 53)));
        assert_eq!(s.close(udp), Ok(()), "without a port");
    });
}

#[test]
fn a_connection_waits_while_the_table_is_full() {
    let mut world = World::new();
    let listener = world.listen(1, 80, 1);
    let here = world.connect(80);
    let mut last = 0;
    while let Ok(fd) = world.on(1, |s| s.socket(Protocol::Tcp)) {
        last = fd;
    }
    assert_eq!(world.on(1, |s| s.accept(listener)), Err(Errno::EMFILE));
    world.on(1, |s| s.close(last)).unwrap();
    let peer = world.on(0, |s| s.local(here)).unwrap();
    assert_eq!(world.on(1, |s| s.accept(listener)), Ok((last, peer)));
}

/// A node without an assistant for groups.
#[test]
fn groups_need_an_assistant() {
    let mut world = World::new();
    world.on(0, |s| {
        let udp = s.socket(Protocol::Udp).unwrap();
        assert_eq!(s.is_for_group(udp), Ok(false));
        s.bind(udp, any(53)).unwrap();
        assert_eq!(s.join_group(udp, &endpoint(1, 0).addr), Err(Errno::EINVAL));
        assert_eq!(s.join_group(udp, &GROUP), Err(Errno::ENOMEM));
        assert_eq!(s.leave_group(udp, &GROUP), Err(Errno::EADDRNOTAVAIL));
        assert_eq!(s.is_for_group(udp), Ok(false));
    });
}

#[test]
fn resources_of_the_node_are_limited() {
    let mut world = World::new();
    world.on(0, |s| {
        let long = s.socket(Protocol::Udp).unwrap();
        let sent = s.send_to(long, &[0; 2_000], endpoint(2, 53));
        assert_eq!(sent, Err(Errno::EMSGSIZE));
        // Two UDP sockets and two listeners.
        let second = s.socket(Protocol::Udp).unwrap();
        assert_eq!(s.bind(second, any(0)), Ok(()));
        let third = s.socket(Protocol::Udp).unwrap();
        assert_eq!(s.bind(third, any(0)), Err(Errno::EMFILE));
        assert_eq!(s.send_to(third, b"x", endpoint(2, 53)), Err(Errno::EMFILE));
        for (port, answer) in [(80, Ok(())), (81, Ok(())), (82, Err(Errno::EMFILE))] {
            let fd = s.socket(Protocol::Tcp).unwrap();
            s.bind(fd, any(port)).unwrap();
            assert_eq!(s.listen(fd, 1), answer);
        }
    });
    let mut world = World::new();
    world.is_cut = true;
    world.on(0, |s| {
        for round in 0..5 {
            let fd = s.socket(Protocol::Tcp).unwrap();
            let why = if round < 4 {
                Errno::EINPROGRESS
            } else {
                Errno::EMFILE
            };
            assert_eq!(s.connect(fd, endpoint(2, 80)), Err(why));
        }
    });
    world.nodes[0].clear_routes();
    let fd = world.on(0, |s| s.socket(Protocol::Udp)).unwrap();
    let sent = world.on(0, |s| s.send_to(fd, b"x", endpoint(2, 53)));
    assert_eq!(sent, Err(Errno::ENETUNREACH));
}

/// A system whose waits are interrupted.
struct Interrupted<'w>(&'w mut World);

const EINTR: Errno = Errno::Other(4);

impl Waiter for Interrupted<'_> {
    type Profile = HeapMemory;

    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Sockets<'_, HeapMemory>) -> Answer<T>,
    ) -> Answer<T> {
        self.0.on(0, call)
    }

    fn wait<T>(
        &mut self,
        _: Wait<'_>,
        _: Option<Duration>,
        mut attempt: impl FnMut(&mut Sockets<'_, HeapMemory>) -> Answer<T>,
    ) -> Answer<T> {
        match self.0.on(0, &mut attempt) {
            Err(EAGAIN) => Err(EINTR),
            answer => answer,
        }
    }
}

#[test]
fn an_error_of_the_wait_ends_a_call() {
    let mut world = World::new();
    let (here, _) = world.pair();
    let poll = |fd: Fd, events| Poll {
        fd: fd.into(),
        events,
        revents: 0,
    };
    let mut all = [poll(here, POLLIN)];
    let mut waiter = Interrupted(&mut world);
    assert_eq!(blocking::poll(&mut waiter, &mut all, None), Err(EINTR));
    assert_eq!(blocking::recv(&mut waiter, here, &mut [0], 0), Err(EINTR));
    // Both buffers fill up. Bytes that were accepted before the error are counted.
    let mut total = 0;
    let error = loop {
        match blocking::send(&mut waiter, here, &[1; 9_000], 0) {
            Ok(sent) => total += sent,
            Err(error) => break error,
        }
    };
    assert_eq!(error, EINTR);
    assert!((2_048..=4_096).contains(&total), "{total} bytes");
    let mut all = [poll(here, POLLOUT), poll(77, POLLIN)];
    assert_eq!(blocking::poll(&mut waiter, &mut all, None), Ok(1));
    assert_eq!(all.map(|one| one.revents), [0, POLLNVAL]);
}
