//! The SYN cache (RFC 4987 §3.5): half-open connections in a few bytes each,
//! for all listeners of a node, until the handshake is complete.
//!
//! A full table is what a flood of requests makes. Then the answers are SYN
//! cookies (RFC 4987 §3.6), which take no memory: nobody who is there is
//! kept out by many who are not. A device that has no room for their code
//! leaves requests unanswered while its table is full ([`Overflow`]).

use core::marker::PhantomData;

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Duration, Instant, Wake};

use crate::TimestampOption;
use crate::config::LEAST_MSS;
use crate::fast_open;
use crate::listener::{Demand, Offer, PeerSyn, Terms, in_listen};
use crate::reset::reset_between;
use crate::syn_cookie::{self, SynCookies};
use crate::{Config, Endpoint, Flags, Header, Incoming, Request, Segment, SeqNum};

/// How often an answer goes out again before the request is forgotten: after
/// 15 s with a first timeout of one. Few, because a request that nobody meant
/// costs as many segments.
const RETRIES: u8 = 3;
const GIVE_UP: u8 = RETRIES + 1;

/// How many resets of a request are challenged (RFC 5961 §7): counted for each
/// by itself, so that nobody learns by his own of another's.
const MOST_CHALLENGES: u8 = 10;

/// How late an answer may go out again without harm.
const SLACK: Duration = Duration::from_millis(20);

/// Memory for a half-open connection.
#[derive(Clone, Copy, Default, Debug)]
// In this order on purpose, small things first: see `Connection`.
#[repr(C)]
pub struct HalfOpen {
    /// How often the answer was due; 0 in a free entry.
    tries: u8,
    /// The answer is to go out again now.
    due: bool,
    /// Which of our addresses the request was sent to.
    local: u8,
    /// How many resets were challenged.
    challenges: u8,
    local_port: u16,
    remote: Endpoint,
    syn: PeerSyn,
    iss: SeqNum,
    /// When the answer goes out again, in milliseconds, wrapping.
    deadline: u32,
}

/// The budget, in bytes.
const _: () = assert!(size_of::<HalfOpen>() <= 48);

/// What becomes of requests that find the table full: a type chooses it, so that the
/// compiler leaves the rest out.
pub trait Overflow {
    /// They are answered with SYN cookies; else not at all, and come again or are given up.
    const COOKIES: bool;
}

/// Requests that find the table full are answered with SYN cookies.
#[derive(Debug)]
pub enum Cookies {}

impl Overflow for Cookies {
    const COOKIES: bool = true;
}

/// Half-open connections, in a table of the caller's.
#[derive(Debug)]
pub struct SynCache<T, O = Cookies> {
    table: T,
    cookies: SynCookies,
    /// A moment near to which all deadlines are.
    clock: Instant,
    overflow: PhantomData<O>,
}

/// What to do with a segment that reached a listener.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Send this segment, without payload, from `meta.dst` to `meta.src`.
    Reply(Header),
    /// Send this SYN with ACK, without payload, from `meta.dst` to `meta.src`; it
    /// carries a SYN cookie, for want of a free entry.
    Cookie(Header),
    /// Send this reset from `meta.dst` to `meta.src`, unless too many were sent: it
    /// answers a segment of no connection.
    Reset(Header),
    /// A request with a valid Fast Open cookie: see
    /// [`Connection::take_syn_data`](crate::Connection::take_syn_data). Without
    /// memory for that, ask again without [`Terms::fast_open`].
    Open(Request),
    /// The handshake is complete: see
    /// [`Connection::complete`](crate::Connection::complete). Without memory
    /// for that, drop it: the peer will say so again.
    Complete(Handshake),
    /// Nothing.
    Drop,
}

/// A handshake that is complete with the segment at hand.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// The request.
    pub request: Request,
    pub(crate) timestamp_offset: u32,
    pub(crate) how: How,
    entry: Option<u8>,
}

/// How a handshake went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) iss: SeqNum,
    /// How long ago our answer went out.
    pub(crate) age: Duration,
    /// It had gone out before.
    pub(crate) again: bool,
    by_cookie: bool,
}

/// What to do with a segment, of which a request was made.
#[derive(Debug)]
enum Verdict {
    Drop,
    Reset,
    Open,
    Answer(Reply),
    Complete(How),
}

/// A SYN of ours, with ACK, or an ACK behind it.
#[derive(Clone, Copy, Debug)]
struct Reply {
    iss: SeqNum,
    /// It is an ACK that challenges a reset (RFC 5961 §3.2).
    is_challenge: bool,
    /// It is a SYN cookie.
    is_cookie: bool,
    /// It comes with a cookie for Fast Open.
    fast_open: bool,
}

