//! SYN cookies (RFC 4987 §3.6): the state of a half-open connection, kept by
//! the peer.
//!
//! Our initial sequence number is a keyed hash of both ends, of the peer's
//! number and of a slow clock; three of its bits say which MSS the peer has.
//! What else the peer offered stands in the low bits of our timestamp, which it
//! sends back; without timestamps it is forgone. A stranger who guesses has a
//! chance of one in 2^28, and only while cookies are about.
//!
//! Nothing tells a cookie's first use from a later one: a segment that the
//! network doubled would open a connection again that was open and is over, and
//! hand its data to the application twice. So the last cookies that were used
//! are remembered. A flood brings none: in it, too, they are those of clients.

use redpoll_base::{Duration, Instant};

use crate::isn::{IsnGenerator, Purpose};
use crate::listener::{Offer, Terms};
use crate::{Config, Request, Segment, SeqNum};

/// The clock ticks every 2^26 us, 67 s; a cookie is good for one to two ticks.
const TICK_BITS: u32 = 26;
pub(crate) const LONGEST_AGE: Duration = Duration::from_micros(2 << TICK_BITS);

/// The bits that tell of the MSS: a place in [`MSS`], or the one behind it for
/// our own or more. More would never be sent.
const MSS_BITS: u32 = 7;
const MSS: [u16; 7] = [64, 216, 344, 462, 536, 904, 1220];

/// The cookies that are about.
#[derive(Clone, Default, Debug)]
pub(crate) struct SynCookies {
    /// The tick of the last one.
    last: Option<u32>,
    /// Those that were used last.
    used: [SeqNum; USED],
    /// Where among them the next one goes.
    next: u8,
}

/// How many used cookies are remembered.
const USED: usize = 8;

impl SynCookies {
    /// Our initial sequence number in answer to `request`.
    pub(crate) fn make<A>(
        &mut self,
        now: Instant,
        terms: &Terms<'_, A>,
        request: &Request,
    ) -> SeqNum {
        let tick = tick(now);
        self.last = Some(tick);
        let index = mss_index(request.syn.offer.mss(), terms.config);
        SeqNum(hash(terms.isn, request, request.syn.irs, tick) ^ index)
    }

    /// Whether some may still come back.
    pub(crate) fn are_about(&self, now: Instant) -> bool {
        self.last
            .is_some_and(|last| tick(now).wrapping_sub(last) <= 1)
    }

    /// A connection was made of this one.
    pub(crate) fn on_used(&mut self, cookie: SeqNum) {
        if let Some(place) = self.used.get_mut(usize::from(self.next) % USED) {
            *place = cookie;
        }
        self.next = self.next.wrapping_add(1);
    }

    pub(crate) fn was_used(&self, cookie: SeqNum) -> bool {
        self.used.contains(&cookie)
    }

    /// Whether `seg`, of which `request` was made, brings back a cookie: then
    /// the request becomes that of the SYN.
    pub(crate) fn check<A>(
        &self,
        now: Instant,
        terms: &Terms<'_, A>,
        request: &mut Request,
        seg: &Segment<'_>,
    ) -> bool {
        let cookie = seg.ack - 1;
        if !self.are_about(now) || self.was_used(cookie) {
            return false;
        }
        let irs = seg.seq - 1;
        let index = |age| hash(terms.isn, request, irs, tick(now).wrapping_sub(age)) ^ cookie.0;
        let Some(index) = [0, 1]
            .into_iter()
            .map(index)
            .find(|index| *index <= MSS_BITS)
        else {
            return false;
        };
        let mss = MSS.get(index as usize).copied();
        let theirs = seg.options.timestamps;
        request.syn.irs = irs;
        request.syn.offer = Offer::of_mss(Some(mss.unwrap_or(terms.config.mss)))
            .with(Offer::TIMESTAMPS, theirs.is_some())
            .with_others(theirs.map_or(0, |theirs| theirs.echo));
        true
    }
}

/// The clock that goes with a cookie, instead of `clock`: the latest time whose
/// low bits are those of the offer. Timestamps must not go back.
pub(crate) fn stamp(clock: u32, offer: Offer) -> u32 {
    clock.wrapping_sub(clock.wrapping_sub(offer.others()) & Offer::OTHERS)
}

fn tick(now: Instant) -> u32 {
    (now.as_micros() >> TICK_BITS) as u32
}

#[inline(never)] // size
fn hash(isn: &IsnGenerator, ends: &Request, irs: SeqNum, tick: u32) -> u32 {
    let others = [irs.0, tick];
    isn.hash(Purpose::SynCookie, &ends.local, &ends.remote, others)
}

/// RFC 9293 §3.7.1, MUST-15: who states no MSS has [`MSS`]'s last.
fn mss_index<A>(mss: Option<u16>, config: &Config<A>) -> u32 {
    match mss {
        Some(mss) if mss >= config.mss => MSS_BITS,
        Some(mss) => MSS.iter().skip(1).filter(|known| **known <= mss).count() as u32,
        None => MSS_BITS - 1,
    }
}
