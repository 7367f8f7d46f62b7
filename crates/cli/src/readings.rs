//! `redpoll bench readings`: the cost of one reading of a sensor if its connection is kept during
//! sleep, frozen before a deep sleep, or opened again, with and without TLS.
//!
//! Whole nodes run in virtual time, with the applications as futures (`redpoll_sim::tasks`). TLS is
//! modelled by messages of the lengths that `embedded-tls` and OpenSSL exchange
//! (`crates/linux/tests/device.rs` compares them). The charge excludes that of the cryptography.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use embedded_io_async::{Read, Write};
use redpoll_base::{Duration, Instant};
use redpoll_sim::tasks::{SimNet, Tasks, Time};
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};
use redpoll_socket::Errno;
use redpoll_socket::nal::Clock;
use redpoll_stack::Listen;
use redpoll_tcp::Endpoint;
use serde_json::json;

use crate::FAILED;
use crate::output::{self, fail};

const READING: usize = 82;
/// Number of readings after the first; the output has means over these readings.
const READINGS: u64 = 20;
const INTERVAL: Duration = Duration::from_secs(600);
const PORT: u16 = 5_684;
/// A frame of the leaf counts as a wake-up if the leaf sent no frame for this time before it.
const APART: Duration = Duration::from_secs(2);
/// Bytes of a frozen connection without unsent data, rounded up.
const FROZEN: usize = 300;

/// Lengths of the messages that TLS 1.3 exchanges, in bytes.
#[derive(Clone, Copy)]
struct Tls {
    hello: usize,
    answer: usize,
}

/// Handshake with a pre-shared key of 32 bytes and the identity `sensor` (RFC 8446 §2.2). A key
/// from an earlier connection (resumption) is modelled by the same lengths.
const PSK: Tls = Tls {
    hello: 218,
    answer: 257,
};
/// Handshake with a server certificate of 384 bytes.
const CERTIFICATE: Tls = Tls {
    hello: 183,
    answer: 805,
};
/// Length of the record with the client's Finished message (RFC 8446 §4.4.4).
const FINISHED: usize = 58;
const RECORD: usize = 22;
/// Length of the record that ends the stream (close_notify).
const CLOSE: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// The connection stays in RAM.
    Kept,
    Frozen,
    Closed,
    /// The connection is closed, and the next one opens by Fast Open.
    Fast,
}

#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    between: Between,
    tls: Option<Tls>,
}

const WAYS: [Way; 9] = [
    way("connection kept open", Between::Kept, None),
    way("connection frozen", Between::Frozen, None),
    way("new connection", Between::Closed, None),
    way("new connection by Fast Open", Between::Fast, None),
    way("TLS connection kept open", Between::Kept, Some(PSK)),
    way("TLS connection frozen", Between::Frozen, Some(PSK)),
    way(
        "new TLS connection with a pre-shared key or a resumed session",
        Between::Closed,
        Some(PSK),
    ),
    way(
        "new TLS connection with a pre-shared key or a resumed session, by Fast Open",
        Between::Fast,
        Some(PSK),
    ),
    way(
        "new TLS connection with a server certificate",
        Between::Closed,
        Some(CERTIFICATE),
    ),
];

const fn way(name: &'static str, between: Between, tls: Option<Tls>) -> Way {
    Way { name, between, tls }
}

struct Cost {
    frames: f64,
    bytes: f64,
    charge_mc: f64,
    wakes: f64,
    /// Time until the reading was acknowledged, in milliseconds.
    ms: f64,
}

/// Measures and prints the figures; with `json`, also writes one object per line to that file.
pub fn run(json: Option<&Path>) -> ExitCode {
    let mut table = format!(
        "A sleepy leaf sends a reading of {READING} bytes every 10 minutes. Frames and bytes on \
         the air are summed\nover all hops and include acknowledgements of TCP and of the link; mC is \
         the charge of the leaf's\nradio and processor, without cryptography; wakes is the number of times that the \
         leaf wakes up to send a reading; ms is\nthe time from when the reading is due until it is acknowledged. Each \
         number is the mean of {READINGS} readings\nafter the first; the mean of wakes also \
         includes the first reading.\n"
    );
    let mut lines = Vec::new();
    for hops in [1, 3] {
        let _ = writeln!(
            table,
            "\n{:<52} {:>7} {:>7} {:>8} {:>6} {:>7}",
            format!("{hops} hop{}", if hops == 1 { "" } else { "s" }),
            "frames",
            "bytes",
            "mC",
            "wakes",
            "ms"
        );
        for way in WAYS {
            let cost = match cost(hops, way) {
                Ok(cost) => cost,
                Err(message) => return fail(FAILED, format!("{}: {message}", way.name)),
            };
            let _ = writeln!(
                table,
                "{:<52} {:>7.1} {:>7.0} {:>8.3} {:>6.1} {:>7.0}",
                way.name, cost.frames, cost.bytes, cost.charge_mc, cost.wakes, cost.ms
            );
            let object = json!({
                "bench": "readings", "hops": hops, "way": way.name, "frames": cost.frames,
                "bytes": cost.bytes, "charge_mc": cost.charge_mc, "wakes": cost.wakes,
                "ms": cost.ms,
            });
            lines.push(object.to_string());
        }
    }
    let text = match json {
        Some(_) => lines.join("\n") + "\n",
        None => table,
    };
    let written = match json {
        Some(path) if !output::is_standard(path) => std::fs::write(path, &text),
        _ => output::print(&text),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("cannot write the figures: {error}")),
    }
}

