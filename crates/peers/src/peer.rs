//! What the bench asks of a TCP stack, and the stacks there are.

use std::fmt;

use redpoll_base::{Duration, Instant};

use crate::{lwip, redpoll, smoltcp, tcplp};

/// One end of a connection in some stack. Packets are IPv6 with TCP in it.
///
/// Side 0 (see [`packet::address`](crate::packet::address)) opens actively,
/// side 1 passively.
pub trait Peer {
    /// A packet arrives.
    fn input(&mut self, now: Instant, packet: &[u8]);
    /// The next packet that the stack wants to send.
    fn output(&mut self, now: Instant) -> Option<Vec<u8>>;
    /// When to call [`on_timeout`](Self::on_timeout) next.
    fn poll_at(&mut self, now: Instant) -> Option<Instant>;
    /// A timer may have run out.
    fn on_timeout(&mut self, now: Instant);
    /// Takes what there is room for, and says how much.
    fn send(&mut self, now: Instant, bytes: &[u8]) -> usize;
    /// Gives received bytes, and says how many.
    fn recv(&mut self, now: Instant, out: &mut [u8]) -> usize;
    /// Whether the connection is established.
    fn is_established(&self) -> bool;
    /// Whether the connection was given up.
    fn has_failed(&self) -> bool;
    /// How often the retransmission timer made the stack send data again.
    fn timeouts(&self) -> u32;
}

/// What all stacks get alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Payload of a full-sized segment in bytes, options not counted.
    pub payload_bytes: u16,
    /// Send buffer and receive buffer of each end in bytes.
    pub buffer_bytes: usize,
}

/// A stack with its configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// This project's.
    Redpoll,
    /// This project's, with a least retransmission timeout of a second (RFC 6298 §2.4's
    /// SHOULD) instead of 300 ms.
    RedpollSecond,
    /// TCPlp as OpenThread ships it.
    Tcplp,
    /// lwIP.
    Lwip,
    /// smoltcp without congestion control, its default.
    Smoltcp,
    /// smoltcp with its Reno.
    SmoltcpReno,
}

impl Subject {
    /// All of them, in the order of the table.
    pub const ALL: [Subject; 6] = [
        Subject::Redpoll,
        Subject::RedpollSecond,
        Subject::Tcplp,
        Subject::Lwip,
        Subject::Smoltcp,
        Subject::SmoltcpReno,
    ];

    /// The name in tables, in results and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Subject::Redpoll => "redpoll",
            Subject::RedpollSecond => "redpoll-rto-1s",
            Subject::Tcplp => "tcplp",
            Subject::Lwip => "lwip",
            Subject::Smoltcp => "smoltcp",
            Subject::SmoltcpReno => "smoltcp-reno",
        }
    }

    /// The subject with this name.
    pub fn named(name: &str) -> Option<Subject> {
        Subject::ALL.into_iter().find(|this| this.name() == name)
    }

    /// Why it was not built in and how to have it, if it was not.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Subject::Redpoll | Subject::RedpollSecond => None,
            Subject::Tcplp => tcplp::MISSING,
            Subject::Lwip => lwip::MISSING,
            Subject::Smoltcp | Subject::SmoltcpReno => smoltcp::MISSING,
        }
    }

    /// Two ends that begin to connect now.
    ///
    /// # Panics
    ///
    /// If the subject is [`missing`](Self::missing).
    pub fn open(self, now: Instant, limits: &Limits) -> [Box<dyn Peer>; 2] {
        match self {
            Subject::Redpoll => redpoll::open(now, limits, None),
            Subject::RedpollSecond => redpoll::open(now, limits, Some(Duration::from_secs(1))),
            Subject::Tcplp => tcplp::open(now, limits),
            Subject::Lwip => lwip::open(now, limits),
            Subject::Smoltcp => smoltcp::open(now, limits, false),
            Subject::SmoltcpReno => smoltcp::open(now, limits, true),
        }
    }
}

/// The end of one stack that opens a connection and sends, and that of another.
///
/// # Panics
///
/// If one of them is [`missing`](Subject::missing).
pub fn open_between(
    [sender, receiver]: [Subject; 2],
    now: Instant,
    limits: &Limits,
) -> [Box<dyn Peer>; 2] {
    let [opens, listens] = sender.open(now, limits);
    if sender == receiver {
        return [opens, listens];
    }
    // Of some stacks there can be one pair at a time; the other half is not asked for
    // anything.
    drop(listens);
    let [_, listens] = receiver.open(now, limits);
    [opens, listens]
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
