//! The SYN cache (RFC 4987 §3.5): half-open connections of all listeners of a node, 48 bytes each,
//! until the handshake is complete.
//!
//! A flood of requests fills the table. A full cache answers with SYN cookies (RFC 4987 §3.6),
//! which need no memory, so a flood does not lock out other clients. In a device without flash for
//! cookies, a request replaces the oldest one while the table is full ([`Overflow`]).

use core::marker::PhantomData;

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Duration, Instant, Wake, least};

use crate::TimestampOption;
use crate::config::LEAST_MSS;
use crate::fast_open;
use crate::listener::{Demand, Offer, PeerSyn, Terms, in_listen};
use crate::reset::reset_between;
use crate::syn_cookie::{self, SynCookies};
use crate::{Config, Endpoint, Flags, Header, Incoming, Request, Segment, SeqNum};

/// Retransmissions of an answer before the request is dropped, after 15 s with an initial timeout
/// of 1 s. The number is small because each forged request causes this number of retransmissions.
const RETRIES: u8 = 3;
const GIVE_UP: u8 = RETRIES + 1;

/// Limit of challenge ACKs for resets of one request (RFC 5961 §7). Each request has its own count,
/// so a client learns nothing about others.
const MOST_CHALLENGES: u8 = 10;

/// Largest delay of a retransmitted answer.
const SLACK: Duration = Duration::from_millis(20);

/// Memory for a half-open connection.
#[derive(Clone, Copy, Default, Debug)]
// This order, small fields first, makes the code smaller: see `Connection`.
#[repr(C)]
pub struct HalfOpen {
    /// Number of times the answer was due; 0 in a free entry.
    tries: u8,
    due: bool,
    /// Number of our address to which the request was sent.
    local: u8,
    challenges: u8,
    local_port: u16,
    remote: Endpoint,
    syn: PeerSyn,
    iss: SeqNum,
    /// Time of the next retransmission, in milliseconds, wrapping.
    deadline: u32,
}

const _: () = assert!(size_of::<HalfOpen>() <= 48);

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
    /// A time close to all deadlines.
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

/// Response to a segment from which a request was parsed.
#[derive(Debug)]
enum Decision {
    Drop,
    Reset,
    Open,
    Answer(Reply),
    Complete(How),
}

#[derive(Clone, Copy, Debug)]
struct Reply {
    iss: SeqNum,
    /// Whether the reply is an ACK that challenges a reset (RFC 5961 §3.2).
    is_challenge: bool,
    is_cookie: bool,
    fast_open: bool,
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

impl HalfOpen {
    fn free(&mut self) {
        self.tries = 0;
        self.due = false;
    }

    fn is_free(&self) -> bool {
        self.tries == 0
    }

    fn is_due_by(&self, now: u32) -> bool {
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
    fn arm<A>(&mut self, now: Instant, config: &Config<A>) {
        self.tries = self.tries.wrapping_add(1).min(GIVE_UP);
        self.deadline = now.millis_wrapping().wrapping_add(self.timeout(config));
    }

    fn age<A>(&self, now: Instant, config: &Config<A>) -> Duration {
        let sent = self.deadline.wrapping_sub(self.timeout(config));
        Duration::from_millis_u32(now.millis_wrapping().wrapping_sub(sent))
    }

    fn request(&self, local: Addr) -> Request {
        Request {
            local: Endpoint::new(local, self.local_port),
            remote: self.remote,
            syn: self.syn,
        }
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
            // An older request must not complete a second time.
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

impl HalfOpen {
    /// Processes a segment in SYN-RECEIVED after a passive OPEN (RFC 9293 §3.10.7.4). `request` was
    /// made of the segment. Returns `None` if the segment does not belong to this half-open
    /// connection; otherwise sets `request` to the stored one.
    fn input<A>(
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
        // Our answer was lost or is late.
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

    fn our_syn(&self) -> Reply {
        Reply {
            iss: self.iss,
            is_challenge: false,
            is_cookie: false,
            // RFC 7413 §4.2.2: "with neither data nor Fast Open options".
            fast_open: false,
        }
    }
}

impl Reply {
    /// Encodes `<SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>` with the agreed options, or the challenge
    /// `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
    #[inline(never)] // size
    fn header<A>(&self, now: Instant, terms: &Terms<'_, A>, request: &Request) -> Header {
        let Terms {
            config,
            window,
            isn,
            ..
        } = *terms;
        let Request { local, remote, syn } = request;
        let (mut flags, mut seq) = (Flags::ACK, self.iss + 1);
        if !self.is_challenge {
            (flags, seq) = (Flags::SYN.with(Flags::ACK), self.iss);
            // RFC 3168 §6.1.1: an ECN-setup SYN-ACK has ECE, but not CWR.
            if config.ecn.wants(true) && syn.offer.has(Offer::ECN) {
                flags = flags.with(Flags::ECE);
            }
        }
        let mut timestamps = None;
        if config.timestamps && syn.offer.has(Offer::TIMESTAMPS) {
            let offset = isn.timestamp_offset(local, remote);
            let clock = now.millis_wrapping().wrapping_add(offset);
            timestamps = Some(TimestampOption {
                value: if self.is_cookie {
                    syn_cookie::stamp(clock, syn.offer)
                } else {
                    clock
                },
                echo: syn.ts_value,
            });
        }
        let mut header = Header::EMPTY;
        header.begin(flags, window, seq, syn.irs + 1);
        if !self.is_challenge {
            header.put_mss(config.mss.max(LEAST_MSS));
        }
        let sack_permitted = config.sack && syn.offer.has(Offer::SACK) && !self.is_challenge;
        header.put_timestamps(timestamps, sack_permitted);
        if self.fast_open {
            header.put_fast_open(&isn.fast_open_cookie(now, &remote.addr));
        }
        header.end(local, remote, 0, Checksum::new());
        header
    }
}
