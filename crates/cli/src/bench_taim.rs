//! `redpoll bench taim`: the cost of the engine of `redpoll taim`, the lateness of its packets, the
//! memory of a flow, and the effect of a flood of forged flows on honest flows.
//!
//! Not included is the kernel's work: copying a packet to this process, and receiving its verdict.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Params, Taim};
use redpoll_base::{Duration, Instant, Rng};
use redpoll_linux::gateway::Clock;
use redpoll_linux::processor;
use redpoll_taim::{Heap, engine};
use serde_json::json;

use crate::FAILED;
use crate::output::{self, fail};

const FLOWS: u32 = 5_000;
const RATE: u64 = 20_000;
const SLOTS: u32 = 8_192;
const PACKETS: u32 = 16_384;
const FORGED: u64 = 1_000_000;

/// A measured value with its name and bound.
struct Figure {
    name: &'static str,
    asked: &'static str,
    measured: f64,
    unit: &'static str,
}

/// Measures and prints the figures; with `json`, also writes one object per line to that file.
pub fn run(json: Option<&Path>) -> ExitCode {
    let per_packet = cost();
    let (p99, longest) = late(10, &mut OwnCore::default());
    let (p99_real, _) = late(10, &mut RealTime(Clock::start()));
    let [alone, flooded] = [false, true].map(flood);
    let figures = [
        Figure {
            name: "processor time per packet, 5,000 flows",
            asked: "",
            measured: per_packet,
            unit: "ns",
        },
        Figure {
            name: "share of one core at 20,000 packets/s",
            asked: "<= 100",
            measured: per_packet * RATE as f64 / 1e7,
            unit: "%",
        },
        Figure {
            name: "delay after a packet's due time, p99, dedicated core (modelled)",
            asked: "<= 1000",
            measured: p99,
            unit: "us",
        },
        Figure {
            name: "longest delay after a packet's due time, dedicated core (modelled)",
            asked: "",
            measured: longest,
            unit: "us",
        },
        Figure {
            name: "delay after a packet's due time, p99, shared core",
            asked: "",
            measured: p99_real,
            unit: "us",
        },
        Figure {
            name: "memory per flow, including that for held packets",
            asked: "<= 2048",
            measured: memory() as f64 / f64::from(SLOTS),
            unit: "B",
        },
        Figure {
            name: "total memory, allocated at the start",
            asked: "",
            measured: memory() as f64 / 1024.0,
            unit: "KiB",
        },
        Figure {
            name: "throughput of honest flows with 1,000,000 forged flows, divided by that without \
                   forged flows",
            asked: ">= 90",
            measured: 100.0 * flooded as f64 / alone as f64,
            unit: "%",
        },
    ];
    let mut text = String::new();
    for figure in &figures {
        let _ = match json {
            Some(_) => writeln!(
                text,
                "{}",
                json!({"figure": figure.name, "asked": figure.asked, "measured": figure.measured, "unit": figure.unit})
            ),
            None => writeln!(
                text,
                "{:80} {:>9}  {:12.1} {}",
                figure.name, figure.asked, figure.measured, figure.unit
            ),
        };
    }
    let written = match json {
        Some(path) if !output::is_standard(path) => std::fs::write(path, &text),
        _ => std::io::stdout().write_all(text.as_bytes()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, format!("cannot write the figures: {error}")),
    }
}

fn memory() -> usize {
    let index = (2 * SLOTS).next_power_of_two() as usize;
    let flows = SLOTS as usize * (size_of::<FlowSlot>() + size_of::<u32>());
    flows + index * size_of::<u32>() + PACKETS as usize * size_of::<HeldSlot<u32>>()
}

/// A connection that always has data to send, one segment at a time.
#[derive(Clone, Copy)]
struct Conn {
    number: u32,
    up: u32,
    down: u32,
}

/// Returns the headers of a segment of flow `number`, sent by the node if `is_up`, or by the host.
fn header(number: u32, is_up: bool, (seq, ack): (u32, u32), flags: u8, len: u16) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[0] = 0x60;
    bytes[4..6].copy_from_slice(&(20 + len).to_be_bytes());
    bytes[6] = 6;
    let (node, host) = if is_up { (8, 24) } else { (24, 8) };
    for at in [node, host] {
        bytes[at] = 0xfd;
    }
    bytes[node + 12..node + 16].copy_from_slice(&number.to_be_bytes());
    bytes[host + 1] = 1;
    let ports = [7_000u16, 80];
    let [from, to] = if is_up { ports } else { [80, 7_000] };
    bytes[40..42].copy_from_slice(&from.to_be_bytes());
    bytes[42..44].copy_from_slice(&to.to_be_bytes());
    bytes[44..48].copy_from_slice(&seq.to_be_bytes());
    bytes[48..52].copy_from_slice(&ack.to_be_bytes());
    bytes[52..54].copy_from_slice(&[0x50, flags]);
    bytes
}

