//! What BLIP does with a segment of a connection, in its order.

use redpoll_base::Bytes;
use redpoll_tcp::{Error, Segment, State};

use super::{ACK, Blip, Control, FIN_TICKS, RST, SYN_ACK, TIME_WAIT};
use crate::Body;

impl Blip {
    pub(super) fn on_segment<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        // A reset is believed, whatever its sequence number.
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
        match c.state {
            State::SynReceived if seg.flags.syn() => {
                c.due |= SYN_ACK;
                return;
            }
            State::SynReceived => {
                if !seg.flags.ack() {
                    return;
                }
                c.state = State::Established;
                body.connected();
            }
            State::LastAck => {
                if seg.flags.ack() && seg.ack > c.seqno {
                    c.end(body, None);
                }
                return;
            }
            State::TimeWait | State::Closed => return,
            _ => {}
        }
        if matches!(c.state, State::FinWait1 | State::FinWait2 | State::Closing) {
            self.on_closing(c, body, seg);
        }
        if c.state == State::CloseWait {
            self.on_new_ack(c, body, seg);
        } else {
            self.on_data(c, body, seg);
        }
        c.close_when_done(body);
    }

    /// In SYN-SENT: whether it opens the connection.
    fn on_answer<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) -> bool {
        let opens = match self.config.corrections.handshake {
            true => seg.flags.syn() && seg.flags.ack() && seg.ack == c.seqno,
            // Either flag will do, and nobody looks at what is acknowledged.
            false => seg.flags.syn() || seg.flags.ack(),
        };
        if opens {
            c.ackno = seg.seq + 1;
            c.state = State::Established;
            body.connected();
        }
        opens
    }

    /// Steps 4 to 10 of what it does in ESTABLISHED.
    fn on_data<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) {
        if !self.on_new_ack(c, body, seg) && c.outstanding() > 0 {
            self.on_duplicate(c, body, seg);
        }
        let mut owed = false;
        if seg.seq != c.ackno {
            let away = seg.seq.0.wrapping_sub(c.ackno.0) as i32;
            let far = away.unsigned_abs() > u32::from(self.config.window);
            c.due |= match far && !self.config.corrections.old {
                true => RST,
                false => ACK,
            };
            c.ack_sent = true;
        } else if body.deliver(seg.payload) {
            c.ackno += seg.payload.len() as u32;
            owed = !seg.payload.is_empty();
            if c.ack_sent {
                c.ack_sent = false;
                c.due |= ACK;
            }
        }
        if c.retx == 0 {
            c.retx = self.config.rto;
        }
        if owed || seg.flags.fin() {
            c.due |= ACK;
        }
        if seg.flags.fin() {
            self.on_fin(c, body, seg);
        }
    }

    /// A FIN, in ESTABLISHED or while this end closes. One with payload is not seen:
    /// its number is no longer the next.
    fn on_fin<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) {
        let seen = match self.config.corrections.fin {
            true => seg.seq + seg.payload.len() as u32 == c.ackno,
            false => seg.payload.is_empty() && seg.seq == c.ackno,
        };
        if !seen {
            return;
        }
        match c.state {
            State::Established => c.state = State::CloseWait,
            State::FinWait1 => c.state = State::Closing,
            State::FinWait2 => {
                // It is acknowledged as if it were not there: the peer says it again.
                if self.config.corrections.fin {
                    c.ackno += 1;
                    (c.state, c.retx) = (State::TimeWait, TIME_WAIT);
                }
                body.peer_closed();
                return;
            }
            _ => return,
        }
        c.ackno += 1;
        body.peer_closed();
        if c.state == State::CloseWait && !self.config.corrections.fin {
            // Who owns the socket closes at once.
            body.closing = true;
        }
    }

    /// The acknowledgment of our FIN.
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

    /// Whether something new is acknowledged.
    fn on_new_ack<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) -> bool {
        let fixes = self.config.corrections;
        if !seg.flags.ack() {
            return false;
        }
        let (ack, sent) = (seg.ack, c.seqno);
        let is_new = match fixes.acknowledgments {
            true => ack > c.head && ack <= sent,
            // As numbers that do not wrap, and of bytes that may never have been
            // written.
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

    /// A segment that acknowledges nothing new, while something is outstanding: of any
    /// kind.
    fn on_duplicate<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) {
        let fixed = self.config.corrections.duplicates;
        if fixed && (!seg.payload.is_empty() || seg.ack != c.head || c.sent == c.head) {
            return;
        }
        c.duplicates += 1;
        if c.duplicates < if fixed { 3 } else { 2 } {
            return;
        }
        c.duplicates = 0;
        c.reduce(self.config.mss);
        body.on_fast();
        self.send_all(c);
        if let Some(burst) = c.burst.as_mut().filter(|_| fixed) {
            burst.end = burst.end.min(burst.next + u32::from(self.config.mss));
        }
    }
}
