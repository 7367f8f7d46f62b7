//! A half-open connection: SYN-RECEIVED after a passive OPEN (RFC 9293 §3.10.7.4).

use redpoll_base::{Addr, Duration, Instant};

use super::How;
use super::reply::Reply;
use crate::listener::{PeerSyn, Terms};
use crate::{Config, Endpoint, Request, Segment, SeqNum};

/// Retransmissions of an answer before the request is dropped, after 15 s with an initial timeout
/// of 1 s. The number is small because each forged request causes this number of retransmissions.
const RETRIES: u8 = 3;
pub(super) const GIVE_UP: u8 = RETRIES + 1;

/// Limit of challenge ACKs for resets of one request (RFC 5961 §7). Each request has its own count,
/// so a client learns nothing about others.
const MOST_CHALLENGES: u8 = 10;

/// Memory for a half-open connection.
#[derive(Clone, Copy, Default, Debug)]
// This order, small fields first, makes the code smaller: see `Connection`.
#[repr(C)]
pub struct HalfOpen {
    /// Number of times that the answer became due, retransmissions included; 0 in a free entry.
    pub(super) tries: u8,
    pub(super) due: bool,
    /// Number of our address to which the request was sent.
    pub(super) local: u8,
    pub(super) challenges: u8,
    pub(super) local_port: u16,
    pub(super) remote: Endpoint,
    pub(super) syn: PeerSyn,
    pub(super) iss: SeqNum,
    /// Time of the next retransmission, in milliseconds, wrapping.
    pub(super) deadline: u32,
}

const _: () = assert!(size_of::<HalfOpen>() <= 48);

/// Response to a segment from which a request was parsed.
#[derive(Debug)]
pub(super) enum Decision {
    Drop,
    Reset,
    Open,
    Answer(Reply),
    Complete(How),
}

impl HalfOpen {
    pub(super) fn free(&mut self) {
        self.tries = 0;
        self.due = false;
    }

    pub(super) fn is_free(&self) -> bool {
        self.tries == 0
    }

    pub(super) fn is_due_by(&self, now: u32) -> bool {
        !self.is_free() && SeqNum(self.deadline) <= SeqNum(now)
    }

    /// Returns the time from the last answer to the deadline, in milliseconds.
    #[inline(never)] // size
    fn timeout<A>(&self, config: &Config<A>) -> u32 {
        let first = config.initial_rto.millis_saturating();
        // RFC 6298 §5.5: the timeout doubles after each retransmission.
        first.min(u32::MAX >> RETRIES) << self.tries.saturating_sub(1).min(RETRIES)
    }

    /// Sets the deadline after an answer at `now`.
    pub(super) fn arm<A>(&mut self, now: Instant, config: &Config<A>) {
        self.tries = self.tries.wrapping_add(1).min(GIVE_UP);
        self.deadline = now.millis_wrapping().wrapping_add(self.timeout(config));
    }

    fn age<A>(&self, now: Instant, config: &Config<A>) -> Duration {
        let sent = self.deadline.wrapping_sub(self.timeout(config));
        Duration::from_millis_u32(now.millis_wrapping().wrapping_sub(sent))
    }

    pub(super) fn request(&self, local: Addr) -> Request {
        Request {
            local: Endpoint::new(local, self.local_port),
            remote: self.remote,
            syn: self.syn,
        }
    }

    /// Processes a segment in SYN-RECEIVED after a passive OPEN (RFC 9293 §3.10.7.4). The caller
    /// has parsed `request` from the segment. Returns `None` if the segment does not belong to this
    /// half-open connection; otherwise replaces `request` with the stored request.
    pub(super) fn input<A>(
        &mut self,
        now: Instant,
        terms: &Terms<'_, A>,
        request: &mut Request,
        seg: &Segment<'_>,
    ) -> Option<Decision> {
        let config = terms.config;
        if seg.flags.rst() {
            return Some(self.on_reset(terms, request, seg));
        }
        if seg.flags.ack() {
            if seg.ack != self.iss + 1 {
                return None;
            }
            request.syn = self.syn;
            return Some(Decision::Complete(How {
                iss: self.iss,
                age: self.age(now, config),
                again: self.tries > 1,
                by_cookie: false,
            }));
        }
        if !seg.flags.syn() || seg.seq != self.syn.irs {
            return None;
        }
        // The peer repeats its SYN, because our answer was lost or is late.
        self.arm(now, config);
        self.due = false;
        self.syn.offer.on_syn_again(seg.flags);
        request.syn = self.syn;
        Some(Decision::Answer(self.our_syn()))
    }

    /// Processes a reset (RFC 5961 §3.2): accepts it exactly at RCV.NXT, challenges it elsewhere in
    /// the window, and drops it otherwise.
    fn on_reset<A>(
        &mut self,
        terms: &Terms<'_, A>,
        request: &mut Request,
        seg: &Segment<'_>,
    ) -> Decision {
        let ahead = seg.seq.since(self.syn.irs + 1);
        if ahead == 0 {
            self.free();
            return Decision::Drop;
        }
        if ahead >= u32::from(terms.window) || self.challenges >= MOST_CHALLENGES {
            return Decision::Drop;
        }
        self.challenges = self.challenges.wrapping_add(1);
        request.syn = self.syn;
        Decision::Answer(Reply {
            is_challenge: true,
            ..self.our_syn()
        })
    }

    pub(super) fn our_syn(&self) -> Reply {
        Reply {
            iss: self.iss,
            is_challenge: false,
            is_cookie: false,
            // RFC 7413 §4.2.2: a SYN-ACK is retransmitted "with neither data nor Fast Open
            // options".
            fast_open: false,
        }
    }
}