const SYN: u8 = 2;
const ACK: u8 = 16;

impl Conn {
    fn new(number: u32) -> Conn {
        Conn {
            number,
            up: number.wrapping_mul(77_777),
            down: 5,
        }
    }

    fn data(&mut self, len: u16) -> [u8; 60] {
        let bytes = header(self.number, true, (self.up, self.down), ACK, len);
        self.up = self.up.wrapping_add(len.into());
        bytes
    }

    fn ack(&self) -> [u8; 60] {
        header(self.number, false, (self.down, self.up), ACK, 0)
    }

    /// Opens the connection: passes packets of both ends to the engine.
    fn open(&mut self, taim: &mut Taim<Heap, u32>, now: Instant) {
        for packet in [
            self.data(1),
            self.ack(),
            {
                self.down = self.down.wrapping_add(1);
                header(
                    self.number,
                    false,
                    (self.down.wrapping_sub(1), self.up),
                    ACK,
                    1,
                )
            },
            self.data(1),
        ] {
            taim.input(now, &packet, 0);
            while taim.take(now).is_some() {}
        }
    }
}

/// Returns an engine with `FLOWS` confirmed flows that releases 25,000 packets per second.
fn loaded(now: Instant) -> (Taim<Heap, u32>, Vec<Conn>) {
    let params = Params {
        initial_delay: Duration::from_micros(40),
        min_delay: Duration::from_micros(40),
        max_wait: Some(Duration::from_secs(1)),
        ..Params::default()
    };
    let mut taim = engine(params, [11, 12], SLOTS, PACKETS);
    let mut conns: Vec<_> = (0..FLOWS).map(Conn::new).collect();
    for conn in &mut conns {
        conn.open(&mut taim, now);
    }
    (taim, conns)
}

/// Returns the processor time of a packet in ns, from its arrival to its departure, in 20 s of
/// virtual time with 20,000 packets a second: bursts of ten, each packet of a random flow.
fn cost() -> f64 {
    let (mut taim, mut conns) = loaded(Instant::ZERO);
    let mut rng = Rng::new(1);
    let count = 20 * RATE;
    let begun = processor::time_of_thread();
    let mut left = 0u64;
    for number in 0..count {
        let now = Instant::from_micros(number / 10 * 10 * 1_000_000 / RATE);
        while let Some(at) = taim.poll_at().map(|wake| wake.at).filter(|at| *at < now) {
            left += u64::from(taim.poll(at).is_some());
        }
        let conn = &mut conns[rng.below(FLOWS) as usize];
        if matches!(
            taim.input(now, &conn.data(38), 1),
            Input::Pass(_) | Input::WaitInstead(_)
        ) {
            left += 1;
        }
    }
    let spent = (processor::time_of_thread() - begun).as_nanos() as f64;
    assert_eq!(
        left + u64::from(taim.waiting_packets()),
        count,
        "each packet was forwarded or is still held"
    );
    spent / count as f64
}

trait Time {
    fn now(&self) -> Instant;
    fn sleep(&mut self, pause: Duration);
}

/// The real clock, on a machine that also does other work.
struct RealTime(Clock);

impl Time for RealTime {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep(&mut self, pause: Duration) {
        std::thread::sleep(std::time::Duration::from_micros(pause.as_micros()));
    }
}

/// A clock as on a dedicated core: it counts the processor time of this thread and the time slept.
/// The kernel wakes a sleeping thread [`Self::SLACK`] late.
#[derive(Default)]
struct OwnCore {
    slept: Duration,
}

impl OwnCore {
    /// Delay of a wake-up: Linux's timer slack of 50 µs, and 10 µs for the context switch.
    const SLACK: Duration = Duration::from_micros(60);
}

impl Time for OwnCore {
    fn now(&self) -> Instant {
        let spent = processor::time_of_thread().as_micros();
        Instant::ZERO + Duration::from_micros(u64::try_from(spent).unwrap_or(u64::MAX)) + self.slept
    }

    fn sleep(&mut self, pause: Duration) {
        self.slept += pause + Self::SLACK;
    }
}

