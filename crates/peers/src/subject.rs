//! The available TCP stacks, each with its configuration.

use std::fmt;

use redpoll_base::{Duration, Instant};

use crate::peer::{Limits, Peer};
use crate::{lwip, redpoll, smoltcp, tcplp};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    Redpoll,
    /// Redpoll with a minimum RTO of 1 s (RFC 6298 §2.4's SHOULD) instead of 300 ms.
    RedpollSecond,
    /// TCPlp as OpenThread ships it.
    Tcplp,
    Lwip,
    /// smoltcp without congestion control, its default.
    Smoltcp,
    SmoltcpReno,
}

impl Subject {
    pub const ALL: [Subject; 6] = [
        Subject::Redpoll,
        Subject::RedpollSecond,
        Subject::Tcplp,
        Subject::Lwip,
        Subject::Smoltcp,
        Subject::SmoltcpReno,
    ];

    /// Returns the name in tables, in results and on the command line.
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

    pub fn named(name: &str) -> Option<Subject> {
        Subject::ALL.into_iter().find(|this| this.name() == name)
    }

    /// Returns why the stack was not built, and how to get it; `None` if the stack was built.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Subject::Redpoll | Subject::RedpollSecond => None,
            Subject::Tcplp => tcplp::MISSING,
            Subject::Lwip => lwip::MISSING,
            Subject::Smoltcp | Subject::SmoltcpReno => smoltcp::MISSING,
        }
    }

    /// Returns two ends of a connection that starts at `now`. Panics if the subject is
    /// [`missing`](Self::missing).
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

/// Returns two ends of a connection: `sender` opens the connection and sends, and `receiver` is the
/// stack of the other end. Panics if one of the stacks is [`missing`](Subject::missing).
pub fn open_between(
    [sender, receiver]: [Subject; 2],
    now: Instant,
    limits: &Limits,
) -> [Box<dyn Peer>; 2] {
    let [opens, listens] = sender.open(now, limits);
    if sender == receiver {
        return [opens, listens];
    }
    // Some stacks allow only one pair at a time, so drop the unused end of each pair.
    drop(listens);
    let [_, listens] = receiver.open(now, limits);
    [opens, listens]
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
