//! The SYN cache (RFC 4987 §3.5): half-open connections of all listeners of a node, 48 bytes each,
//! until the handshake is complete.
//!
//! A flood of requests fills the table. A full cache answers with SYN cookies (RFC 4987 §3.6),
//! which need no memory, so a flood does not lock out other clients. In a device without flash for
//! cookies, a request replaces the oldest one while the table is full ([`Overflow`]).

mod half_open;
mod reply;

use core::marker::PhantomData;

use redpoll_base::{Addr, Duration, Instant, Wake, least};

use crate::fast_open;
use crate::listener::{Demand, Terms, in_listen};
use crate::reset::reset_between;
use crate::syn_cookie::{self, SynCookies};
use crate::{Config, Header, Incoming, Request, Segment, SeqNum};
pub use half_open::HalfOpen;
use half_open::{Decision, GIVE_UP};
use reply::Reply;

/// Time by which the retransmission of an answer may be late.
const SLACK: Duration = Duration::from_millis(20);

/// Behaviour when the table is full. A type selects it, so that the compiler omits unused code.
pub trait Overflow {
    /// Whether requests are answered with SYN cookies. If false, a request replaces the oldest one
    /// (RFC 4987 §3.4), so its client must complete the handshake before the table fills again.
    const COOKIES: bool;
}

/// Answers requests with SYN cookies while the table is full.
#[derive(Debug)]
pub enum Cookies {}

impl Overflow for Cookies {
    const COOKIES: bool = true;
}

/// Half-open connections in a table of the caller.
#[derive(Debug)]
pub struct SynCache<T, O = Cookies> {
    table: T,
    cookies: SynCookies,
    /// Time when a request was last stored or an answer last became due. The 32-bit deadlines are
    /// read relative to this time.
    clock: Instant,
    overflow: PhantomData<O>,
}

/// Response to a segment that reached a listener.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Send this segment, without payload, from `meta.dst` to `meta.src`.
    Reply(Header),
    /// Send this SYN with ACK, without payload, from `meta.dst` to `meta.src`. Its sequence number
    /// is a SYN cookie, because the table is full.
    Cookie(Header),
    /// Send this reset from `meta.dst` to `meta.src`, subject to the rate limit. It answers a
    /// segment without a connection.
    Reset(Header),
    /// A request with a valid Fast Open cookie: see
    /// [`Connection::take_syn_data`](crate::Connection::take_syn_data). If there is no memory for a
    /// connection, call [`SynCache::input`] again without [`Terms::fast_open`].
    Open(Request),
    /// The handshake is complete: see [`Connection::complete`](crate::Connection::complete). If
    /// there is no memory for a connection, drop the segment; the peer will retransmit.
    Complete(Handshake),
    /// Drop the segment.
    Drop,
}

/// A handshake that the current segment completes.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// The request.
    pub request: Request,
    pub(crate) timestamp_offset: u32,
    pub(crate) how: How,
    entry: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) iss: SeqNum,
    pub(crate) age: Duration,
    pub(crate) again: bool,
    by_cookie: bool,
}

/// A retransmitted answer.
#[derive(Clone, Debug)]
pub struct SynAck {
    /// The segment, which has no payload.
    pub header: Header,
    /// Source address of the segment.
    pub src: Addr,
    /// Destination address of the segment.
    pub dst: Addr,
}

impl Handshake {
    /// Returns our initial sequence number.
    pub fn iss(&self) -> SeqNum {
        self.how.iss
    }

    /// Returns whether the state of the handshake came from a SYN cookie that the peer returned.
    pub fn is_by_cookie(&self) -> bool {
        self.how.by_cookie
    }

    /// Returns whether the answer was never retransmitted, so that its age measures a round trip.
    pub(crate) fn is_timed(&self) -> bool {
        !self.how.again && !self.how.by_cookie
    }
}

impl<T: AsRef<[HalfOpen]> + AsMut<[HalfOpen]>> SynCache<T> {
    /// Creates an empty cache. It uses at most 255 entries of the table.
    pub fn new(table: T) -> Self {
        Self::with_overflow(table)
    }
}

impl<T: AsRef<[HalfOpen]> + AsMut<[HalfOpen]>, O: Overflow> SynCache<T, O> {
    /// Creates a cache with any kind of [`Overflow`].
    pub fn with_overflow(table: T) -> Self {
        SynCache {
            table,
            cookies: SynCookies::default(),
            clock: Instant::ZERO,
            overflow: PhantomData,
        }
    }

