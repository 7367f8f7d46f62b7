//! The states of a connection and the ways between them (RFC 9293 §3.3.2).

use core::fmt;

use crate::Error;
use crate::recovery::Loss;

/// The state of a connection as RFC 9293 §3.3.2 names it. LISTEN is a type of
/// its own, [`Listener`](crate::Listener).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// A SYN was sent, or is about to be.
    SynSent,
    /// A SYN was received; ours is not acknowledged yet.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// We closed; our FIN is not acknowledged yet.
    FinWait1,
    /// We closed, the peer knows; it may still send.
    FinWait2,
    /// The peer closed; we may still send.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged yet.
    Closing,
    /// The peer closed, then we did; our FIN is not acknowledged yet.
    LastAck,
    /// All is done; old segments get time to die out.
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

/// What moves a synchronised connection from state to state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Cause {
    /// The application closed its direction.
    Close,
    /// The peer's FIN arrived, in order.
    FinReceived,
    /// The peer acknowledged our FIN.
    FinAcked,
    /// Two maximum segment lifetimes passed in TIME-WAIT.
    TimeWaitOver,
}

/// The synchronised states: both ends know both sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Synchronized {
    /// See [`State::Established`].
    Established,
    /// See [`State::FinWait1`].
    FinWait1,
    /// See [`State::FinWait2`].
    FinWait2,
    /// See [`State::CloseWait`].
    CloseWait,
    /// See [`State::Closing`].
    Closing,
    /// See [`State::LastAck`].
    LastAck,
    /// See [`State::TimeWait`].
    TimeWait,
}

/// Every transition between synchronised states; `None` is CLOSED
/// (RFC 9293 §3.3.2, figure 5). A cause that is not listed changes nothing.
/// Resets and timeouts lead from every state to CLOSED and are not listed.
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
    /// Where `cause` leads from here; `None` is CLOSED.
    pub(crate) fn on(self, cause: Cause) -> Option<Synchronized> {
        TRANSITIONS
            .iter()
            .find(|(from, by, _)| *from == self && *by == cause)
            .map_or(Some(self), |(_, _, to)| *to)
    }

    /// Whether the peer may still send data: its FIN has not arrived.
    pub(crate) const fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether data or a FIN of ours may still be unacknowledged.
    pub(crate) const fn may_send(self) -> bool {
        !matches!(self, Self::FinWait2 | Self::TimeWait)
    }

    /// Whether the application may still write.
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

/// The part of a connection's life it is in: the unsynchronised states, which
/// share nothing, and the synchronised ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    SynSent(SynSent),
    SynReceived(SynReceived),
    Synchronized(Synchronized),
    Closed(Closed),
}

/// SYN-SENT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SynSent {
    pub(crate) syn: OurSyn,
    /// The length of the cookie that goes with it, 0 to ask for one, if this is
    /// a Fast Open.
    pub(crate) fast_open: Option<u8>,
}

/// SYN-RECEIVED.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SynReceived {
    pub(crate) syn: OurSyn,
    /// Whether it came from LISTEN, to which a reset returns it.
    pub(crate) passive: bool,
    /// Whether CLOSE was called and waits for ESTABLISHED.
    pub(crate) close_queued: bool,
    /// How many bytes of data on the peer's SYN were taken (RFC 7413), if it is
    /// `passive`; otherwise how many wait for ESTABLISHED, not acknowledged.
    pub(crate) text: u16,
}

/// Our SYN, or SYN with ACK, on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OurSyn {
    /// It is to be sent now.
    pub(crate) due: bool,
    /// How it was lost on an earlier try, if it was.
    pub(crate) lost: Option<Loss>,
}

impl OurSyn {
    pub(crate) const FIRST: OurSyn = OurSyn {
        due: true,
        lost: None,
    };
}

/// CLOSED.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    /// Why, unless both directions closed normally.
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

    /// Our SYN, in the two states in which it is under way.
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
    fn the_graph_is_as_written_down() {
        let mut graph = String::new();
        for (from, cause, to) in TRANSITIONS {
            let to = to.map_or(State::Closed, State::from);
            graph += &format!("{} --{cause:?}--> {to}\n", State::from(*from));
        }
        assert_eq!(graph, include_str!("state_graph.txt"));
    }
}