/// An answer that goes out again.
#[derive(Clone, Debug)]
pub struct SynAck {
    /// The segment; it has no payload.
    pub header: Header,
    /// Its source address.
    pub src: Addr,
    /// Its destination address.
    pub dst: Addr,
}

impl Handshake {
    /// The number that our SYN had.
    pub fn iss(&self) -> SeqNum {
        self.how.iss
    }

    /// Whether it was the peer who kept the state.
    pub fn is_by_cookie(&self) -> bool {
        self.how.by_cookie
    }

    /// Whether the age is that of the first and only answer.
    pub(crate) fn is_timed(&self) -> bool {
        !self.how.again && !self.how.by_cookie
    }
}

impl HalfOpen {
    /// What else stands in a free entry is of no account.
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

    /// The time from the last answer to the deadline, in milliseconds.
    #[inline(never)] // size
    fn timeout<A>(&self, config: &Config<A>) -> u32 {
        let first = config.initial_rto.millis_saturating();
        // RFC 6298 §5.5.
        first.min(u32::MAX >> RETRIES) << self.tries.saturating_sub(1).min(RETRIES)
    }

    /// The answer is sent at `now`, or should be.
    fn arm<A>(&mut self, now: Instant, config: &Config<A>) {
        self.tries = self.tries.wrapping_add(1).min(GIVE_UP);
        self.deadline = now.millis_wrapping().wrapping_add(self.timeout(config));
    }

    /// How long ago the last answer was sent.
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
    /// No half-open connections yet. Of the table 255 entries are used at most.
    pub fn new(table: T) -> Self {
        Self::with_overflow(table)
    }
}

impl<T: AsRef<[HalfOpen]> + AsMut<[HalfOpen]>, O: Overflow> SynCache<T, O> {
    /// A cache with any kind of overflow: with cookies or without.
    pub fn with_overflow(table: T) -> Self {
        SynCache {
            table,
            cookies: SynCookies::default(),
            clock: Instant::ZERO,
            overflow: PhantomData,
        }
    }

