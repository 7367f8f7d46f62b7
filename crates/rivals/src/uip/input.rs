//! Processing of a segment of a connection, with the steps in the same order as in uIP.

use redpoll_base::{Bytes, Instant};
use redpoll_tcp::{Error, Segment, State};
use redpoll_wire::tcp::Flags;

use super::{ACK, Control, REFUSAL, SYN, SYN_ACK, Uip, has_room, is_only};
use crate::Body;

impl Uip {
    pub(super) fn on_segment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        // A reset is accepted with any sequence number.
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
        let again = c.state == State::SynReceived && is_only(seg, Flags::SYN);
        let expected = is_answer(c, seg) || again;
        if !expected && !seg.is_empty() && seg.seq != c.rcv_nxt {
            self.on_out_of_order(c, seg);
            return;
        }
        let acked = self.on_acknowledgment(now, c, body, seg);
        match c.state {
            State::SynReceived if acked => {
                c.state = State::Established;
                body.connected();
                let has_new = self.take(c, body, seg);
                c.run(now, body, self.config.window, has_new);
            }
            State::SynReceived if again => c.due |= SYN_ACK,
            State::SynReceived => {}
            State::SynSent => self.on_answer(now, c, body, seg, acked),
            State::Established => self.on_established(now, c, body, seg, acked),
            State::LastAck if acked => c.end(body, None),
            State::LastAck => {}
            State::FinWait1 | State::FinWait2 => on_closing(c, body, seg, acked),
            State::Closing if acked => {
                c.state = State::TimeWait;
                c.timer.stop();
            }
            // In CLOSING, only the acknowledgment of the FIN has an effect.
            State::Closing => {}
            State::TimeWait => c.due |= ACK,
            State::CloseWait | State::Closed => {}
        }
    }

    fn on_out_of_order(&mut self, c: &mut Control, seg: &Segment<'_>) {
        c.due |= match c.state {
            State::SynReceived if seg.flags.syn() && self.config.answers_syn => SYN_ACK,
            State::SynSent if seg.flags.syn() && self.config.answers_syn => SYN,
            _ => ACK,
        };
    }

    /// Handles the acknowledgment of a segment. Returns whether it covers all outstanding data; uIP
    /// ignores partial acknowledgments.
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

    /// Handles a segment in SYN-SENT.
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
            // Data on the SYN are ignored.
            c.run(now, body, self.config.window, true);
        } else {
            // The answer is a reset, as for a segment without a connection.
            (c.snd_nxt, c.rcv_nxt, c.mss) = (seg.ack, seg.seq + 1, seg.window);
            c.due = REFUSAL;
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
        if seg.flags.fin() && !c.stopped {
            // A FIN that arrives while data are outstanding, or whose payload exceeds the window,
            // is dropped. The peer has to retransmit it.
            if c.len > 0 || !body.deliver(seg.payload) {
                return;
            }
            c.rcv_nxt += taken_of(seg);
            body.peer_closed();
            // uIP has no half-closed state: unsent data are never sent.
            c.finish(State::LastAck);
            c.timer.again = 0;
            c.timer.on_sent(now);
            return;
        }
        // A stopped application gets no data, and its peer no answer.
        let has_new = !c.stopped && self.take(c, body, seg);
        // The segment is as long as the window allows. A closed window counts as open, because the
        // timer probes it.
        c.mss = match seg.window {
            0 => c.initial_mss,
            window => window.min(c.initial_mss),
        };
        if has_new || acked {
            c.run(now, body, self.config.window, has_new);
        }
    }

    /// Accepts data in order; returns whether there were any.
    fn take<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>) -> bool {
        let has_new = !seg.payload.is_empty() && body.deliver(seg.payload);
        if has_new {
            c.rcv_nxt += seg.payload.len() as u32;
            c.stopped |= !has_room(body, self.config.window);
        }
        has_new
    }
}

/// Handles a segment after the application has closed, without delivery of its data.
fn on_closing<B: Bytes>(c: &mut Control, body: &mut Body<B>, seg: &Segment<'_>, acked: bool) {
    let (was, fin, taken) = (c.state, seg.flags.fin(), taken_of(seg));
    c.rcv_nxt += taken;
    // Data that arrive with the acknowledgment of the FIN advance `rcv_nxt`, but get no ACK.
    let goes_on = was == State::FinWait1 && acked && !fin;
    if taken > 0 && !goes_on {
        c.due |= ACK;
    }
    if fin {
        body.peer_closed();
    }
    c.state = match was {
        State::FinWait1 if fin && acked => State::TimeWait,
        State::FinWait1 if fin => State::Closing,
        State::FinWait1 if acked => State::FinWait2,
        State::FinWait2 if fin => State::TimeWait,
        state => state,
    };
    if matches!(c.state, State::FinWait2 | State::TimeWait) {
        c.len = 0;
        c.timer.stop();
    }
    // A connection has one timer, which has just been set to the timeout.
    c.waited = match c.state {
        State::FinWait2 if was == State::FinWait1 => c.timer.ticks(),
        State::FinWait2 => c.waited,
        _ => 0,
    };
}

/// Returns the advance of the next expected sequence number by the segment, without a SYN.
fn taken_of(seg: &Segment<'_>) -> u32 {
    seg.payload.len() as u32 + u32::from(seg.flags.fin())
}

fn is_answer(c: &Control, seg: &Segment<'_>) -> bool {
    c.state == State::SynSent && is_only(seg, Flags::SYN.with(Flags::ACK))
}
