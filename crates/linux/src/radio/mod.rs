//! Radios of a border router: a stick with OpenThread's RCP firmware, or datagrams.
//!
//! - [`spec`]: the text by which a user names a radio;
//! - [`hdlc`], [`spinel`], [`rcp`]: a radio co-processor, without its line;
//! - [`mod@line`]: lines to the co-processor;
//! - [`zep`]: frames in UDP datagrams, without the socket;
//! - [`counter`]: the frame counter in a file that outlives the process;
//! - [`mesh`]: a border router on a radio, for the [gateway](crate::gateway).

pub mod counter;
pub mod hdlc;
pub mod line;
pub mod mesh;
pub mod rcp;
pub mod spec;
pub mod spinel;
pub mod zep;

use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use redpoll_base::{Duration, Instant};
use redpoll_stack::mac::RadioCaps;

use line::{Line, LineSpec};
use rcp::{Event, Identity, Rcp};
use spec::RadioSpec;
use zep::Zep;

/// Pause after the loss of a line before it is opened again.
const REOPEN: Duration = Duration::from_millis(1_000);
/// Maximum number of reads before other events are handled.
const BURST: usize = 64;

#[derive(Debug)]
pub struct Radio {
    kind: Link,
    events: VecDeque<Event>,
}

#[derive(Debug)]
enum Link {
    Spinel(Box<Stick>),
    Zep { zep: Zep, socket: UdpSocket },
}

#[derive(Debug)]
struct Stick {
    spec: LineSpec,
    rcp: Rcp,
    line: Option<Line>,
    reopen_at: Instant,
    /// Whether the user was informed that the stick is missing.
    is_told: bool,
}

impl Radio {
    /// Opens a radio. [`Radio::turn`] then sets it up, and [`Event::Ready`] reports the end of the
    /// set-up. Fails with the operating system's error if the device, the program or the address
    /// does not exist.
    pub fn open(spec: &RadioSpec, identity: Identity, now: Instant) -> io::Result<Radio> {
        let mut events = VecDeque::new();
        let kind = match spec {
            RadioSpec::Spinel(spec) => {
                let mut stick = Stick {
                    line: Some(Line::open(spec)?),
                    spec: spec.clone(),
                    rcp: Rcp::new(identity),
                    reopen_at: now,
                    is_told: false,
                };
                stick.rcp.on_connected(now);
                Link::Spinel(Box::new(stick))
            }
            RadioSpec::Zep { remote, listen } => {
                let socket = UdpSocket::bind(listen)?;
                socket.connect(remote)?;
                socket.set_nonblocking(true)?;
                events.push_back(Event::Ready {
                    version: format!("ZEP to {remote}"),
                    caps: RadioCaps {
                        auto_ack: true,
                        csma: true,
                        retries: false,
                        source_match: true,
                    },
                });
                let zep = Zep::new(identity);
                Link::Zep { zep, socket }
            }
        };
        Ok(Radio { kind, events })
    }

    /// Handles everything that is due: reads, writes, and opens a lost line again.
    pub fn turn(&mut self, now: Instant) {
        match &mut self.kind {
            Link::Spinel(stick) => stick.turn(now, &mut self.events),
            Link::Zep { zep, socket } => {
                zep.on_timeout(now);
                let mut buffer = [0; 2_048];
                for _ in 0..BURST {
                    // Stop if no datagram waits or the other end does not listen yet.
                    let Ok(len) = socket.recv(&mut buffer) else {
                        break;
                    };
                    zep.input(&buffer[..len]);
                }
                Self::flush(zep, socket);
            }
        }
    }

    /// Sends a frame. [`Event::Done`] reports the end of the transmission.
    pub fn transmit(&mut self, now: Instant, mpdu: &[u8], cca: bool) {
        match &mut self.kind {
            Link::Spinel(stick) => {
                stick.rcp.transmit(now, mpdu, cca);
                stick.write(now, &mut self.events);
            }
            Link::Zep { zep, socket } => {
                zep.transmit(now, mpdu);
                Self::flush(zep, socket);
            }
        }
    }

