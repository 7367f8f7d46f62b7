//! What uIP does with a segment of a connection, in its order.

use redpoll_base::{Bytes, Instant};
use redpoll_tcp::{Error, Flags, Segment, SeqNum, State};

use super::{ACK, Control, FIN, RST, SYN_ACK, Uip, is_stopped};
use crate::Body;

impl Uip {
    pub(super) fn on_segment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        // A reset is believed, whatever its sequence number.
        if seg.flags.rst() {
            let error = match c.state {
                State::SynSent => Error::Refused,
                _ => Error::Reset,
            };
            let in_order = c.state == State::TimeWait;
            c.due = 0;
            c.end(body, (!in_order).then_some(error));
            return;
        }
        if !is_answer(c, seg) && !seg.is_empty() && seg.seq != c.rcv_nxt {
            self.on_out_of_order(c, seg);
            return;
        }
        let acked = self.on_acknowledgment(now, c, body, seg);
        match c.state {
            State::SynReceived if acked => {
                c.state = State::Established;
                body.connected();
                let has_new = self.take(c, body, seg);
                c.run(now, body, has_new);
            }
            State::SynReceived => {}
            State::SynSent => self.on_answer(now, c, body, seg, acked),
            State::Established => self.on_established(now, c, body, seg, acked),
            State::LastAck if acked => c.end(body, None),
            State::LastAck => {}
            State::FinWait1 | State::FinWait2 | State::Closing => {
                self.on_closing(c, body, seg, acked);
            }
            State::TimeWait => c.due |= ACK,
            State::CloseWait | State::Closed => {}
        }
    }

    /// Something that is not what was expected next: it is forgotten.
    fn on_out_of_order(&mut self, c: &mut Control, seg: &Segment<'_>) {
        let repeated_syn = seg.flags.syn() && seg.seq + 1 == c.rcv_nxt;
        c.due |= match c.state {
            State::SynReceived if repeated_syn && self.config.answers_syn => SYN_ACK,
            _ => ACK,
        };
    }

    /// Whether all that is outstanding is acknowledged: nothing less counts.
    fn on_acknowledgment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) -> bool {
        let is_it = seg.flags.ack() && c.len > 0 && seg.ack == c.snd_nxt + u32::from(c.len);
        if !is_it {
            return false;
        }
        let sample = c
            .timer
            .on_acknowledged(&self.config.timing, now, &mut self.rng);
        if let Some(rtt) = sample {
            body.on_sample(rtt);
        }
        c.snd_nxt = seg.ack;
        if c.state == State::Established {
            body.acknowledge(c.len.into());
        }
        c.len = 0;
        c.timer.again = 0;
        true
    }

    /// Something comes in SYN-SENT.
    fn on_answer<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
        acked: bool,
    ) {
        if acked && is_answer(c, seg) {
            c.mss = self.agreed(seg);
            c.initial_mss = self.agreed_at_most(seg);
            c.state = State::Established;
            c.rcv_nxt = seg.seq + 1;
            body.connected();
            // What is on the SYN is not taken.
            c.run(now, body, true);
        } else {
            c.due = RST;
            c.end(body, Some(Error::Refused));
        }
    }

    fn on_established<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
        acked: bool,
    ) {
        let stopped = is_stopped(&self.config, body);
        if seg.flags.fin() && !stopped {
            // With something outstanding the peer has to say it again.
            if c.len > 0 {
                return;
            }
            body.deliver(seg.payload);
            c.rcv_nxt += seg.len();
            body.peer_closed();
            // There is no half of a connection: what was not sent never is.
            c.state = State::LastAck;
            c.len = 1;
            c.timer.again = 0;
            c.timer.on_sent(now);
            c.due |= FIN;
            return;
        }
        let has_new = !stopped && self.take(c, body, seg);
        // As much as fits the window, which if closed is taken for open: the timer
        // is what probes it.
        c.mss = match seg.window {
            0 => c.initial_mss,
            window => window.min(c.initial_mss),
        };
        if has_new || acked {
            c.run(now, body, has_new);
        } else if stopped && !seg.payload.is_empty() {
            c.due |= ACK;
        }
    }

    /// Takes what is in order; whether there was anything.
    fn take<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) -> bool {
        let has_new = !seg.payload.is_empty() && body.deliver(seg.payload);
        if has_new {
            c.rcv_nxt += seg.payload.len() as u32;
        }
        has_new
    }

    /// Something comes after the application has closed: what it brings is not
    /// delivered to anybody.
    fn on_closing<B: Bytes>(
        &mut self,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
        acked: bool,
    ) {
        let before: SeqNum = c.rcv_nxt;
        c.rcv_nxt += seg.len();
        let fin = seg.flags.fin();
        if c.rcv_nxt != before {
            c.due |= ACK;
        }
        if fin {
            body.peer_closed();
        }
        c.state = match c.state {
            State::FinWait1 if fin && acked => State::TimeWait,
            State::FinWait1 if fin => State::Closing,
            State::FinWait1 if acked => State::FinWait2,
            State::FinWait2 if fin => State::TimeWait,
            State::Closing if acked => State::TimeWait,
            state => state,
        };
        if matches!(c.state, State::FinWait2 | State::TimeWait) {
            c.len = 0;
            c.timer.stop();
        }
        if acked {
            c.waited = 0;
        }
    }
}

/// Whether it is the answer to the SYN.
fn is_answer(c: &Control, seg: &Segment<'_>) -> bool {
    c.state == State::SynSent && seg.flags.contains(Flags::SYN.with(Flags::ACK))
}
