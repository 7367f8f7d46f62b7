//! Processing of a segment of a connection, with the steps in the same order as in BLIP.

use redpoll_base::Bytes;
use redpoll_tcp::{Error, Segment, State};

use super::control::{ACK, FIN_ACK, LATE_ACK, LATE_FIN, SYN_ACK};
use super::{Blip, Control, FIN_TICKS, LAST_ACK_TICKS, TIME_WAIT};
use crate::Body;

impl Blip {
    pub(super) fn on_segment<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        // A reset is accepted with any sequence number.
        if seg.flags.rst() {
            let refused = c.state == State::SynSent;
            c.due = 0;
            c.end(
                body,
                Some(if refused {
                    Error::Refused
                } else {
                    Error::Reset
                }),
            );
            return;
        }
        c.rwnd = seg.window;
        if c.state == State::SynSent && !self.on_answer(c, body, seg) {
            return;
        }
        let fixed = self.config.corrections.fin;
        match c.state {
            State::SynReceived => {
                if seg.flags.syn() {
                    c.due |= SYN_ACK;
                }
                let again = seg.flags.syn() && self.config.corrections.handshake;
                if again || !seg.flags.ack() {
                    return self.on_bare_fin(c, seg);
                }
                c.state = State::Established;
                body.connected();
            }
            State::LastAck => {
                let acked = seg.flags.ack() && seg.ack == c.seqno + 1;
                if acked {
                    body.acknowledge(usize::MAX);
                    c.end(body, None);
                    return;
                }
                return self.on_bare_fin(c, seg);
            }
            State::TimeWait => return self.on_bare_fin(c, seg),
            State::Closed => return,
            _ => {}
        }
        if matches!(c.state, State::FinWait1 | State::FinWait2 | State::Closing) {
            if fixed {
                self.on_closing(c, body, seg);
            } else if self.on_wait(c, body, seg) {
                return;
            }
        }
        if c.state == State::CloseWait {
            self.on_new_ack(c, body, seg);
        } else {
            self.on_data(c, body, seg);
        }
        c.close_when_done(body);
    }

    /// Acknowledges a FIN, whatever its sequence number, in a state that ignores all other
    /// segments.
    fn on_bare_fin(&self, c: &mut Control, seg: &Segment<'_>) {
        if seg.flags.fin() {
            c.due |= self.ack_of(seg);
        }
    }

    /// Returns the kind of acknowledgment of a segment. Without the correction `fin`, the
    /// acknowledgment covers a FIN without data even if the FIN is out of order.
    fn ack_of(&self, seg: &Segment<'_>) -> u8 {
        let more = seg.flags.fin() && seg.payload.is_empty() && !self.config.corrections.fin;
        if more { FIN_ACK } else { LATE_ACK }
    }

    /// Handles a segment in FIN-WAIT-1 and FIN-WAIT-2 without
    /// [`Corrections::fin`](super::Corrections::fin); returns whether the processing ends here. All
    /// data with or after the acknowledgment of the FIN are ignored.
    fn on_wait<B: Bytes>(&self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) -> bool {
        let acked = seg.flags.ack() && seg.ack == c.seqno + 1;
        if c.state == State::FinWait1 && !acked {
            return false;
        }
        if seg.flags.fin() {
            // In FIN-WAIT-2 the acknowledgment does not cover the FIN, so the peer repeats the FIN.
            c.due |= match c.state {
                State::FinWait2 => LATE_ACK,
                _ => self.ack_of(seg),
            };
            c.seqno += 1;
            (c.state, c.retx) = (State::TimeWait, TIME_WAIT);
            body.peer_closed();
        } else if c.state == State::FinWait1 {
            (c.state, c.retx) = (State::FinWait2, FIN_TICKS);
        }
        true
    }

    /// Handles an answer in SYN-SENT; returns whether the answer opens the connection.
    fn on_answer<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) -> bool {
        let opens = match self.config.corrections.handshake {
            true => seg.flags.syn() && seg.flags.ack() && seg.ack == c.seqno,
            // Either flag is sufficient, and the acknowledged number is not checked.
            false => seg.flags.syn() || seg.flags.ack(),
        };
        if !opens && !self.config.corrections.handshake {
            c.refusal = Some((seg.ack, seg.seq + 1));
        }
        if opens {
            c.ackno = seg.seq + 1;
            c.state = State::Established;
            body.connected();
        }
        opens
    }

    /// Handles the acknowledgment, the data and the FIN of a segment, in ESTABLISHED and while this
    /// end closes.
    fn on_data<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) {
        let resends = !self.on_new_ack(c, body, seg)
            && c.outstanding() > 0
            && self.on_duplicate(c, body, seg);
        // A segment that `on_duplicate` requests counts as the acknowledgment, so no other one is
        // owed.
        let mut owed = !resends && !seg.payload.is_empty();
        if seg.seq != c.ackno {
            if self.is_far(c, seg) {
                c.refusal = Some((seg.ack, seg.seq + 1));
            } else {
                c.due |= ACK;
                c.ack_sent = true;
                owed = false;
            }
        } else if body.deliver(seg.payload) {
            c.ackno += seg.payload.len() as u32;
            if c.ack_sent && !seg.payload.is_empty() {
                // `ACK` acknowledges the data; a FIN after the data gets another acknowledgment.
                c.ack_sent = false;
                c.due |= ACK;
                owed = false;
            }
        } else {
            owed = false;
        }
        if c.retx == 0 {
            c.retx = self.config.rto;
        }
        if owed || seg.flags.fin() {
            c.due |= self.ack_of(seg);
        }
        if seg.flags.fin() {
            self.on_fin(c, body, seg);
        }
    }

    /// Returns whether a segment is more than a window away, in sequence numbers that do not wrap.
    fn is_far(&self, c: &Control, seg: &Segment<'_>) -> bool {
        let (next, window) = (c.ackno.0, u32::from(self.config.window));
        let far = seg.seq.0 > next.wrapping_add(window) || seg.seq.0 < next.wrapping_sub(window);
        far && !self.config.corrections.old
    }

    /// Handles a FIN in ESTABLISHED or while this end closes. Without the correction `fin`, BLIP
    /// misses a FIN with payload, because the FIN's sequence number is no longer the next one.
    fn on_fin<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) {
        let seen = match self.config.corrections.fin {
            true => seg.seq + seg.payload.len() as u32 == c.ackno,
            false => seg.payload.is_empty() && seg.seq == c.ackno,
        };
        if !seen {
            return;
        }
        if !self.config.corrections.fin {
            // In FIN-WAIT-1, the only reaction to the FIN is the acknowledgment that `on_data`
            // requests.
            if c.state == State::Established {
                body.peer_closed();
                // The application closes at once; outstanding data are not retransmitted.
                body.closing = true;
                c.due |= LATE_FIN;
                (c.state, c.retx) = (State::LastAck, LAST_ACK_TICKS);
            }
            return;
        }
        c.ackno += 1;
        match c.state {
            State::Established => c.state = State::CloseWait,
            State::FinWait1 => c.state = State::Closing,
            _ => (c.state, c.retx) = (State::TimeWait, TIME_WAIT),
        }
        body.peer_closed();
    }

    /// Handles the acknowledgment of this end's FIN with
    /// [`Corrections::fin`](super::Corrections::fin).
    fn on_closing<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) {
        if !seg.flags.ack() || seg.ack <= c.seqno {
            return;
        }
        match c.state {
            State::FinWait1 if seg.flags.fin() && seg.seq == c.ackno => {
                c.ackno += 1;
                body.peer_closed();
                c.due |= ACK;
                (c.state, c.retx) = (State::TimeWait, TIME_WAIT);
            }
            State::FinWait1 => (c.state, c.retx) = (State::FinWait2, FIN_TICKS),
            State::Closing => (c.state, c.retx) = (State::TimeWait, TIME_WAIT),
            _ => {}
        }
    }

    fn on_new_ack<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) -> bool {
        let fixes = self.config.corrections;
        if fixes.acknowledgments && !seg.flags.ack() {
            return false;
        }
        let (ack, sent) = (seg.ack, c.seqno);
        let is_new = match fixes.acknowledgments {
            true => ack > c.head && ack <= sent,
            // The original compares the numbers without wrap-around, and the acknowledged bytes may
            // never have been written.
            false => ack.0 > c.head.0,
        };
        if !is_new {
            return false;
        }
        let mss = self.config.mss;
        c.cwnd = c.cwnd.saturating_add(match c.cwnd <= c.ssthresh {
            true => mss,
            false => (u32::from(mss) * u32::from(mss) / u32::from(c.cwnd)) as u16,
        });
        c.duplicates = 0;
        body.acknowledge((ack.min(sent) - c.first()) as usize);
        c.head = ack.min(sent);
        c.start = c.first();
        if fixes.counter {
            c.count = 0;
        }
        true
    }

    /// Handles a segment of any kind that acknowledges no new data while data are outstanding.
    /// Returns whether to send a segment.
    fn on_duplicate<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) -> bool {
        let fixed = self.config.corrections.duplicates;
        if fixed && (!seg.payload.is_empty() || seg.ack != c.head || c.sent == c.head) {
            return false;
        }
        c.duplicates += 1;
        if c.duplicates < if fixed { 3 } else { 2 } {
            return false;
        }
        c.duplicates = 0;
        c.reduce(self.config.mss);
        body.on_fast();
        self.send_all(c);
        if let Some(burst) = c.burst.as_mut().filter(|_| fixed) {
            burst.end = burst.end.min(burst.next + u32::from(self.config.mss));
        }
        c.rwnd.min(c.cwnd) > 0
    }
}
