//! Harmful input from a host: it must have no effect.

use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::spawn;

use nix::sys::socket::{MsgFlags, SockaddrIn6, sendto};
use redpoll_base::{Duration, Instant, Rng};
use redpoll_linux::gateway::Mesh;
use redpoll_testkit::Badness;

use crate::bench::Bench;
use crate::common::node_address;

/// Known and unknown upper-layer protocols that root may send over raw sockets.
const PROTOCOLS: [i32; 7] = [6, 17, 43, 44, 58, 60, 253];
const PACKETS: usize = 400;

pub fn from_the_host(prefix: u16) {
    let mut bench = Bench::new(
        prefix,
        Badness {
            loss: 0,
            duplication: 0,
            reordering: 0,
        },
        1,
    );
    let mut rng = Rng::named(1, "garbage");

    // Bytes that no kernel would send go directly to the mesh's side.
    for _ in 0..PACKETS {
        let len = rng.below(1400) as usize;
        let mut packet: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        if rng.below(2) == 0 && len > 40 {
            // The packet looks like IPv6, so that the node processes more of it.
            packet[0] = 0x60;
            packet[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
            packet[24..40].copy_from_slice(&node_address(prefix).octets());
        }
        bench.mesh.input_packet(&packet);
    }

    // Random bytes in packets that the kernel itself has made.
    let thrower = spawn(move || throw(prefix, &mut rng));
    bench.run(Duration::from_secs(60), |_, _| {
        thrower.is_finished().then_some(())
    });
    thrower
        .join()
        .expect("the kernel sends whatever root asks for");
    let mut quiet = None;
    bench.run(Duration::from_secs(60), |now, _| {
        (now > *quiet.get_or_insert(now) + Duration::from_millis(300)).then_some(())
    });

    let gate = bench.mesh.gate.counters();
    assert!(gate.malformed > 0, "{gate:?}");
    let accounted = gate.to_mesh
        + gate.malformed
        + gate.spoofed_source
        + gate.not_for_mesh
        + gate.foreign_destination
        + gate.echo_limit
        + gate.node;
    assert_eq!(
        u64::from(accounted),
        bench.mesh.to_node.counters.packets,
        "{gate:?}"
    );
    let dropped: u32 = bench
        .mesh
        .node
        .counters()
        .drops()
        .map(|(_, count)| count)
        .sum();
    assert!(dropped > 0, "{:?}", bench.mesh.node.counters());

    // After this the node still works as before.
    echo(&mut bench, prefix);
}

fn throw(prefix: u16, rng: &mut Rng) {
    let target = SockaddrIn6::from(std::net::SocketAddrV6::new(node_address(prefix), 0, 0, 0));
    let sockets: Vec<OwnedFd> = PROTOCOLS.iter().map(|&protocol| raw(protocol)).collect();
    for _ in 0..PACKETS {
        let socket = &sockets[rng.below(sockets.len() as u32) as usize];
        let bytes: Vec<u8> = (0..rng.below(1200)).map(|_| rng.next_u32() as u8).collect();
        // The kernel refuses some packets, such as an ICMPv6 message without a header.
        let _ = sendto(socket.as_raw_fd(), &bytes, &target, MsgFlags::empty());
    }
}

/// Returns a raw IPv6 socket for a protocol; [`nix::sys::socket::SockProtocol`] lacks most.
fn raw(protocol: i32) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: socket(2) takes any numbers.
    let fd = unsafe {
        nix::libc::socket(
            nix::libc::AF_INET6,
            nix::libc::SOCK_RAW | nix::libc::SOCK_CLOEXEC,
            protocol,
        )
    };
    assert!(
        fd >= 0,
        "raw sockets for protocol {protocol}: {}",
        std::io::Error::last_os_error()
    );
    // SAFETY: the descriptor is new, and this is its only owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Checks that the node still answers a UDP datagram to a closed port with an ICMPv6 error, which
/// the kernel reports to the socket.
fn echo(bench: &mut Bench, prefix: u16) {
    let socket = UdpSocket::bind("[::]:0").expect("a UDP socket");
    socket.connect((node_address(prefix), 9)).expect("a route");
    socket
        .set_nonblocking(true)
        .expect("a socket can be non-blocking");
    socket.send(b"anybody there?").expect("the kernel sends");
    let mut asked = Instant::ZERO;
    let error = bench.run(Duration::from_secs(20), |now, _| {
        match socket.recv(&mut [0; 16]) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                // Errors are limited in their rate: ask again.
                if now > asked + Duration::from_secs(1) {
                    asked = now;
                    let _ = socket.send(b"still there?");
                }
                None
            }
            other => Some(other),
        }
    });
    assert_eq!(
        error.expect_err("nobody listens").kind(),
        std::io::ErrorKind::ConnectionRefused
    );
}
