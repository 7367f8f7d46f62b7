//! TCP Fast Open (RFC 7413) with the kernel, in both directions: the first connection requests the
//! cookie, the second begins with data.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddrV6, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::spawn;

use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn6, sendto, socket};
use redpoll_base::{Duration, Instant};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{Error, Listen};
use redpoll_testkit::Badness;

use crate::bench::Bench;
use crate::common::{host_address, node_address};
use crate::node::HeapNode;

const PORT: u16 = 7400;
const PATIENCE: Duration = Duration::from_secs(60);
const GOOD: Badness = Badness {
    loss: 0,
    duplication: 0,
    reordering: 0,
};
/// Value that enables Fast Open for clients and servers.
const BOTH: &str = "3";
/// Flag of `tcpi_options`: "SYN-ACK acked data in SYN sent or rcvd".
const SYN_DATA: u8 = 32;

/// Returns why the kernel cannot use Fast Open in this namespace, if it cannot.
pub fn obstacle() -> Option<String> {
    let switch = "/proc/sys/net/ipv4/tcp_fastopen";
    let why = fs::write(switch, BOTH).err()?;
    Some(format!("{switch} cannot be set: {why}"))
}

/// Returns whether the kernel accepted data on a SYN.
fn began_with_data(stream: &TcpStream) -> bool {
    let mut info = [0u8; 8];
    let mut len = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `len` bytes to `info`.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    // struct tcp_info: state, ca_state, retransmits, probes, backoff, options.
    info[5] & SYN_DATA != 0
}

/// Sends `question` from the kernel and reads the answer. Returns whether the SYN carried the
/// question.
fn ask(prefix: u16, question: &[u8]) -> bool {
    let fd: OwnedFd = socket(
        AddressFamily::Inet6,
        SockType::Stream,
        SockFlag::empty(),
        None,
    )
    .expect("a socket");
    let target = SockaddrIn6::from(SocketAddrV6::new(node_address(prefix), PORT, 0, 0));
    let flags = MsgFlags::from_bits_retain(libc::MSG_FASTOPEN);
    let sent = sendto(fd.as_raw_fd(), question, &target, flags).expect("the node accepts");
    assert_eq!(sent, question.len());
    let mut stream = TcpStream::from(fd);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the node answers");
    assert_eq!(answer, question);
    began_with_data(&stream)
}

/// Makes the node return the bytes that it receives, and close.
fn echo(bench: &mut Bench, conn: redpoll_stack::ConnId) {
    let step = |now: Instant, node: &mut HeapNode| {
        let mut out = [0; 512];
        match node.tcp_recv(now, conn, &mut out) {
            Ok(len) => {
                assert_eq!(node.tcp_send(now, conn, &out[..len]), Ok(len));
                node.tcp_close(now, conn);
                node.tcp_release(now, conn);
                Some(())
            }
            Err(Error::WouldBlock) => None,
            Err(error) => panic!("{error}"),
        }
    };
    bench.run(PATIENCE, step);
}

pub fn from_the_kernel(prefix: u16) {
    let mut bench = Bench::new(prefix, GOOD, 1);
    let how = Listen {
        fast_open: 4,
        ..Listen::default()
    };
    let listener = bench.mesh.node.tcp_listen_with(PORT, how);
    let listener = listener.expect("a listener");
    for (round, began) in [false, true, true].into_iter().enumerate() {
        let kernel = spawn(move || ask(prefix, &[b'?'; 300]));
        let conn = bench.run(PATIENCE, |_, node| {
            while node.poll_event().is_some() {}
            node.tcp_accept(listener)
        });
        echo(&mut bench, conn);
        bench.run(PATIENCE, |_, _| kernel.is_finished().then_some(()));
        assert_eq!(
            kernel.join().expect("the kernel's thread has not panicked"),
            began,
            "round {round}"
        );
        let counted = bench.mesh.node.counters().fast_opens;
        assert_eq!(counted as usize, round);
    }
}

/// Accepts a connection at the kernel and echoes its bytes. Returns whether the SYN had data.
fn answer(listener: &TcpListener) -> bool {
    let (mut stream, _) = listener.accept().expect("the node connects");
    let mut block = [0; 512];
    let len = stream.read(&mut block).expect("the node sends");
    stream.write_all(&block[..len]).expect("the kernel sends");
    began_with_data(&stream)
}

pub fn from_the_node(prefix: u16) {
    let mut bench = Bench::new(prefix, GOOD, 1);
    let listener = TcpListener::bind((host_address(prefix), PORT)).expect("a kernel listener");
    let pending: libc::c_int = 8;
    // SAFETY: the kernel reads one integer.
    let result = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_FASTOPEN,
            (&raw const pending).cast(),
            size_of_val(&pending) as libc::socklen_t,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    let remote = Endpoint {
        addr: host_address(prefix).into(),
        port: PORT,
    };
    let kernel = spawn(move || [0; 3].map(|_| answer(&listener)));
    for _ in 0..3 {
        let (conn, taken) = bench.run(PATIENCE, |now, node| {
            node.tcp_connect_with_data(now, 0, remote, &[b'!'; 300])
                .ok()
        });
        assert_eq!(taken, 300);
        let mut answer = Vec::new();
        bench.run(PATIENCE, |now, node| {
            let mut out = [0; 512];
            match node.tcp_recv(now, conn, &mut out) {
                Ok(0) => return Some(()),
                Ok(len) => answer.extend_from_slice(&out[..len]),
                Err(Error::WouldBlock) => {}
                Err(error) => panic!("{error}"),
            }
            None
        });
        assert_eq!(answer, [b'!'; 300]);
        bench.run(PATIENCE, |now, node| {
            node.tcp_close(now, conn);
            node.tcp_release(now, conn);
            Some(())
        });
    }
    bench.run(PATIENCE, |_, _| kernel.is_finished().then_some(()));
    assert_eq!(
        kernel.join().expect("the kernel's thread has not panicked"),
        [false, true, true]
    );
}