    /// A segment for a listener arrives which no connection claims, in whatever order.
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
            Verdict::Drop => Answer::Drop,
            Verdict::Reset => reset_between(&request, seg).map_or(Answer::Drop, Answer::Reset),
            Verdict::Open => Answer::Open(request),
            Verdict::Answer(syn_ack) => {
                let header = syn_ack.header(now, terms, &request);
                if syn_ack.is_cookie {
                    Answer::Cookie(header)
                } else {
                    Answer::Reply(header)
                }
            }
            Verdict::Complete(how) => Answer::Complete(Handshake {
                timestamp_offset: terms.isn.timestamp_offset(&request.local, &request.remote),
                request,
                how,
                entry,
            }),
        }
    }

    /// `entry` is where the request is known already.
    fn judge<A>(
        &mut self,
        terms: &Terms<'_, A>,
        incoming: &Incoming<'_>,
        entry: Option<u8>,
        request: &mut Request,
    ) -> Verdict {
        let &Incoming { now, seg, .. } = incoming;
        if let Some(half_open) = self.entry_mut(entry)
            && let Some(verdict) = half_open.input(now, terms, request, seg)
        {
            return verdict;
        }
        match in_listen(&request.remote.addr, &request.local.addr, seg) {
            Demand::Connection => self.admit(terms, incoming, entry, request),
            Demand::Reset if O::COOKIES && self.cookies.check(now, terms, request, seg) => {
                Verdict::Complete(How {
                    iss: seg.ack - 1,
                    // Or less.
                    age: syn_cookie::LONGEST_AGE,
                    again: false,
                    by_cookie: true,
                })
            }
            Demand::Reset if !self.may_be_late(now, seg) => Verdict::Reset,
            Demand::Reset | Demand::Nothing => Verdict::Drop,
        }
    }

    /// Whether the segment may be of a peer whose first segments were lost: a
    /// later one does not show the cookie, and must not be reset. Nor if its
    /// SYN came twice and found a free entry only the second time. That a FIN may be
    /// of one that was taken, and its acknowledgment lost, cannot be told apart.
    fn may_be_late(&self, now: Instant, seg: &Segment<'_>) -> bool {
        O::COOKIES && self.cookies.are_about(now) && !self.cookies.was_used(seg.ack - 1)
    }

    /// A new request, in place of the one in `entry` if there is one.
    fn admit<A>(
        &mut self,
        terms: &Terms<'_, A>,
        incoming: &Incoming<'_>,
        entry: Option<u8>,
        request: &Request,
    ) -> Verdict {
        let &Incoming {
            now, local, seg, ..
        } = incoming;
        let may = fast_open::ON && terms.fast_open;
        let theirs = seg.options.fast_open().filter(|_| may);
        let client = &request.remote.addr;
        let opens = theirs.is_some_and(|theirs| {
            // RFC 7413 §4.2.2, steps 3 and 4: with or without data.
            terms.isn.is_fast_open_cookie(now, client, theirs)
        });
        let free = self.entry_mut(entry.or_else(|| self.free_entry()));
        if opens {
            // Not a second time by an older request.
            if let Some(half_open) = free {
                half_open.free();
            }
            return Verdict::Open;
        }
        let mut syn_ack = Reply {
            iss: SeqNum(0),
            is_challenge: false,
            is_cookie: false,
            // RFC 7413 §4.2.1: a new cookie for whoever has none.
            fast_open: theirs.is_some(),
        };
        if let Some(half_open) = free {
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
            return Verdict::Drop;
        }
        Verdict::Answer(syn_ack)
    }

    /// A connection was made of this handshake: it is not to be made again.
    pub fn remove(&mut self, handshake: &Handshake) {
        if let Some(half_open) = self.entry_mut(handshake.entry) {
            half_open.free();
        }
        if O::COOKIES && handshake.how.by_cookie {
            self.cookies.on_used(handshake.how.iss);
        }
    }

    /// Nobody listens on `port` any more.
    pub fn forget(&mut self, port: u16) {
        for half_open in self.table.as_mut() {
            if half_open.local_port == port {
                half_open.free();
            }
        }
    }

    /// When to call [`on_timeout`](Self::on_timeout) next.
    pub fn poll_at(&self) -> Option<Wake> {
        let clock = self.clock.millis_wrapping();
        let mut first = None;
        for half_open in self.table.as_ref() {
            // 0 for one that is late.
            let left = SeqNum(half_open.deadline) - SeqNum(clock);
            if !half_open.is_free() && first.is_none_or(|first| left < first) {
                first = Some(left);
            }
        }
        let at = self.clock + Duration::from_millis_u32(first?);
        Some(Wake::within(at, SLACK))
    }

    /// Serves the deadlines that have passed by `now`. Says how many requests
    /// were given up.
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

    /// An answer that is due again. `reach` says whether the peer can be
    /// reached now, and which of our addresses the one with that number is.
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

    /// How many half-open connections there are.
    pub fn len(&self) -> usize {
        let entries = self.table.as_ref().iter();
        entries.filter(|half_open| !half_open.is_free()).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry_mut(&mut self, index: Option<u8>) -> Option<&mut HalfOpen> {
        self.table.as_mut().get_mut(usize::from(index?))
    }

    fn free_entry(&self) -> Option<u8> {
        let mut entries = (0..u8::MAX).zip(self.table.as_ref());
        Some(entries.find(|(_, half_open)| half_open.is_free())?.0)
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
    /// RFC 9293 §3.10.7.4, in SYN-RECEIVED after a passive OPEN. `None` if the
    /// segment, of which `request` was made, is none of this request's; else
    /// that becomes this one.
    fn input<A>(
        &mut self,
        now: Instant,
        terms: &Terms<'_, A>,
        request: &mut Request,
        seg: &Segment<'_>,
    ) -> Option<Verdict> {
        let config = terms.config;
        if seg.flags.rst() {
            return Some(self.on_reset(terms, request, seg));
        }
        if seg.flags.ack() {
            if seg.ack != self.iss + 1 {
                return None;
            }
            request.syn = self.syn;
            return Some(Verdict::Complete(How {
                iss: self.iss,
                age: self.age(now, config),
                again: self.tries > 1,
                by_cookie: false,
            }));
        }
        if !seg.flags.syn() || seg.seq != self.syn.irs {
            return None;
        }
        // Our answer was lost, or is slow.
        self.arm(now, config);
        self.due = false;
        self.syn.offer.on_syn_again(seg.flags);
        request.syn = self.syn;
        Some(Verdict::Answer(self.our_syn()))
    }

    /// RFC 5961 §3.2: a reset exactly at RCV.NXT is obeyed, one elsewhere in the
    /// window challenged, and any other dropped.
    fn on_reset<A>(
        &mut self,
        terms: &Terms<'_, A>,
        request: &mut Request,
        seg: &Segment<'_>,
    ) -> Verdict {
        let ahead = seg.seq.since(self.syn.irs + 1);
        if ahead == 0 {
            self.free();
            return Verdict::Drop;
        }
        if ahead >= u32::from(terms.window) || self.challenges >= MOST_CHALLENGES {
            return Verdict::Drop;
        }
        self.challenges = self.challenges.wrapping_add(1);
        request.syn = self.syn;
        Verdict::Answer(Reply {
            is_challenge: true,
            ..self.our_syn()
        })
    }

    /// Our SYN, for the second time.
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
    /// `<SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>`, with what both ends take part in; or
    /// the challenge `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
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
            // RFC 3168 §6.1.1: an ECN-setup SYN-ACK.
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
