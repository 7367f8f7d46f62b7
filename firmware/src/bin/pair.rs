//! Two endpoints in memory: data in one direction, acknowledgments in the other, and the number of
//! instructions that they take. Runs on QEMU, see [`image::stopwatch`].
//!
//! The count covers the work of both ends for a segment: the application's send and receive,
//! requesting the segment, reading its bytes, the report that it was sent, parsing, matching,
//! input, events, the timer; and the same for its share of acknowledgments. The copies of payload
//! and the checksums run again separately, with the same lengths and alignments, so that the caller
//! can subtract them.
#![no_std]
#![no_main]

use core::fmt::Write;
use core::hint::black_box;

use image::host::{self, Console, check, fail};
use image::memory::BUFFER;
use image::stopwatch::{self, Stopwatch};
use redpoll_base::checksum::Checksum;
use redpoll_base::copy;
use redpoll_base::{Addr, Duration, Ecn, Instant};
use redpoll_firmware as image;
use redpoll_tcp::{
    Action, Config, Connection, Endpoint, IpMeta, Listener, Segment, SendRing, SeqNum, State,
};

/// Data bytes of a full-sized segment, with 12 bytes of timestamps before them.
const PAYLOAD: usize = 462;
/// Bytes of a header with timestamps.
const HEADER: usize = 32;
/// Longest segment on the link in bytes: the MTU of 1280 without the IPv6 header.
const MAX_LEN: usize = 1240;
/// Number of segments in a round trip, which fill the buffers.
const WINDOW: usize = BUFFER / PAYLOAD;

/// Capacity of the wire: the longest segment.
const WIRE: usize = HEADER + PAYLOAD + 28;

/// Bytes at an address that is a multiple of four, so that copies cost the same in every build.
#[repr(align(4))]
struct Aligned<const N: usize>([u8; N]);

impl<const N: usize> Default for Aligned<N> {
    fn default() -> Self {
        Aligned([0; N])
    }
}

type End = Connection<&'static mut [u8]>;

/// The link, and counters of the segments that it carried.
struct Link {
    wire: Aligned<WIRE>,
    now: Instant,
    data: u32,
    acks: u32,
}

impl Link {
    /// Carries the next segment of `from`, if there is one, to `to`.
    fn carry(&mut self, from: &mut End, to: &mut End, meta: &IpMeta) -> bool {
        // By reference, because both values are too large to move.
        let Some(desc) = &from.poll_segment(self.now, MAX_LEN) else {
            return false;
        };
        let header = desc.header.as_bytes();
        let payload = usize::from(desc.payload_len);
        let (head, tail) = self.wire.0.split_at_mut(header.len());
        head.copy_from_slice(header);
        if payload > 0 {
            check(from.read(desc.token, 0, &mut tail[..payload]) == Ok(payload));
        }
        from.on_segment_sent(desc.token, self.now);
        idle(from);
        self.data += u32::from(payload > 0);
        self.acks += u32::from(payload == 0);

        self.now += Duration::from_millis(5);
        let Ok(seg) = &Segment::parse(meta, &self.wire.0[..header.len() + payload]) else {
            fail("a segment does not parse");
        };
        check(to.matches(meta, seg));
        to.input(self.now, meta, seg);
        while let Some(event) = to.poll_event() {
            black_box(event);
        }
        true
    }
}

/// Marks in a trace of the execution where the exchange begins.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn exchange_begins() {
    black_box("begins");
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn exchange_ends() {
    black_box("ends");
}

/// Asks for the next timer, as a driver does when an end has no more work.
fn idle(end: &mut End) {
    black_box(end.poll_at());
}

/// A separate repetition of the copies and checksums, whose instructions the caller subtracts.
#[derive(Default)]
struct Replay {
    store: Aligned<BUFFER>,
    wire: Aligned<WIRE>,
    application: Aligned<PAYLOAD>,
    checksum: Stopwatch,
    copy: Stopwatch,
    empty: Stopwatch,
}

impl Replay {
    /// Computes the checksums of a segment: when it is made, from the store, and when it is parsed,
    /// from the wire.
    fn checksums(&mut self, src: &Addr, dst: &Addr, payload: usize) {
        let (wire, store) = (black_box(&self.wire.0), black_box(&self.store.0));
        let len = (HEADER + payload) as u32;
        self.checksum.lap(|| {
            let mut sum = Checksum::pseudo_header(src, dst, 6, len);
            sum.add(&wire[..HEADER]);
            sum.add(&store[..payload]);
            sum.add(&store[..0]);
            black_box(sum.finish())
        });
        self.checksum.lap(|| {
            let mut sum = Checksum::pseudo_header(src, dst, 6, len);
            sum.add(&wire[..HEADER + payload]);
            black_box(sum.is_valid())
        });
    }