    /// Processes a segment for a listener that no connection matches.
    #[inline(never)] // size
    pub fn input<A>(&mut self, terms: &Terms<'_, A>, incoming: &Incoming<'_>) -> Answer {
        let &Incoming {
            now,
            local,
            meta,
            seg,
        } = incoming;
        let mut request = Request::new(meta, seg);
        let entry = self.find(local, &request);
        match self.judge(terms, incoming, entry, &mut request) {
            Decision::Drop => Answer::Drop,
            Decision::Reset => reset_between(&request, seg).map_or(Answer::Drop, Answer::Reset),
            Decision::Open => Answer::Open(request),
            Decision::Answer(syn_ack) => {
                let header = syn_ack.header(now, terms, &request);
                if syn_ack.is_cookie {
                    Answer::Cookie(header)
                } else {
                    Answer::Reply(header)
                }
            }
            Decision::Complete(how) => Answer::Complete(Handshake {
                timestamp_offset: terms.isn.timestamp_offset(&request.local, &request.remote),
                request,
                how,
                entry,
            }),
        }
    }

    /// Determines the response to a segment. `entry` is the index of its request, if known.
    fn judge<A>(
        &mut self,
        terms: &Terms<'_, A>,
        incoming: &Incoming<'_>,
        entry: Option<u8>,
        request: &mut Request,
    ) -> Decision {
        let &Incoming { now, seg, .. } = incoming;
        if let Some(half_open) = self.entry_mut(entry)
            && let Some(verdict) = half_open.input(now, terms, request, seg)
        {
            return verdict;
        }
        match in_listen(&request.remote.addr, &request.local.addr, seg) {
            Demand::Connection => self.admit(terms, incoming, entry, request),
            Demand::Reset if O::COOKIES && self.cookies.check(now, terms, request, seg) => {
                Decision::Complete(How {
                    iss: seg.ack - 1,
                    // A SYN cookie does not store its exact age: assumes the longest one.
                    age: syn_cookie::LONGEST_AGE,
                    again: false,
                    by_cookie: true,
                })
            }
            Demand::Reset if !self.may_be_late(now, seg) => Decision::Reset,
            Demand::Reset | Demand::Nothing => Decision::Drop,
        }
    }

    /// Returns whether the segment may belong to a handshake with a SYN cookie whose completing
    /// segment was lost. Later segments do not show the cookie and must not be reset. The same
    /// applies if the peer's SYN arrived twice and found a free entry only the second time. A FIN
    /// whose acknowledgment was lost cannot be distinguished from such a segment.
    fn may_be_late(&self, now: Instant, seg: &Segment<'_>) -> bool {
        O::COOKIES && self.cookies.are_about(now) && !self.cookies.was_used(seg.ack - 1)
    }

    /// Stores a new request, at the index `entry` if given, and determines its answer.
    fn admit<A>(
        &mut self,
        terms: &Terms<'_, A>,
        incoming: &Incoming<'_>,
        entry: Option<u8>,
        request: &Request,
    ) -> Decision {
        let &Incoming {
            now, local, seg, ..
        } = incoming;
        let may = fast_open::ON && terms.fast_open;
        let theirs = seg.options.fast_open().filter(|_| may);
        let client = &request.remote.addr;
        let opens = theirs.is_some_and(|theirs| {
            // RFC 7413 §4.2.2, steps 3 and 4: a valid cookie suffices, with or without data.
            terms.isn.is_fast_open_cookie(now, client, theirs)
        });
        if opens {
            // A request stored from an earlier SYN of the peer must not make a second connection.
            if let Some(half_open) = self.entry_mut(entry) {
                half_open.free();
            }
            return Decision::Open;
        }
        let mut syn_ack = Reply {
            iss: SeqNum(0),
            is_challenge: false,
            is_cookie: false,
            // RFC 7413 §4.2.1: a client without a valid cookie gets a new one.
            fast_open: theirs.is_some(),
        };
        if let Some(half_open) = self.entry_mut(entry.or_else(|| self.place(now))) {
            let iss = terms.isn.isn(now, &request.local, &request.remote);
            *half_open = HalfOpen {
                remote: request.remote,
                syn: request.syn,
                iss,
                local_port: request.local.port,
                local,
                tries: 0,
                due: false,
                challenges: 0,
                deadline: 0,
            };
            half_open.arm(now, terms.config);
            self.clock = now;
            syn_ack.iss = iss;
        } else if O::COOKIES {
            syn_ack.iss = self.cookies.make(now, terms, request);
            syn_ack.is_cookie = true;
        } else {
            return Decision::Drop;
        }
        Decision::Answer(syn_ack)
    }