/// Returns the 99th percentile and the maximum of the packets' lateness in µs, in `seconds`
/// seconds.
fn late(seconds: u64, clock: &mut impl Time) -> (f64, f64) {
    let (mut taim, mut conns) = loaded(clock.now());
    let mut rng = Rng::new(2);
    let mut lates = Vec::with_capacity((seconds * RATE) as usize);
    let begun = clock.now();
    let mut sent = 0;
    while sent < seconds * RATE {
        let now = clock.now();
        // Packets arrive at a constant rate. When this thread runs, the engine gets all packets
        // that have arrived by then.
        let due = now.since(begun).as_micros() * RATE / 1_000_000;
        while sent < due.min(seconds * RATE) {
            let arrived = begun + Duration::from_micros(sent * 1_000_000 / RATE);
            let conn = &mut conns[rng.below(FLOWS) as usize];
            // If the engine does not hold the packet back, its lateness is the time since its
            // arrival.
            if taim.input(arrived, &conn.data(38), 1) != Input::Wait {
                lates.push(now.since(arrived).as_micros());
            }
            sent += 1;
        }
        let now = clock.now();
        while let Some(packet) = taim.poll(now) {
            lates.push(packet.late.as_micros());
        }
        let next = begun + Duration::from_micros((sent + 1) * 1_000_000 / RATE);
        let wake = taim.poll_at().map_or(next, |wake| wake.at.min(next));
        let pause = wake.since(clock.now());
        if !pause.is_zero() {
            clock.sleep(pause);
        }
    }
    lates.sort_unstable();
    let at = |share: f64| lates[((lates.len() - 1) as f64 * share) as usize] as f64;
    (at(0.99), at(1.0))
}

/// Returns how many bytes a hundred honest flows carry in a minute of virtual time. Each flow sends
/// one segment at a time, with 100 to 600 ms between two segments. With `is_flooded`, a million
/// forged packets arrive evenly over this minute, each of a new flow. Half of these packets request
/// a connection.
fn flood(is_flooded: bool) -> u64 {
    let minute = Instant::from_millis(60_000);
    let params = Params {
        initial_delay: Duration::from_millis(1),
        ..Params::default()
    };
    let mut taim = engine(params, [21, 22], SLOTS, PACKETS);
    let mut conns: Vec<_> = (0..100).map(Conn::new).collect();
    // Half of the flows exist before the flood.
    for conn in conns.iter_mut().step_by(2) {
        conn.open(&mut taim, Instant::ZERO);
    }
    let mut bytes = 0;
    // The arrival time of each flow's next segment.
    let mut coming = BinaryHeap::new();
    for conn in &conns {
        coming.push(Reverse((
            Instant::from_micros(u64::from(conn.number) * 1_000),
            conn.number,
        )));
    }
    let mut forged = 0u64;
    let round = |number: u32| Duration::from_millis(100 + 5 * u64::from(number));
    loop {
        let flow = coming.peek().map(|Reverse((at, _))| *at);
        let fake = Instant::from_micros(forged * 60_000_000 / FORGED);
        let fake = (is_flooded && forged < FORGED).then_some(fake);
        let wake = taim.poll_at().map(|wake| wake.at);
        let Some(now) = [flow, fake, wake].into_iter().flatten().min() else {
            return bytes;
        };
        if now >= minute {
            return bytes;
        }
        let mut leaves = Vec::new();
        if fake == Some(now) {
            let flags = if forged.is_multiple_of(2) { SYN } else { ACK };
            let number = 1_000_000 + forged as u32;
            let packet = header(number, true, (forged as u32, 1), flags, 1);
            forged += 1;
            if let Input::Pass(number) | Input::WaitInstead(number) =
                taim.input(now, &packet, u32::MAX)
            {
                leaves.push(number);
            }
        } else if flow == Some(now) {
            let number = coming.pop().map_or(0, |Reverse((_, number))| number);
            let packet = conns[number as usize].data(38);
            if let Input::Pass(number) | Input::WaitInstead(number) =
                taim.input(now, &packet, number)
            {
                leaves.push(number);
            }
        }
        while let Some(packet) = taim.poll(now) {
            leaves.push(packet.handle);
        }
        for number in leaves {
            let Some(conn) = conns.get(number as usize) else {
                continue;
            };
            // The host acknowledges at once, and the engine does not delay the acknowledgment.
            bytes += 38;
            let later = now + round(number);
            taim.input(now, &conn.ack(), u32::MAX);
            coming.push(Reverse((later, number)));
        }
    }
}
