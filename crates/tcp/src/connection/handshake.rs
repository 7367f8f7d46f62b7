//! SYN-SENT, SYN-RECEIVED, and the transition to ESTABLISHED (RFC 9293 §3.5).

use core::ops::ControlFlow::{Break, Continue};

use redpoll_base::Bytes;

use super::Connection;
use super::input::Step;
use super::marks::Marks;
use crate::ahead::window;
use crate::congestion::Congestion;
use crate::listener::{Offer, PeerSyn};
use crate::options::TIMESTAMPS_SPACE;
use crate::recovery::Loss;
use crate::send::SendStore;
use crate::state::{Cause, OurSyn, Phase, SynReceived, SynSent, Synchronized};
use crate::timers::Timer;
use crate::{Algorithms, Error, Segment};

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Processes a segment in SYN-SENT (RFC 9293 §3.10.7.3).
    pub(super) fn syn_sent_state(&mut self, seg: &Segment<'_>, state: SynSent) -> Step {
        // First, check the ACK bit.
        let acks_our_syn = seg.flags.ack() && self.snd.is_new_ack(seg.ack);
        if seg.flags.ack() && !acks_our_syn {
            return self.answer_by_reset(seg);
        }
        // Second, check the RST bit. RFC 5961 §3.2: in SYN-SENT a reset is valid if it acknowledges
        // the SYN.
        if seg.flags.rst() {
            if acks_our_syn {
                self.fail(Error::Refused);
            }
            return Break(());
        }
        // Third, check the security: not implemented. Fourth, check the SYN bit.
        if !seg.flags.syn() {
            return Break(());
        }
        self.on_peer_syn(&PeerSyn::of(seg));
        self.ecn.on_peer_syn(seg.flags, acks_our_syn);
        if !acks_our_syn {
            self.snd.set(seg.seq, seg.window);
            let text = self.queue(seg);
            self.phase = Phase::SynReceived(SynReceived {
                syn: OurSyn {
                    due: true,
                    ..state.syn
                },
                passive: false,
                close_queued: false,
                text,
            });
            self.log_state();
            return Break(());
        }
        self.on_handshake_ack(seg);
        self.established(state.syn);
        self.events.connected();
        self.heed_user_timeout(seg);
        self.acks.require();
        // RFC 9293 §3.10.7.3: "If there are other controls or text in the segment, then continue
        // processing at the sixth step."
        self.process_text(seg)?;
        self.process_fin(seg)
    }

    /// Processes the ACK field in SYN-RECEIVED (RFC 9293 §3.10.7.4, fifth step).
    pub(super) fn syn_received_ack(&mut self, seg: &Segment<'_>, state: SynReceived) -> Step {
        if !self.snd.is_new_ack(seg.ack) {
            // <SEQ=SEG.ACK><CTL=RST>
            return self.answer_by_reset(seg);
        }
        self.on_handshake_ack(seg);
        self.established(state.syn);
        if !state.passive || state.text == 0 {
            self.events.connected();
            self.take_queued_text(state.text);
        } else {
            // The application may have read data of a Fast Open, which freed buffer space.
            self.offer_window();
        }
        if state.close_queued {
            self.marks.set(Marks::CLOSING);
            self.transition(Cause::Close);
        }
        Continue(())
    }

    /// Queues text and FIN of a SYN that crosses ours (RFC 9293 §3.10.7.3: "If there are other
    /// controls or text in the segment, queue them for processing after the ESTABLISHED state has
    /// been reached"). Returns the number of queued bytes. If the text does not fit in the receive
    /// buffer, nothing is queued, and the peer retransmits text and FIN.
    fn queue(&mut self, seg: &Segment<'_>) -> u16 {
        if !self.inbox.stash(seg.payload) {
            return 0;
        }
        if seg.flags.fin() {
            self.inbox.on_fin(self.rcv.nxt, seg.end() - 1);
        }
        window(seg.payload.len() as u32)
    }

    fn take_queued_text(&mut self, len: u16) {
        if len == 0 {
            return;
        }
        self.inbox.take_stashed(len);
        self.rcv.advance(self.rcv.nxt + u32::from(len));
        self.stats
            .add(|stats| &mut stats.bytes_received, len.into());
        self.acks.require();
        self.events.readable();
    }

    pub(super) fn on_peer_syn(&mut self, syn: &PeerSyn) {
        self.rcv.synchronize(syn.irs, self.inbox.room());
        self.size.on_peer_mss(syn.offer.mss());
        if !syn.offer.has(Offer::SACK) {
            self.marks.clear(Marks::SACK);
        }
        if syn.offer.has(Offer::TIMESTAMPS) && self.marks.has(Marks::TIMESTAMPS) {
            self.ts.enable(syn.ts_value, self.timers.now());
            self.size.on_options(TIMESTAMPS_SPACE);
        }
    }

    /// Processes the acknowledgment of our SYN: updates SND.UNA and SND.WND, and measures the first
    /// round-trip time.
    fn on_handshake_ack(&mut self, seg: &Segment<'_>) {
        self.take_back_syn_data(seg.ack);
        self.measure_rtt(seg.ack, self.ts.echo(seg));
        if self.algorithms.restarts_estimate() {
            self.rtt.on_handshake();
        }
        let data = seg.ack.since(self.outbox.range().start);
        self.stats.add(|stats| &mut stats.bytes_acked, data);
        self.advance(seg.ack);
        let seq = seg.seq.min(self.rcv.nxt);
        self.snd.set(seq, seg.window);
        self.timers.cancel(Timer::Retransmission);
    }

    fn established(&mut self, syn: OurSyn) {
        self.phase = Phase::Synchronized(Synchronized::Established);
        self.log_state();
        self.rto
            .on_established(syn.lost == Some(Loss::Timeout), &mut self.params);
        // RFC 5681 §3.1: the initial window is one segment if the SYN or its answer was lost.
        let initial = match syn.lost {
            Some(_) => self.eff_snd_mss(),
            None => self.initial_window(),
        };
        self.cc.on_established(initial, &self.flow());
        self.link.on_sent();
        self.last_sent = self.timers.now();
        self.adopt_user_timeout(None);
        self.on_heard();
    }
}