    /// Removes a handshake that made a connection, so that it cannot complete again.
    pub fn remove(&mut self, handshake: &Handshake) {
        if let Some(half_open) = self.entry_mut(handshake.entry) {
            half_open.free();
        }
        if O::COOKIES && handshake.how.by_cookie {
            self.cookies.on_used(handshake.how.iss);
        }
    }

    /// Removes the requests for `port`, on which no listener remains.
    pub fn forget(&mut self, port: u16) {
        for half_open in self.table.as_mut() {
            if half_open.local_port == port {
                half_open.free();
            }
        }
    }

    /// Returns when to call [`on_timeout`](Self::on_timeout) next.
    pub fn poll_at(&self) -> Option<Wake> {
        let clock = self.clock.millis_wrapping();
        let mut first = None;
        for half_open in self.table.as_ref() {
            // 0 for a deadline that has passed.
            let left = SeqNum(half_open.deadline) - SeqNum(clock);
            if !half_open.is_free() && first.is_none_or(|first| left < first) {
                first = Some(left);
            }
        }
        let at = self.clock + Duration::from_millis_u32(first?);
        Some(Wake::within(at, SLACK))
    }

    /// Processes the deadlines passed by `now`, and returns how many requests were given up.
    pub fn on_timeout<A>(&mut self, now: Instant, config: &Config<A>) -> u8 {
        let mut given_up = 0u8;
        for half_open in self.table.as_mut() {
            if !half_open.is_due_by(now.millis_wrapping()) {
                continue;
            }
            if half_open.tries >= GIVE_UP {
                half_open.free();
                given_up = given_up.wrapping_add(1);
            } else {
                half_open.arm(now, config);
                half_open.due = true;
                self.clock = now;
            }
        }
        given_up
    }

    /// Returns an answer that must be retransmitted. `reach` returns the source address by its
    /// number, or `None` if the peer cannot be reached now.
    pub fn poll_segment<A>(
        &mut self,
        now: Instant,
        terms: &Terms<'_, A>,
        mut reach: impl FnMut(&Addr, u8) -> Option<Addr>,
    ) -> Option<SynAck> {
        for half_open in self.table.as_mut().iter_mut().filter(|entry| entry.due) {
            let Some(src) = reach(&half_open.remote.addr, half_open.local) else {
                continue;
            };
            half_open.due = false;
            let request = half_open.request(src);
            return Some(SynAck {
                header: half_open.our_syn().header(now, terms, &request),
                src,
                dst: half_open.remote.addr,
            });
        }
        None
    }

    /// Returns the number of half-open connections.
    pub fn len(&self) -> usize {
        let entries = self.table.as_ref().iter();
        entries.filter(|half_open| !half_open.is_free()).count()
    }

    /// Returns whether there are no half-open connections.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry_mut(&mut self, index: Option<u8>) -> Option<&mut HalfOpen> {
        self.table.as_mut().get_mut(usize::from(index?))
    }

    /// Returns the entry for a new request: a free one, or without cookies the oldest one.
    fn place(&self, now: Instant) -> Option<u8> {
        let entries = (0..u8::MAX).zip(self.table.as_ref());
        if O::COOKIES {
            let mut entries = entries;
            return Some(entries.find(|(_, half_open)| half_open.is_free())?.0);
        }
        let clock = now.millis_wrapping();
        least(entries.map(|(index, half_open)| {
            // The number of answers grows with age. Entries with the same number have the same
            // timeout, so that the deadline of the oldest one is first.
            let left = SeqNum(half_open.deadline) - SeqNum(clock);
            let order = match half_open.is_free() {
                true => 0,
                false => (u32::from(GIVE_UP.wrapping_sub(half_open.tries)) << 24) | left | 1,
            };
            (order, index)
        }))
    }

    fn find(&self, local: u8, request: &Request) -> Option<u8> {
        let is_it = |half_open: &HalfOpen| {
            half_open.remote == request.remote
                && half_open.local_port == request.local.port
                && half_open.local == local
                && !half_open.is_free()
        };
        let mut entries = (0..u8::MAX).zip(self.table.as_ref());
        Some(entries.find(|(_, half_open)| is_it(half_open))?.0)
    }
}