/// Returns the mean cost of a reading: a run with `1 + READINGS` readings, minus a run of the same
/// duration with one. The costs of an idle node and of the first reading thus cancel out.
fn cost(hops: usize, way: Way) -> Result<Cost, String> {
    let [one, many] = [1, 1 + READINGS].map(|readings| measure(hops, way, readings));
    let (one, many) = (one?, many?);
    let per = |sum: fn(&Sums) -> f64| (sum(&many) - sum(&one)) / READINGS as f64;
    Ok(Cost {
        frames: per(|it| it.frames as f64),
        bytes: per(|it| it.bytes as f64),
        charge_mc: per(|it| it.charge_mc),
        // Nothing is subtracted here, because `measure` counts only wake-ups soon after a reading.
        wakes: many.wakes as f64 / (1 + READINGS) as f64,
        ms: per(|it| it.waited.as_micros() as f64 / 1_000.0),
    })
}

struct Sums {
    frames: u64,
    bytes: u64,
    wakes: u64,
    charge_mc: f64,
    waited: Duration,
}

/// Counts frames on the air.
#[derive(Clone)]
struct Counter {
    leaf: usize,
    counted: Rc<RefCell<Counted>>,
}

#[derive(Clone, Copy, Default)]
struct Counted {
    frames: u64,
    bytes: u64,
    /// Number of times at which the leaf woke up to send, in the minute after each reading. Frames
    /// less than [`APART`] apart belong to one wake-up.
    wakes: u64,
    last: Option<Instant>,
}

