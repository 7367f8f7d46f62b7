//! SYN cookies (RFC 4987 §3.6): the peer stores the state of a half-open connection.
//!
//! Our initial sequence number is a keyed hash of both ends, the peer's sequence number and a slow
//! clock; three of its bits encode the peer's MSS. The low bits of our timestamp, which the peer
//! echoes, encode the other offers; without timestamps these are lost. A guess succeeds with a
//! probability of 2^-28, and only while cookies are in use.
//!
//! The cookie itself does not show whether it was used before. A segment duplicated in the network
//! could reopen a finished connection and deliver its data twice. So the node stores the last eight
//! cookies that were used. A flood adds none, because its senders do not return cookies.

use redpoll_base::{Duration, Instant};

use crate::isn::{IsnGenerator, Purpose};
use crate::listener::{Offer, Terms};
use crate::{Config, Request, Segment, SeqNum};

/// The clock ticks every 2^26 us (67 s); a cookie is valid for one to two ticks.
const TICK_BITS: u32 = 26;
pub(crate) const LONGEST_AGE: Duration = Duration::from_micros(2 << TICK_BITS);

/// Mask of the bits that encode the peer's MSS. Their value is an index of [`MSS`]. The value after
/// the last index stands for our own MSS or more, because we never send larger segments.
const MSS_BITS: u32 = 7;
const MSS: [u16; 7] = [64, 216, 344, 462, 536, 904, 1220];

#[derive(Clone, Default, Debug)]
pub(crate) struct SynCookies {
    last: Option<u32>,
    used: [SeqNum; USED],
    next: u8,
}

const USED: usize = 8;

impl SynCookies {
    /// Returns our initial sequence number in answer to `request`.
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

    /// Returns whether a cookie was sent so recently that it may still be valid.
    pub(crate) fn are_about(&self, now: Instant) -> bool {
        self.last
            .is_some_and(|last| tick(now).wrapping_sub(last) <= 1)
    }

    /// Remembers a cookie from which a connection was made.
    pub(crate) fn on_used(&mut self, cookie: SeqNum) {
        if let Some(place) = self.used.get_mut(usize::from(self.next) % USED) {
            *place = cookie;
        }
        self.next = self.next.wrapping_add(1);
    }

    pub(crate) fn was_used(&self, cookie: SeqNum) -> bool {
        self.used.contains(&cookie)
    }

    /// Checks whether `seg`, from which `request` was parsed, returns a cookie. If so, restores in
    /// `request` the values of the SYN.
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

/// Returns the timestamp clock for a cookie: the latest time at or before `clock` whose low bits
/// encode the offer. Timestamps must not decrease.
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

/// Returns the MSS bits. RFC 9293 §3.7.1, MUST-15: the default of 1,220 bytes, the last entry of
/// [`MSS`], applies to a peer without an MSS option.
fn mss_index<A>(mss: Option<u16>, config: &Config<A>) -> u32 {
    match mss {
        Some(mss) if mss >= config.mss => MSS_BITS,
        Some(mss) => MSS.iter().skip(1).filter(|known| **known <= mss).count() as u32,
        None => MSS_BITS - 1,
    }
}
