//! The states of a connection and their transitions (RFC 9293 §3.3.2).

use core::fmt;

use crate::Error;
use crate::recovery::Loss;

/// The state of a connection, with the names of RFC 9293 §3.3.2. LISTEN has its own type,
/// [`Listener`](crate::Listener).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Our SYN was sent, or is about to be.
    SynSent,
    /// The peer's SYN arrived; ours is not acknowledged yet.
    SynReceived,
    /// Both ends may send data.
    Established,
    /// We closed; our FIN is not acknowledged yet.
    FinWait1,
    /// We closed and the peer acknowledged our FIN; the peer may still send.
    FinWait2,
    /// The peer closed; we may still send.
    CloseWait,
    /// Both closed at the same time; our FIN is not acknowledged yet.
    Closing,
    /// The peer closed, then we did; our FIN is not acknowledged yet.
    LastAck,
    /// Both closed; the connection waits for old segments to leave the network.
    TimeWait,
    /// No connection.
    Closed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Cause {
    Close,
    FinReceived,
    FinAcked,
    /// Two maximum segment lifetimes passed in TIME-WAIT.
    TimeWaitOver,
}

/// The synchronised states: both ends know both sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Synchronized {
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// All transitions between synchronised states; `None` is CLOSED (RFC 9293 §3.3.2, figure 5). Other
/// causes have no effect. Resets and timeouts lead from every state to CLOSED and are not listed.
pub(crate) const TRANSITIONS: &[(Synchronized, Cause, Option<Synchronized>)] = {
    use Cause::*;
    use Synchronized::*;
    &[
        (Established, Close, Some(FinWait1)),
        (Established, FinReceived, Some(CloseWait)),
        (FinWait1, FinAcked, Some(FinWait2)),
        (FinWait1, FinReceived, Some(Closing)),
        (FinWait2, FinReceived, Some(TimeWait)),
        (CloseWait, Close, Some(LastAck)),
        (Closing, FinAcked, Some(TimeWait)),
        (LastAck, FinAcked, None),
        (TimeWait, TimeWaitOver, None),
    ]
};

impl Synchronized {
    /// Returns the state after `cause`; `None` is CLOSED.
    pub(crate) fn on(self, cause: Cause) -> Option<Synchronized> {
        TRANSITIONS
            .iter()
            .find(|(from, by, _)| *from == self && *by == cause)
            .map_or(Some(self), |(_, _, to)| *to)
    }

    /// Returns whether the peer may still send data, because its FIN has not arrived.
    pub(crate) const fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Returns whether our data or FIN may still be unacknowledged.
    pub(crate) const fn may_send(self) -> bool {
        !matches!(self, Self::FinWait2 | Self::TimeWait)
    }

    pub(crate) const fn may_write(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }
}

impl From<Synchronized> for State {
    fn from(state: Synchronized) -> State {
        match state {
            Synchronized::Established => State::Established,
            Synchronized::FinWait1 => State::FinWait1,
            Synchronized::FinWait2 => State::FinWait2,
            Synchronized::CloseWait => State::CloseWait,
            Synchronized::Closing => State::Closing,
            Synchronized::LastAck => State::LastAck,
            Synchronized::TimeWait => State::TimeWait,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    SynSent(SynSent),
    SynReceived(SynReceived),
    Synchronized(Synchronized),
    Closed(Closed),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SynSent {
    pub(crate) syn: OurSyn,
    /// Length of the cookie on the SYN of a Fast Open; 0 for a request of a cookie.
    pub(crate) fast_open: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SynReceived {
    pub(crate) syn: OurSyn,
    /// Whether the connection was made from LISTEN; then a reset returns it to LISTEN.
    pub(crate) passive: bool,
    /// Whether CLOSE was called and is deferred until ESTABLISHED.
    pub(crate) close_queued: bool,
    /// After a passive open, bytes of data accepted from the peer's SYN (RFC 7413). After an active
    /// one, bytes received and not acknowledged before ESTABLISHED.
    pub(crate) text: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OurSyn {
    pub(crate) due: bool,
    pub(crate) lost: Option<Loss>,
}

impl OurSyn {
    pub(crate) const FIRST: OurSyn = OurSyn {
        due: true,
        lost: None,
    };
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    /// Reason, unless both directions closed normally.
    pub(crate) error: Option<Error>,
}

impl Phase {
    pub(crate) fn state(&self) -> State {
        match self {
            Phase::SynSent(_) => State::SynSent,
            Phase::SynReceived(_) => State::SynReceived,
            Phase::Synchronized(state) => State::from(*state),
            Phase::Closed(_) => State::Closed,
        }
    }

    pub(crate) fn synchronized(&self) -> Option<Synchronized> {
        match self {
            Phase::Synchronized(state) => Some(*state),
            _ => None,
        }
    }

    /// Returns the state of our SYN before the connection is synchronised.
    pub(crate) fn our_syn(&mut self) -> Option<&mut OurSyn> {
        match self {
            Phase::SynSent(state) => Some(&mut state.syn),
            Phase::SynReceived(state) => Some(&mut state.syn),
            Phase::Synchronized(_) | Phase::Closed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::format;
    use std::string::String;

    use super::*;

    #[test]
    fn the_state_graph_is_that_of_state_graph_txt() {
        let mut graph = String::new();
        for (from, cause, to) in TRANSITIONS {
            let to = to.map_or(State::Closed, State::from);
            graph += &format!("{} --{cause:?}--> {to}\n", State::from(*from));
        }
        assert_eq!(graph, include_str!("state_graph.txt"));
    }
}