impl FrameTrace for Counter {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let counted = &mut *self.counted.borrow_mut();
        counted.frames += 1;
        // `mpdu` lacks the check sequence of 2 bytes.
        counted.bytes += frame.mpdu.len() as u64 + 2;
        if frame.from == self.leaf {
            let last = counted.last.replace(frame.end);
            let begins = last.is_none_or(|last| frame.start.since(last) > APART);
            // Do not count the leaf's periodic registrations with its parent, which happen at other
            // times than the readings.
            let since_due = frame.start.as_micros() % INTERVAL.as_micros();
            let has_begun = frame.start.as_micros() >= INTERVAL.as_micros();
            let is_for_reading = has_begun && since_due < INTERVAL.as_micros() / 10;
            counted.wakes += u64::from(begins && is_for_reading);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

fn scenario(hops: usize) -> Result<Scenario, String> {
    let text = format!(
        r#"
        duration = "4 h"
        [topology]
        kind = "line"
        nodes = {}
        spacing = "40 m"
        [medium]
        model = "unit-disk"
        [radio]
        model = "at86rf233"
        [tcp]
        connections = 3
        [nodes.node-1]
        role = "border"
        [nodes.node-{}]
        role = "leaf"
        sleepy = true
        [poll]
        policy = "learned"
        base_interval = "24 h"
        "#,
        hops + 1,
        hops + 1
    );
    let mut scenario = Scenario::parse("readings", &text, &[]).map_err(|e| e.to_string())?;
    scenario.tcp.fast_open_servers = 1;
    Ok(scenario)
}

fn measure(hops: usize, way: Way, readings: u64) -> Result<Sums, String> {
    let scenario = scenario(hops)?;
    let mut world = World::new(&scenario, 1).map_err(|e| e.to_string())?;
    let counter = Counter {
        leaf: hops,
        counted: Rc::default(),
    };
    world.add_trace(Box::new(counter.clone()));
    let address = scenario.address(0).ok_or("the scenario has no server")?;
    let server = Endpoint::new(address, PORT);
    let heard = Rc::new(Cell::new(0));
    let failed: Rc<RefCell<Option<Errno>>> = Rc::default();
    let waited = Rc::new(Cell::new(Duration::ZERO));
    let hears = Rc::clone(&heard);
    world.add_app(
        0,
        Tasks::start(3, move |net, _| async move {
            serve(&net, way.tls, &hears).await;
        }),
    );
    let (fails, waits) = (Rc::clone(&failed), Rc::clone(&waited));
    world.add_app(
        hops,
        Tasks::start(2, move |net, time| async move {
            let sent = send(&net, &time, server, way, readings, &waits).await;
            *fails.borrow_mut() = sent.err();
        }),
    );
    world.run_until(Instant::ZERO + INTERVAL.times(READINGS + 2));
    if let Some(error) = *failed.borrow() {
        return Err(error.to_string());
    }
    let report = world.report();
    if !report.oracle.ok {
        return Err(report.oracle.violations.join("; "));
    }
    let expected = bytes_of(way, readings);
    if heard.get() != expected {
        return Err(format!("{} of {expected} bytes arrived", heard.get()));
    }
    let counted = *counter.counted.borrow();
    Ok(Sums {
        frames: counted.frames,
        bytes: counted.bytes,
        wakes: counted.wakes,
        charge_mc: report.nodes[hops].energy.charge_mc,
        waited: waited.get(),
    })
}

/// Returns how many bytes the server must have read at the end.
fn bytes_of(way: Way, readings: u64) -> u64 {
    let Some(tls) = way.tls else {
        return readings * READING as u64;
    };
    let (records, opened) = (READING + RECORD, tls.hello + FINISHED);
    let connections = match way.between {
        Between::Kept | Between::Frozen => 1,
        Between::Closed | Between::Fast => readings,
    };
    let closed = match way.between {
        Between::Kept | Between::Frozen => 0,
        Between::Closed | Between::Fast => readings * CLOSE as u64,
    };
    readings * records as u64 + connections * opened as u64 + closed
}

/// Receives readings over consecutive connections.
async fn serve(net: &SimNet, tls: Option<Tls>, heard: &Cell<u64>) {
    let how = Listen {
        fast_open: 4,
        ..Listen::default()
    };
    let Ok(listener) = net.tcp_listen_with(PORT, how) else {
        return;
    };
    while let Ok(mut stream) = listener.accept().await {
        let mut before = tls.map_or(0, |tls| tls.hello);
        let mut room = [0; 256];
        while let Ok(len @ 1..) = stream.read(&mut room).await {
            heard.set(heard.get() + len as u64);
            if let Some(tls) = tls
                && before > 0
            {
                before = before.saturating_sub(len);
                if before == 0 && stream.write_all(&vec![0; tls.answer]).await.is_err() {
                    break;
                }
            }
        }
    }
}

async fn send(
    net: &SimNet,
    time: &Time,
    server: Endpoint,
    way: Way,
    readings: u64,
    waited: &Cell<Duration>,
) -> Result<(), Errno> {
    let reading = vec![0; READING + way.tls.map_or(0, |_| RECORD)];
    let mut kept = None;
    let mut frozen: Option<([u8; FROZEN], usize, Instant)> = None;
    for number in 0..readings {
        let due = Instant::ZERO + INTERVAL.times(number + 1);
        time.sleep(due.since(time.now())).await;
        let mut stream = match (kept.take(), frozen.take()) {
            (Some(stream), _) => stream,
            (None, Some((mut bytes, len, since))) => {
                net.tcp_thaw(time.now().since(since), &mut bytes[..len])?
            }
            (None, None) if way.between == Between::Fast => {
                let mut stream = net.tcp_connect_fast(server);
                stream.expect(way.tls.is_some());
                once(&mut stream, way.tls, &reading).await?;
                waited.set(waited.get() + time.now().since(due));
                let opened = stream.stream().ok_or(Errno::ENOTCONN)?;
                opened.expect(false);
                close(opened, way.tls).await?;
                continue;
            }
            (None, None) => {
                let mut stream = net.tcp_connect(server).await?;
                stream.expect(way.tls.is_some());
                if let Some(tls) = way.tls {
                    shake_hands(&mut stream, tls).await?;
                }
                stream.expect(false);
                stream
            }
        };
        stream.write_all(&reading).await?;
        stream.flush().await?;
        waited.set(waited.get() + time.now().since(due));
        match way.between {
            Between::Kept => kept = Some(stream),
            Between::Frozen => {
                let mut bytes = [0; FROZEN];
                let len = stream.freeze(&mut bytes).map_err(|_| Errno::EINVAL)?;
                frozen = Some((bytes, len, time.now()));
            }
            Between::Closed | Between::Fast => close(&mut stream, way.tls).await?,
        }
    }
    // A kept connection stays open for the whole run.
    std::future::pending().await
}

async fn once<S: Read<Error = Errno> + Write<Error = Errno>>(
    stream: &mut S,
    tls: Option<Tls>,
    reading: &[u8],
) -> Result<(), Errno> {
    if let Some(tls) = tls {
        shake_hands(stream, tls).await?;
    }
    stream.write_all(reading).await?;
    stream.flush().await
}

async fn shake_hands<S: Read<Error = Errno> + Write<Error = Errno>>(
    stream: &mut S,
    tls: Tls,
) -> Result<(), Errno> {
    stream.write_all(&vec![0; tls.hello]).await?;
    let mut answer = vec![0; tls.answer];
    let read = stream.read_exact(&mut answer).await;
    read.map_err(|_| Errno::ECONNRESET)?;
    stream.write_all(&[0; FINISHED]).await
}

async fn close(
    stream: &mut redpoll_socket::nal::TcpStream<
        '_,
        redpoll_sim::SimProfile,
        Time,
        Box<[redpoll_socket::nal::Watch]>,
    >,
    tls: Option<Tls>,
) -> Result<(), Errno> {
    if tls.is_some() {
        stream.write_all(&[0; CLOSE]).await?;
    }
    stream.expect(true);
    stream.shutdown();
    while stream.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}