    /// Sets whether Imm-ACKs to data requests of this neighbour announce a waiting frame.
    pub fn set_pending(&mut self, neighbour: u16, pending: bool) {
        match &mut self.kind {
            Link::Spinel(stick) => stick.rcp.set_pending(neighbour, pending),
            Link::Zep { zep, .. } => zep.set_pending(neighbour, pending),
        }
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front().or_else(|| match &mut self.kind {
            Link::Spinel(stick) => stick.rcp.poll_event(),
            Link::Zep { zep, .. } => zep.poll_event(),
        })
    }

    pub fn is_useless(&self) -> bool {
        matches!(&self.kind, Link::Spinel(stick) if stick.rcp.is_useless())
    }

    /// Returns the time at which [`Radio::turn`] is due without an event.
    pub fn poll_at(&self) -> Option<Instant> {
        match &self.kind {
            Link::Spinel(stick) if stick.line.is_none() => Some(stick.reopen_at),
            Link::Spinel(stick) => stick.rcp.poll_at(),
            Link::Zep { zep, .. } => zep.poll_at(),
        }
    }

    /// Returns the descriptor that wakes [`Radio::turn`]; `None` while the co-processor's line is
    /// closed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.kind {
            Link::Spinel(stick) => stick.line.as_ref().map(AsFd::as_fd),
            Link::Zep { socket, .. } => Some(socket.as_fd()),
        }
    }

    pub fn summary(&self) -> String {
        match &self.kind {
            Link::Spinel(stick) => {
                let rcp = stick.rcp.counters();
                format!(
                    "{} frames sent, {} received; radio set up {} times, {} unexpected resets, {} \
                     reset notices in total, {} unanswered commands, {} late answers, {} invalid \
                     messages, {} frames or messages with a wrong checksum, {} messages \
                     discarded because the radio reads too slowly, {} warnings suppressed",
                    rcp.sent,
                    rcp.received,
                    rcp.set_up,
                    rcp.resets,
                    rcp.reset_notices,
                    rcp.unanswered,
                    rcp.late_answers,
                    rcp.nonsense,
                    rcp.damaged + rcp.bad_fcs,
                    rcp.unsent,
                    rcp.unreported,
                )
            }
            Link::Zep { zep, .. } => {
                let zep = zep.counters();
                format!(
                    "{} frames sent, {} received; ignored frames: {} for other nodes, {} invalid, \
                     {} with a wrong checksum",
                    zep.sent, zep.received, zep.not_for_us, zep.nonsense, zep.bad_fcs
                )
            }
        }
    }

    fn flush(zep: &mut Zep, socket: &UdpSocket) {
        while let Some(datagram) = zep.poll_output() {
            // A datagram without a receiver is a frame out of range.
            let _ = socket.send(&datagram);
        }
    }
}

impl Stick {
    fn turn(&mut self, now: Instant, events: &mut VecDeque<Event>) {
        if self.line.is_none() && self.reopen_at <= now {
            self.reopen_at = now + REOPEN;
            if let Ok(line) = Line::open(&self.spec) {
                self.line = Some(line);
                self.is_told = false;
                self.rcp.on_connected(now);
            }
        }
        let mut buffer = [0; 1_024];
        for _ in 0..BURST {
            let Some(line) = &mut self.line else { break };
            match line.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => self.rcp.input(now, &buffer[..len]),
                Err(error) => self.on_gone(now, &error, events),
            }
        }
        self.rcp.on_timeout(now);
        self.write(now, events);
    }

    /// Writes the bytes that the line accepts; the remaining bytes wait for the next turn.
    fn write(&mut self, now: Instant, events: &mut VecDeque<Event>) {
        while let Some(line) = &mut self.line {
            let (bytes, _) = self.rcp.output().as_slices();
            if bytes.is_empty() {
                return;
            }
            match line.write(bytes) {
                Ok(0) => return,
                Ok(len) => drop(self.rcp.output().drain(..len)),
                Err(error) => self.on_gone(now, &error, events),
            }
        }
    }

    fn on_gone(&mut self, now: Instant, error: &io::Error, events: &mut VecDeque<Event>) {
        self.line = None;
        self.reopen_at = now + REOPEN;
        self.rcp.on_disconnected();
        if !std::mem::replace(&mut self.is_told, true) {
            let text =
                format!("the radio has disconnected ({error}); trying to reconnect every second");
            events.push_back(Event::Trouble(text));
        }
    }
}
