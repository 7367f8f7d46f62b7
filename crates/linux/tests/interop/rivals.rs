//! Interoperation of the other TCP implementations of the simulator with the kernel's TCP.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::spawn;

use redpoll_base::{Duration, Rng};
use redpoll_rivals::blip::{Blip, BlipConfig};
use redpoll_rivals::linux::{Linux, LinuxConfig};
use redpoll_rivals::uip::{Standard, Timing, Uip, UipConfig, Weak};
use redpoll_rivals::{Port, Protocol, Rival, Slot, Table};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{Error, Streams};
use redpoll_testkit::Badness;

use crate::bench::Bench;
use crate::common::{host_address, node_address};
use crate::node::HeapMemory;

const PORT: u16 = 7000;
const PATIENCE: Duration = Duration::from_secs(120);
/// Packets are duplicated and reordered, but not lost: uIP waits for seven seconds after a loss.
const WIRE: Badness = Badness {
    loss: 0,
    duplication: 5,
    reordering: 5,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Uip,
    UipLim,
    OneSegment,
    Blip,
    Linux,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Uip,
        Kind::UipLim,
        Kind::OneSegment,
        Kind::Blip,
        Kind::Linux,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Uip => "uip",
            Kind::UipLim => "uip_lim",
            Kind::OneSegment => "one_segment",
            Kind::Blip => "blip",
            Kind::Linux => "linux_like",
        }
    }

    /// Returns the number of bytes that this TCP moves within seconds; BLIP moves its buffer of 150
    /// bytes every half second.
    fn bytes(self) -> usize {
        match self {
            Kind::Uip | Kind::UipLim => 4_000,
            Kind::Blip => 2_000,
            Kind::OneSegment | Kind::Linux => 100_000,
        }
    }

    fn rival(self) -> Rival<HeapMemory> {
        let rng = Rng::new(7);
        let one = |timing, mss| UipConfig {
            mss,
            window: mss,
            timing,
            heeds_syn: mss > 48,
            ..UipConfig::default()
        };
        match self {
            Kind::Uip => Rival::Uip(table(Uip::new(one(Timing::Original, 48), rng), 96, 96)),
            Kind::UipLim => {
                let timing = Timing::Weak(Weak::default());
                Rival::Uip(table(Uip::new(one(timing, 48), rng), 96, 96))
            }
            Kind::OneSegment => {
                let timing = Timing::Standard(Standard::default());
                Rival::Uip(table(Uip::new(one(timing, 1_024), rng), 2_048, 2_048))
            }
            Kind::Blip => Rival::Blip(table(Blip::new(BlipConfig::default(), rng), 150, 400)),
            Kind::Linux => {
                let linux = Linux::new(LinuxConfig::default(), rng);
                Rival::Linux(table(linux, 32_768, 32_768))
            }
        }
    }
}

/// Returns a table with a receive buffer of two windows, because the application here reads after
/// the acknowledgement.
fn table<P: Protocol>(protocol: P, tx: usize, rx: usize) -> Table<HeapMemory, P> {
    let buffer = |len: usize| vec![0; len].into_boxed_slice();
    let slots = (0..2).map(|_| Slot::new(buffer(tx), buffer(rx)));
    Table::new(protocol, slots.collect(), [Port::default()].into())
}

fn stream(len: usize) -> Vec<u8> {
    let byte = |at: usize| ((at as u32).wrapping_mul(0x9e37_79b1) >> 23) as u8;
    (0..len).map(byte).collect()
}

/// Moves the bytes of `kind` in one direction; the sender connects.
pub fn run(prefix: u16, kind: Kind, node_sends: bool) {
    let mut bench = Bench::with(prefix, WIRE, 3, kind.rival());
    if node_sends {
        send(&mut bench, prefix, stream(kind.bytes()))
    } else {
        receive(&mut bench, prefix, stream(4 * kind.bytes()))
    }
}

fn send(bench: &mut Bench, prefix: u16, bytes: Vec<u8>) {
    let listener = TcpListener::bind((host_address(prefix), PORT)).expect("a port of its own");
    let kernel = spawn(move || {
        let (mut socket, _) = listener.accept().expect("the node connects");
        let mut got = Vec::new();
        socket
            .read_to_end(&mut got)
            .expect("the stream ends without an error");
        got
    });
    let remote = Endpoint::new(host_address(prefix).into(), PORT);
    let (mut conn, mut sent) = (None, 0);
    bench.run(PATIENCE, |now, node| {
        let conn = *conn.get_or_insert_with(|| node.connect(now, remote).expect("a way"));
        while node.poll_event().is_some() {}
        match node.send(now, conn, &bytes[sent..]) {
            Ok(len) => sent += len,
            Err(Error::WouldBlock) => {}
            Err(error) => panic!("after {sent} bytes: {error}"),
        }
        (sent == bytes.len()).then(|| node.close(now, conn))
    });
    let mut kernel = Some(kernel);
    let got = bench.run(PATIENCE, |_, node| {
        while node.poll_event().is_some() {}
        let done = kernel.as_ref().is_some_and(|kernel| kernel.is_finished());
        done.then(|| kernel.take().map(|kernel| kernel.join()))
    });
    let got = got
        .expect("the thread is joined once")
        .expect("the kernel read all");
    assert!(
        got == bytes,
        "{} bytes arrived, some of them wrong",
        got.len()
    );
}

fn receive(bench: &mut Bench, prefix: u16, bytes: Vec<u8>) {
    let listener = bench.run(PATIENCE, |_, node| node.listen(PORT).ok());
    let to = SocketAddr::from((node_address(prefix), PORT));
    let sent = bytes.clone();
    let kernel = spawn(move || {
        let mut socket = TcpStream::connect(to).expect("the node listens");
        socket
            .write_all(&sent)
            .expect("the kernel accepts all bytes");
        socket
            .shutdown(Shutdown::Write)
            .expect("the connection is open");
        let mut rest = Vec::new();
        // Some of these TCPs end the connection by a reset after they have received all bytes.
        let _ = socket.read_to_end(&mut rest);
    });
    let (mut conn, mut got) = (None, Vec::new());
    bench.run(PATIENCE, |now, node| {
        while node.poll_event().is_some() {}
        conn = conn.or_else(|| node.accept(listener));
        let conn = conn?;
        let mut block = [0; 2_048];
        loop {
            match node.recv(now, conn, &mut block) {
                Ok(0) => {
                    node.close(now, conn);
                    return Some(());
                }
                Ok(len) => got.extend_from_slice(&block[..len]),
                Err(Error::WouldBlock) => return None,
                Err(error) => panic!("after {} bytes: {error}", got.len()),
            }
        }
    });
    assert!(
        got == bytes,
        "{} of {} bytes arrived",
        got.len(),
        bytes.len()
    );
    let mut kernel = Some(kernel);
    bench.run(PATIENCE, |_, node| {
        while node.poll_event().is_some() {}
        let done = kernel.as_ref().is_some_and(|kernel| kernel.is_finished());
        done.then(|| kernel.take().map(|kernel| kernel.join()))
    });
}
