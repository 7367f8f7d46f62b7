//! Data on a SYN (RFC 7413), sent and received.
//!
//! Between [`Connection::fast_open`] and the answer, the receive buffer stores the cookie, because
//! no data arrive before the peer's SYN.

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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Whether our SYN carries a Fast Open option.
    pub(crate) is_fast: bool,
    pub(crate) is_request: bool,
    pub(crate) first: SeqNum,
    /// Bytes of data that were sent on our SYN.
    pub(crate) data: u32,
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Opens the connection with Fast Open (RFC 7413 §4.2.2).
    ///
    /// The SYN carries `cookie` and the data given before the first
    /// [`poll_segment`](Self::poll_segment), as far as they fit. With [`FastOpenCookie::REQUEST`]
    /// the SYN requests a cookie instead (RFC 7413 §4.2.1). `mss` is the MSS that the server
    /// announced with the cookie; `None` means the default for IPv6. If the SYN is not answered in
    /// time, the next SYN has neither cookie nor data.
    ///
    /// The server may receive the data twice, in two connections (RFC 7413 §6.1). Use Fast Open
    /// only if the application tolerates duplicates.
    ///
    /// Returns `false`, without Fast Open, if the SYN was already sent or the receive buffer has
    /// less than 16 bytes.
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

    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::SynSent(_))
    }

    /// Returns whether our SYN carries a Fast Open option, as it does until its first timeout.
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

    pub(super) fn syn_cookie(&self) -> Option<FastOpenCookie> {
        let len = self.syn_cookie_len()?;
        FastOpenCookie::new(self.inbox.stashed(usize::from(len)))
    }

    /// Returns how many bytes of data our SYN carries: with a cookie, as many as fit in a segment.
    pub(super) fn syn_data(&self, max_len: usize) -> u32 {
        if self.syn_cookie_len().is_none_or(|len| len == 0) {
            return 0;
        }
        // Reserves room for the longest options.
        let head = HeaderView::MIN_LEN.wrapping_add(MAX_OPTIONS);
        let room = max_len.saturating_sub(head);
        let data = self.outbox.range().len().min(room as u32);
        data.min(self.eff_snd_mss().saturating_sub(MAX_OPTIONS as u32))
    }

    /// Describes our SYN while the peer has not answered it.
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

    /// Returns whether the peer has acknowledged everything before `end`.
    pub(crate) fn has_acked(&self, end: SeqNum) -> bool {
        self.snd.una >= end
    }

    /// Marks as unsent the data on our SYN that `ack` does not cover. RFC 7413 §4.2.2: "The client
    /// SHOULD retransmit any unacknowledged data in the first ACK packet".
    pub(super) fn take_back_syn_data(&mut self, ack: SeqNum) {
        if ON && ack < self.snd.nxt {
            self.rtt.on_part_acked(Ahead::by(ack.since(self.snd.una)));
            let refused = self.snd.nxt.since(ack);
            self.stats
                .add(|stats| &mut stats.syn_bytes_refused, refused);
            self.snd.take_back(ack);
        }
    }

    /// Accepts the data on the SYN `seg`, whose request was just [accepted](Connection::accept)
    /// with a valid cookie ([`Answer::Open`](crate::Answer)). RFC 7413 §4.2.2: "Buffer the data and
    /// notify the application." The application may read and write at once. Its data are sent when
    /// the handshake is complete, so they never reach a host whose address was forged (§5.2).
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
