//! The state of a connection, and the segments that are due.

use redpoll_base::Bytes;
use redpoll_tcp::{Error, SeqNum, State};

use super::burst::Burst;
use super::{FIN_TICKS, LAST_ACK_TICKS, TIME_WAIT};
use crate::Body;

// Bits of [`Control::due`].
pub(super) const SYN: u8 = 1 << 0;
pub(super) const SYN_ACK: u8 = 1 << 1;
pub(super) const FIN: u8 = 1 << 2;
pub(super) const ACK: u8 = 1 << 3;
pub(super) const RST: u8 = 1 << 4;
/// An acknowledgment of the received data, which is sent after `ACK` if both are due.
pub(super) const LATE_ACK: u8 = 1 << 5;
/// An acknowledgment whose number is one above the received data, because it covers a FIN.
pub(super) const FIN_ACK: u8 = 1 << 6;
/// A FIN whose acknowledgment number is one above the received data, because it covers the peer's
/// FIN.
pub(super) const LATE_FIN: u8 = 1 << 7;

#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub(crate) state: State,
    pub(super) due: u8,
    /// Ticks until the timer expires; 0 if the timer is stopped.
    pub(super) retx: u8,
    /// Number of timer-driven sends. With the correction `counter`, an ACK of new data clears it.
    pub(super) count: u8,
    /// Number of segments that acknowledged no new data.
    pub(super) duplicates: u8,
    /// Whether an acknowledgment has been sent for a segment out of order.
    pub(super) ack_sent: bool,
    /// Sequence number and acknowledgment number of a reset that is due, both taken from the header
    /// of the segment that the reset answers.
    pub(super) refusal: Option<(SeqNum, SeqNum)>,
    /// With [`Corrections::write`]: whether new data wait for the next tick.
    pub(super) has_new: bool,
    /// Sequence number after the last byte that the application has written.
    pub(super) seqno: SeqNum,
    /// Sequence number of the first byte that the peer has not acknowledged.
    pub(super) head: SeqNum,
    /// Sequence number of the first byte in the send buffer.
    pub(super) start: SeqNum,
    /// Sequence number after the last byte that was sent.
    pub(super) sent: SeqNum,
    /// Sequence number of the next byte that is expected from the peer.
    pub(super) ackno: SeqNum,
    pub(super) rwnd: u16,
    pub(super) cwnd: u16,
    pub(super) ssthresh: u16,
    pub(super) burst: Option<Burst>,
}

impl Control {
    pub(super) fn new(state: State, iss: SeqNum, mss: u16) -> Control {
        Control {
            state,
            due: 0,
            retx: 0,
            count: 0,
            duplicates: 0,
            ack_sent: false,
            refusal: None,
            has_new: false,
            seqno: iss + 1,
            head: iss + 1,
            start: iss + 1,
            sent: iss + 1,
            ackno: SeqNum(0),
            rwnd: mss,
            cwnd: mss,
            ssthresh: u16::MAX,
            burst: None,
        }
    }

    /// Returns the number of bytes that are written and not acknowledged.
    pub(super) fn outstanding(&self) -> u32 {
        self.seqno - self.head
    }

    /// Returns the first sequence number in the send buffer. In an accepted connection, `head` is
    /// one less until the first acknowledgment.
    pub(super) fn first(&self) -> SeqNum {
        self.head.max(self.start)
    }

    /// Reduces the slow start threshold after an assumed loss.
    pub(super) fn reduce(&mut self, mss: u16) {
        let floor = mss.saturating_mul(2);
        self.ssthresh = (self.cwnd.min(self.rwnd) / 2).max(floor);
    }

    pub(super) fn end<B: Bytes>(&mut self, body: &mut Body<B>, error: Option<Error>) {
        self.state = State::Closed;
        (self.retx, self.burst, self.refusal) = (0, None, None);
        body.closed(error);
    }

    /// Gives the connection up without a message to the peer.
    pub(super) fn give_up<B: Bytes>(&mut self, body: &mut Body<B>) {
        self.state = State::TimeWait;
        (self.retx, self.burst, self.due) = (TIME_WAIT, None, 0);
        body.error = Some(Error::TimedOut);
    }

    /// Sends a FIN once all written data are acknowledged. Applications that must not lose data
    /// close in this way.
    pub(super) fn close_when_done<B: Bytes>(&mut self, body: &Body<B>) {
        if !body.closing || self.outstanding() > 0 {
            return;
        }
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            _ => return,
        };
        self.due |= FIN;
        self.retx = match self.state {
            State::LastAck => LAST_ACK_TICKS,
            _ => FIN_TICKS,
        };
    }
}