    /// Copies a payload into the sender's store, to the wire, into the receiver's store, and out of
    /// it. One array stands for both stores; `at` is the payload's offset in the array.
    fn copies(&mut self, at: usize) {
        let stored = black_box(at)..at + PAYLOAD;
        let sent = black_box(HEADER)..HEADER + PAYLOAD;
        let (store, wire) = (&mut self.store.0[stored], &mut self.wire.0[sent]);
        let application = &mut self.application.0;
        self.copy
            .lap(|| copy(black_box(&*application), black_box(&mut *store)));
        self.copy
            .lap(|| copy(black_box(&*store), black_box(&mut *wire)));
        self.copy
            .lap(|| copy(black_box(&*wire), black_box(&mut *store)));
        self.copy
            .lap(|| copy(black_box(&*store), black_box(&mut *application)));
    }
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let segments = host::argument().unwrap_or(1000);
    stopwatch::start();

    let Some([a, b, c, d]) = image::memory::buffers() else {
        fail("no buffers");
    };
    let config = Config {
        mss: (PAYLOAD + HEADER - 20) as u16,
        ..Config::default()
    };
    let here = Endpoint::new(Addr([1; 16]), 49152);
    let there = Endpoint::new(Addr([2; 16]), 80);
    let meta = IpMeta {
        src: here.addr,
        dst: there.addr,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    };
    let back = IpMeta {
        src: there.addr,
        dst: here.addr,
        ..meta
    };
    let mut link = Link {
        wire: Aligned::default(),
        now: Instant::ZERO,
        data: 0,
        acks: 0,
    };

    // The handshake: not counted.
    let mut client = Connection::connect(
        link.now,
        &config,
        here,
        there,
        SeqNum(7),
        SendRing::new(a),
        b,
    );
    let Some(syn) = client.poll_segment(link.now, MAX_LEN) else {
        fail("no SYN");
    };
    client.on_segment_sent(syn.token, link.now);
    let Ok(seg) = Segment::parse(&meta, syn.header.as_bytes()) else {
        fail("the SYN does not parse");
    };
    let Action::Accept(request) = Listener::new(there).input(&meta, &seg) else {
        fail("the SYN is not accepted");
    };
    let mut server =
        Connection::accept(link.now, &config, request, SeqNum(99), SendRing::new(c), d);
    check(link.carry(&mut server, &mut client, &back));
    check(link.carry(&mut client, &mut server, &meta));
    check(server.state() == State::Established && client.state() == State::Established);

    let mut source = Aligned([0u8; PAYLOAD]);
    for (i, byte) in source.0.iter_mut().enumerate() {
        *byte = i as u8;
    }
    let mut sink = Aligned([0u8; PAYLOAD]);
    // The round has as many segments as the buffers hold, so each round begins at the same place in
    // them.
    let mut read = 0;
    let mut round = |link: &mut Link| {
        let end = link.data + WINDOW as u32;
        while link.data < end {
            while client.send_room() >= PAYLOAD {
                check(client.send(link.now, &source.0) == Ok(PAYLOAD));
            }
            let sent = link.carry(&mut client, &mut server, &meta);
            if server.recv_queue() > 0 {
                check(server.recv(link.now, &mut sink.0) == Ok(PAYLOAD));
                read += 1;
            }
            let answered = link.carry(&mut server, &mut client, &back);
            if !answered {
                idle(&mut server);
            }
            if !sent && !answered {
                link.now += Duration::from_millis(100);
                server.on_timeout(link.now);
            }
        }
    };
    // Slow start reaches the buffers' size before counting begins.
    for _ in 0..8 {
        round(&mut link);
    }
    let before = link.data;
    (link.data, link.acks) = (0, 0);

    let mut exchange = Stopwatch::default();
    exchange_begins();
    while link.data < segments {
        exchange.lap(|| round(&mut link));
    }
    exchange_ends();
    check(sink.0 == source.0);
    // No segment was sent twice.
    check(before + link.data == read);

    let (data, acks) = (link.data, link.acks);
    let mut replay = Replay::default();
    for segment in 0..data {
        let at = segment as usize % WINDOW * PAYLOAD;
        replay.checksums(&here.addr, &there.addr, PAYLOAD);
        replay.copies(at);
        replay.empty.lap(|| ());
    }
    for _ in 0..acks {
        replay.checksums(&here.addr, &there.addr, 0);
    }

    let mut console = Console;
    let calibration = stopwatch::calibrate();
    let _ = writeln!(console, "data_segments {data}");
    let _ = writeln!(console, "acks {acks}");
    let _ = writeln!(
        console,
        "calibration_instructions {}",
        stopwatch::CALIBRATION
    );
    let _ = writeln!(console, "calibration_ticks {calibration}");
    for (name, watch) in [
        ("exchange", &exchange),
        ("checksum", &replay.checksum),
        ("copy", &replay.copy),
        ("empty", &replay.empty),
    ] {
        let _ = writeln!(console, "{name}_ticks {}", watch.ticks());
        let _ = writeln!(console, "{name}_laps {}", watch.laps());
    }
    host::exit(true)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "error {info}");
    host::exit(false)
}
