//! Transports of two nodes in memory, for each TCP with which Redpoll's is compared: data in one
//! direction, acknowledgments in the other. Measures the instructions, and the bytes of a
//! connection. Runs on QEMU, see [`image::stopwatch`].
//!
//! The count covers the same work as `pair` for Redpoll, including copies and checksums, and also
//! finding the connection in a table of two.
#![no_std]
#![no_main]

use core::fmt::Write;
use core::hint::black_box;

use image::host::{self, Console, check, fail};
use image::stopwatch::{self, Stopwatch};
use redpoll_base::{Addr, Duration, Instant, Rng, StaticMemory};
use redpoll_firmware as image;
use redpoll_rivals::blip::{Blip, BlipConfig};
use redpoll_rivals::uip::{Standard, Timing, Uip, UipConfig, Weak};
use redpoll_rivals::{Port, Protocol, Slot, Table};
use redpoll_stack::wire::ipv6::Ipv6Header;
use redpoll_stack::{
    Arrived, Ask, ConnId, NodeCounters, NodeEvent, Reach, Side, StreamTransport, Transport,
};
use redpoll_tcp::Endpoint;

const HERE: Addr = Addr([1; 16]);
const THERE: Addr = Addr([2; 16]);
/// The longest payload: that of `pair`.
const LONGEST: usize = 462;

type Buffer = &'static mut [u8];
type Place<C> = Slot<Buffer, C>;

/// Bytes of a segment, at an address that is a multiple of four.
#[repr(align(4))]
struct Wire([u8; 20 + 4 + LONGEST]);

struct Link {
    wire: Wire,
    now: Instant,
    counters: NodeCounters,
    data: u32,
    acks: u32,
}

impl Link {
    /// Carries all segments that `from` has to `to`.
    fn carry<P: Protocol>(
        &mut self,
        from: &mut Table<StaticMemory, P>,
        to: &mut Table<StaticMemory, P>,
        (src, dst): (Addr, Addr),
    ) {
        let ask = Ask {
            side: Side::Link,
            max_len: 1_240,
            own: [src; 2],
        };
        loop {
            let here = |_: &Addr| Reach::Here(());
            let Some((pulled, _)) = from.pull(self.now, &ask, here) else {
                return;
            };
            let header = pulled.header();
            let len = usize::from(pulled.payload_len());
            let (head, tail) = self.wire.0.split_at_mut(header.len());
            head.copy_from_slice(header);
            check(from.read(pulled.handle(), 0, &mut tail[..len]) == Ok(len));
            from.on_sent(self.now, pulled.handle());
            self.data += u32::from(len > 0);
            self.acks += u32::from(len == 0);
            self.now += Duration::from_millis(5);
            let ip = Ipv6Header {
                src,
                dst,
                ..Ipv6Header::default()
            };
            let arrived = Arrived {
                header: &ip,
                local: 1,
                upper: &self.wire.0[..header.len() + len],
            };
            to.input(self.now, &arrived, &mut self.counters);
            black_box(from.poll_at());
        }
    }
}

/// Counts the instructions of a TCP for segments of this length, and prints them.
fn count<P: Protocol>(
    name: &str,
    payload: usize,
    segments: u32,
    tables: [Table<StaticMemory, P>; 2],
) {
    let [mut client, mut server] = tables;
    let mut link = Link {
        wire: Wire([0; _]),
        now: Instant::ZERO,
        counters: NodeCounters::default(),
        data: 0,
        acks: 0,
    };
    let (to, back) = ((HERE, THERE), (THERE, HERE));
    check(server.listen(80).is_ok());
    let ends = (Endpoint::new(HERE, 0), Endpoint::new(THERE, 80));
    let opened = client.connect(link.now, ends.0, ends.1, &mut Rng::new(1));
    let Ok(conn) = opened else {
        fail("no connection");
    };
    let mut peer = None;
    for _ in 0..3 {
        link.carry(&mut client, &mut server, to);
        link.carry(&mut server, &mut client, back);
        while let Some(event) = server.poll_event() {
            if let NodeEvent::Accepted(listener) = event {
                peer = server.accept(listener);
            }
        }
        while client.poll_event().is_some() {}
    }
    let Some(peer) = peer else {
        fail("nothing is accepted");
    };
    let (source, mut sink) = ([7; LONGEST], [0; LONGEST]);
    let mut one = |link: &mut Link| {
        round(
            link,
            (&mut client, conn),
            (&mut server, peer),
            &source[..payload],
            &mut sink,
        );
    };
    for _ in 0..20 {
        one(&mut link);
    }
    (link.data, link.acks) = (0, 0);
    let (mut exchange, mut empty) = (Stopwatch::default(), Stopwatch::default());
    while link.data < segments {
        exchange.lap(|| one(&mut link));
        empty.lap(|| ());
    }
    let console = &mut Console;
    let bytes = size_of::<Place<P::Control>>();
    let _ = writeln!(console, "{name}_slot_bytes {bytes}");
    let _ = writeln!(console, "{name}_segments {}", link.data);
    let _ = writeln!(console, "{name}_acks {}", link.acks);
    let _ = writeln!(console, "{name}_ticks {}", exchange.ticks());
    let _ = writeln!(console, "{name}_laps {}", exchange.laps());
    let _ = writeln!(console, "empty_ticks {}", empty.ticks());
    let _ = writeln!(console, "empty_laps {}", empty.laps());
}

