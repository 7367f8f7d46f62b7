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
use crate::listener::{Offer, PeerSyn};
use crate::syn_cache::Terms;
use crate::{Config, Endpoint, IpMeta, Request, Segment, SeqNum};

/// The clock ticks every 2^26 us, 67 s; a cookie is good for one to two ticks.
const TICK_BITS: u32 = 26;
pub(crate) const LONGEST_AGE: Duration = Duration::from_micros(2 << TICK_BITS);

/// The bits that tell of the MSS: a place in [`MSS`], or the one behind it for
/// our own or more. More would never be sent.
const MSS_BITS: u32 = 7;
const MSS: [u16; 7] = [64, 216, 344, 462, 536, 904, 1220];

/// The bits of the timestamp.
const SACK: u32 = 1;
const ECN: u32 = 2;
const OFFERS: u32 = 3;

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
    /// Our initial sequence number and timestamp in answer to `request`.
    pub(crate) fn make(
        &mut self,
        now: Instant,
        terms: &Terms<'_>,
        request: &Request,
    ) -> (SeqNum, u32) {
        let (syn, config) = (&request.syn, terms.config);
        let tick = tick(now);
        self.last = Some(tick);
        let hash = hash(terms.isn, &request.local, &request.remote, syn.irs, tick);
        let iss = hash ^ mss_index(syn.offer.mss(), config);
        let offers = [
            (Offer::SACK, config.sack, SACK),
            (Offer::ECN, config.ecn, ECN),
        ];
        let bits = offers
            .into_iter()
            .filter(|(offer, wanted, _)| *wanted && syn.offer.has(*offer))
            .fold(0, |bits, (.., bit)| bits | bit);
        // The latest time with these low bits: timestamps must not go back.
        let clock = terms.clock(now, request);
        let late = clock.wrapping_sub(bits) & OFFERS;
        (SeqNum(iss), clock.wrapping_sub(late))
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

    /// The request whose cookie `seg` brings back.
    pub(crate) fn check(
        &self,
        now: Instant,
        terms: &Terms<'_>,
        meta: &IpMeta,
        seg: &Segment<'_>,
    ) -> Option<Request> {
        if !self.are_about(now) || self.was_used(seg.ack - 1) {
            return None;
        }
        let syn = PeerSyn {
            irs: seg.seq - 1,
            window: seg.window,
            ..PeerSyn::default()
        };
        let mut request = Request::new(meta, seg, syn);
        let (local, remote) = (&request.local, &request.remote);
        let index = [0, 1].into_iter().find_map(|age| {
            let tick = tick(now).wrapping_sub(age);
            let index = hash(terms.isn, local, remote, syn.irs, tick) ^ (seg.ack - 1).0;
            (index <= MSS_BITS).then_some(index)
        })?;
        let mss = MSS.get(index as usize).copied();
        let theirs = seg.options.timestamps;
        let bits = theirs.map_or(0, |theirs| theirs.echo);
        request.syn.ts_value = theirs.map_or(0, |theirs| theirs.value);
        request.syn.offer = Offer::of_mss(Some(mss.unwrap_or(terms.config.mss)))
            .with(Offer::TIMESTAMPS, theirs.is_some())
            .with(Offer::SACK, bits & SACK != 0)
            .with(Offer::ECN, bits & ECN != 0);
        Some(request)
    }
}

fn tick(now: Instant) -> u32 {
    (now.as_micros() >> TICK_BITS) as u32
}

fn hash(isn: &IsnGenerator, local: &Endpoint, remote: &Endpoint, irs: SeqNum, tick: u32) -> u32 {
    isn.hash(Purpose::SynCookie, local, remote, [irs.0, tick])
}

/// RFC 9293 §3.7.1, MUST-15: who states no MSS has [`MSS`]'s last.
fn mss_index(mss: Option<u16>, config: &Config) -> u32 {
    match mss {
        Some(mss) if mss >= config.mss => MSS_BITS,
        Some(mss) => MSS.iter().skip(1).filter(|known| **known <= mss).count() as u32,
        None => MSS_BITS - 1,
    }
}
