//! Data on a SYN (RFC 7413), sent and received.
//!
//! Between [`Connection::fast_open`] and the answer the cookie lies in the
//! receive buffer: before the peer's SYN there is nothing else for that.

use redpoll_base::Bytes;
use redpoll_wire::tcp::HeaderView;

use super::Connection;
use crate::ahead::Ahead;
use crate::fast_open::ON;
use crate::options::MAX_OPTIONS;
use crate::recovery::Loss;
use crate::send::SendStore;
use crate::state::Phase;
use crate::{Algorithms, FastOpenCookie, Segment, SeqNum};

/// An active open that is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// The last SYN had the option.
    pub(crate) is_fast: bool,
    /// And no cookie in it.
    pub(crate) is_request: bool,
    /// The sequence number of the first byte of data.
    pub(crate) first: SeqNum,
    /// The bytes of data that went with a SYN.
    pub(crate) data: u32,
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// RFC 7413 §4.2.2: data that is given before the first
    /// [`poll_segment`](Self::poll_segment) goes with the SYN and `cookie`, as
    /// much as there is room for; with [`FastOpenCookie::REQUEST`] the SYN asks
    /// for a cookie instead (§4.2.1). `mss` is what the server announced when
    /// it gave the cookie; without it IPv6's own counts. If the SYN is not
    /// answered in time, the next one has neither cookie nor data.
    ///
    /// The same data may arrive twice, in two connections (§6.1): for
    /// applications that can bear that.
    ///
    /// `false`, and no Fast Open: the SYN is out, or the receive buffer has less
    /// than 16 bytes.
    pub fn fast_open(&mut self, cookie: &FastOpenCookie, mss: Option<u16>) -> bool {
        let is_first = self.snd.nxt == self.snd.una && self.pins.is_empty();
        let Phase::SynSent(state) = &mut self.phase else {
            return false;
        };
        if !ON || !is_first || !self.inbox.stash(cookie.as_bytes()) {
            return false;
        }
        state.fast_open = Some(cookie.len());
        if !cookie.is_request() {
            self.size.on_peer_mss(mss);
        }
        true
    }

    /// Whether our SYN is not answered yet.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::SynSent(_))
    }

    /// Whether the next SYN, or the last, has a Fast Open option.
    pub(crate) fn is_opening_fast(&self) -> bool {
        self.syn_cookie_len().is_some()
    }

    fn syn_cookie_len(&self) -> Option<u8> {
        match self.phase {
            _ if !ON => None,
            // RFC 7413 §4.2.2: "when the SYN timer fires, the client SHOULD
            // retransmit a SYN packet without data and Fast Open options."
            Phase::SynSent(state) if state.syn.lost != Some(Loss::Timeout) => state.fast_open,
            _ => None,
        }
    }

    /// The option of our SYN.
    pub(super) fn syn_cookie(&self) -> Option<FastOpenCookie> {
        let len = self.syn_cookie_len()?;
        FastOpenCookie::new(self.inbox.stashed(usize::from(len)))
    }

    /// How much data goes with our SYN: with a cookie, what a segment takes.
    pub(super) fn syn_data(&self, max_len: usize) -> u32 {
        if self.syn_cookie_len().is_none_or(|len| len == 0) {
            return 0;
        }
        // No fewer options than there will be.
        let head = HeaderView::MIN_LEN.wrapping_add(MAX_OPTIONS);
        let room = max_len.saturating_sub(head);
        let data = self.outbox.range().len().min(room as u32);
        data.min(self.eff_snd_mss().saturating_sub(MAX_OPTIONS as u32))
    }

    /// What our SYN, which is not answered yet, tried.
    pub(crate) fn opening(&self) -> Option<Opening> {
        let Phase::SynSent(_) = self.phase else {
            return None;
        };
        let first = self.outbox.range().start;
        Some(Opening {
            is_fast: self.is_opening_fast(),
            is_request: self.syn_cookie_len() == Some(0),
            first,
            data: self.snd.nxt.since(first),
        })
    }

    /// Whether the peer has acknowledged everything before `end`.
    pub(crate) fn has_acked(&self, end: SeqNum) -> bool {
        self.snd.una >= end
    }

    /// Our SYN is acknowledged up to `ack`, but not the data on it. RFC 7413
    /// §4.2.2: "The client SHOULD retransmit any unacknowledged data in the
    /// first ACK packet": as if it had never been sent, which is all that the
    /// peer knows of it.
    pub(super) fn take_back_syn_data(&mut self, ack: SeqNum) {
        if ON && ack < self.snd.nxt {
            self.rtt.on_part_acked(Ahead::by(ack.since(self.snd.una)));
            let refused = self.snd.nxt.since(ack);
            self.stats
                .add(|stats| &mut stats.syn_bytes_refused, refused);
            self.snd.take_back(ack);
        }
    }

    /// The data on the SYN `seg` of the request that was just
    /// [accepted](Connection::accept), which came with a valid cookie
    /// ([`Answer::Open`](crate::Answer)). RFC 7413 §4.2.2: "Buffer the data and
    /// notify the application." It may read and write at once; what it writes
    /// goes out when the handshake is complete, and so never to somebody whose
    /// address was forged (§5.2).
    pub fn take_syn_data(&mut self, seg: &Segment<'_>) {
        let before = self.rcv.nxt;
        let Phase::SynReceived(state) = &mut self.phase else {
            return;
        };
        if seg.seq + 1 != before {
            return;
        }
        let (nxt, _) = self
            .inbox
            .take(before, self.rcv.edge(), before, seg.payload);
        self.rcv.advance(nxt);
        let text = nxt.since(before);
        state.text = text as u16;
        self.events.connected();
        if text > 0 {
            self.stats.add(|stats| &mut stats.bytes_received, text);
            self.events.readable();
        }
    }
}