type End<'a, P> = (&'a mut Table<StaticMemory, P>, ConnId);

/// Carries a segment from one application to the other, and its acknowledgment back.
fn round<P: Protocol>(
    link: &mut Link,
    (client, conn): End<'_, P>,
    (server, peer): End<'_, P>,
    data: &[u8],
    sink: &mut [u8],
) {
    check(client.send(link.now, conn, data) == Ok(data.len()));
    let before = link.data;
    loop {
        link.carry(client, server, (HERE, THERE));
        if link.data != before {
            break;
        }
        // The client's data is sent at its next tick.
        let Some(wake) = client.poll_at() else {
            fail("no timer is set");
        };
        link.now = link.now.max(wake.at);
        client.on_timeout(link.now, &mut link.counters);
    }
    while server.poll_event().is_some() {}
    check(server.recv(link.now, peer, sink) == Ok(data.len()));
    link.carry(server, client, (THERE, HERE));
    while client.poll_event().is_some() {}
    black_box(server.poll_at());
}

static mut MEMORY: [[u8; 512]; 4] = [[0; 512]; 4];

/// Creates two tables with room for one connection each.
fn tables<P: Protocol>(
    slots: &'static mut [Place<P::Control>; 2],
    ports: &'static mut [Port; 2],
    protocols: [P; 2],
) -> [Table<StaticMemory, P>; 2] {
    let [one, other] = slots.each_mut().map(core::slice::from_mut);
    let [a, b] = ports.each_mut().map(core::slice::from_mut);
    let [first, second] = protocols;
    [Table::new(first, one, a), Table::new(second, other, b)]
}

/// Counts the instructions of a protocol, with statics for two connections and two ports.
macro_rules! run {
    ($name:literal, $payload:expr, $segments:expr, $make:expr, $kind:ty) => {{
        static mut SLOTS: Option<[Place<<$kind as Protocol>::Control>; 2]> = None;
        static mut PORTS: Option<[Port; 2]> = None;
        // SAFETY: there is one thread, and each expansion of the macro has its own statics. The
        // pairs of tables use the buffers one after the other.
        let (slots, ports) = unsafe {
            let [a, b, c, d] = &mut *core::ptr::addr_of_mut!(MEMORY);
            let slots = [
                Slot::new(&mut a[..], &mut b[..]),
                Slot::new(&mut c[..], &mut d[..]),
            ];
            let slots = (*core::ptr::addr_of_mut!(SLOTS)).insert(slots);
            let ports = (*core::ptr::addr_of_mut!(PORTS)).insert([Port::default(); 2]);
            (slots, ports)
        };
        count(
            $name,
            $payload,
            $segments,
            tables::<$kind>(slots, ports, [$make, $make]),
        );
    }};
}

fn uip(mss: u16, timing: Timing) -> Uip {
    let config = UipConfig {
        mss,
        window: mss,
        timing,
        ..UipConfig::default()
    };
    Uip::new(config, Rng::new(1))
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let segments = host::argument().unwrap_or(1_000);
    stopwatch::start();
    let standard = || Timing::Standard(Standard::default());
    run!("uip_48", 48, segments, uip(48, Timing::Original), Uip);
    run!(
        "uip_lim_48",
        48,
        segments,
        uip(48, Timing::Weak(Weak::default())),
        Uip
    );
    run!(
        "one_segment_462",
        LONGEST,
        segments,
        uip(LONGEST as u16, standard()),
        Uip
    );
    let blip = || Blip::new(BlipConfig::default(), Rng::new(1));
    run!("blip_150", 150, segments, blip(), Blip);
    let console = &mut Console;
    let calibration = stopwatch::calibrate();
    let _ = writeln!(
        console,
        "calibration_instructions {}",
        stopwatch::CALIBRATION
    );
    let _ = writeln!(console, "calibration_ticks {calibration}");
    host::exit(true)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "error {info}");
    host::exit(false)
}
