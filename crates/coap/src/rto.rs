//! Time for which a message waits for its acknowledgement before it is retransmitted.

use alloc::vec::Vec;
use redpoll_base::{Duration, Instant, Rng};

use crate::cocoa::Cocoa;
use crate::config::{RtoPolicy, Transmission};
use crate::message::Peer;

/// Maximum number of peers with an estimate. One more peer replaces the least recently used one.
const MAX_PEERS: usize = 16;

#[derive(Debug)]
pub(crate) struct Estimators {
    policy: RtoPolicy,
    ack_timeout: Duration,
    /// ACK_RANDOM_FACTOR - 1, in percent.
    dither_percent: u32,
    /// Estimates, the least recently used first.
    peers: Vec<(Peer, Cocoa)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timeout {
    initial: Duration,
    pub(crate) current: Duration,
}

impl Estimators {
    pub(crate) fn new(policy: RtoPolicy, transmission: &Transmission) -> Estimators {
        Estimators {
            policy,
            ack_timeout: transmission.ack_timeout,
            dither_percent: transmission.ack_random_percent.saturating_sub(100),
            peers: Vec::new(),
        }
    }

    /// Returns the timeout of a new message to `peer`, with `running` earlier messages in progress.
    pub(crate) fn first(
        &mut self,
        now: Instant,
        peer: Peer,
        running: usize,
        rng: &mut Rng,
    ) -> Timeout {
        let rto = match self.policy {
            RtoPolicy::Rfc7252 => self.ack_timeout,
            _ => self.with(now, peer, |estimate| estimate.rto(now, running)),
        };
        // RFC 7252 §4.2: the initial timeout of a message is "a random duration [...] between
        // ACK_TIMEOUT and (ACK_TIMEOUT * ACK_RANDOM_FACTOR)". The CoCoA draft has the same rule in
        // §4.2.1.
        let spread = rto.times(self.dither_percent.into()).divided_by(100);
        let dither = rng.below_u64(spread.as_micros().saturating_add(1));
        Timeout {
            initial: rto,
            current: rto.plus(Duration::from_micros(dither)),
        }
    }

    pub(crate) fn backed_off(&self, last: Timeout) -> Timeout {
        let current = match self.policy {
            RtoPolicy::Rfc7252 => last.current.times(2),
            RtoPolicy::CocoaDraft => Cocoa::backed_off_by_draft(last.current),
            RtoPolicy::CocoaContiki => Cocoa::backed_off_by_contiki(last.initial, last.current),
        };
        Timeout { current, ..last }
    }

    /// Adds a sample: the acknowledgement came `rtt` after the first of 1 + `retransmissions`
    /// transmissions.
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        peer: Peer,
        rtt: Duration,
        retransmissions: u8,
    ) {
        if self.policy != RtoPolicy::Rfc7252 {
            self.with(now, peer, |estimate| {
                estimate.on_answer(now, rtt, retransmissions)
            });
        }
    }

    /// Returns whether a message to `peer` must be confirmable, even if the application does not
    /// require it.
    pub(crate) fn must_confirm(&self, peer: Peer) -> bool {
        let known = self.unconfirmed(peer);
        known.is_some_and(|estimate| estimate.unconfirmed.is_used_up())
    }

    /// Returns the time from which a non-confirmable message to `peer` may be sent; `None`: any
    /// time.
    pub(crate) fn not_before(&self, peer: Peer) -> Option<Instant> {
        self.unconfirmed(peer)?.unconfirmed.not_before()
    }

    fn unconfirmed(&self, peer: Peer) -> Option<&Cocoa> {
        let is_draft = self.policy == RtoPolicy::CocoaDraft;
        let known = self.peers.iter().find(|(known, _)| *known == peer);
        known.filter(|_| is_draft).map(|(_, estimate)| estimate)
    }

    /// Counts a message of `bytes` bytes to `peer` that is not a response.
    pub(crate) fn on_message(&mut self, now: Instant, peer: Peer, confirmable: bool, bytes: usize) {
        if self.policy != RtoPolicy::CocoaDraft {
            return;
        }
        self.with(now, peer, |estimate| match confirmable {
            true => estimate.unconfirmed.on_confirmable(),
            false => {
                let rto = estimate.rto(now, 0);
                estimate.unconfirmed.on_sent(now, bytes, rto);
            }
        });
    }

    fn with<R>(&mut self, now: Instant, peer: Peer, act: impl FnOnce(&mut Cocoa) -> R) -> R {
        let known = self.peers.iter().position(|(known, _)| *known == peer);
        let mut estimate = match known {
            Some(index) => self.peers.remove(index).1,
            None => {
                let is_contiki = self.policy == RtoPolicy::CocoaContiki;
                Cocoa::new(is_contiki, self.ack_timeout, now)
            }
        };
        let result = act(&mut estimate);
        if self.peers.len() >= MAX_PEERS {
            self.peers.remove(0);
        }
        self.peers.push((peer, estimate));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Addr;

    fn peer(port: u16) -> Peer {
        Peer {
            addr: Addr::UNSPECIFIED,
            port,
        }
    }

    fn estimators(policy: RtoPolicy) -> Estimators {
        Estimators::new(policy, &Transmission::default())
    }

    /// RFC 7252 §4.2.
    #[test]
    fn by_default_two_to_three_seconds_and_doubled() {
        let mut estimators = estimators(RtoPolicy::Rfc7252);
        let mut rng = Rng::new(5);
        let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
        for _ in 0..1_000 {
            let timeout = estimators.first(Instant::ZERO, peer(1), 0, &mut rng);
            least = least.min(timeout.current);
            most = most.max(timeout.current);
            let doubled = estimators.backed_off(timeout);
            assert_eq!(doubled.current, timeout.current.times(2));
        }
        assert!(least >= Duration::from_secs(2) && least < Duration::from_millis(2_010));
        assert!(most <= Duration::from_secs(3) && most > Duration::from_millis(2_990));
    }

    /// The draft, §4.1: the initial 2 s times the number of parallel exchanges.
    #[test]
    fn blind_estimates_grow_with_the_running_exchanges() {
        let mut estimators = estimators(RtoPolicy::CocoaDraft);
        let mut rng = Rng::new(5);
        for (running, secs) in [(0, 2), (1, 4), (2, 6)] {
            let timeout = estimators.first(Instant::ZERO, peer(1), running, &mut rng);
            assert_eq!(timeout.initial, Duration::from_secs(secs));
        }
    }

    #[test]
    fn each_peer_has_an_estimate_and_there_are_not_too_many() {
        let mut estimators = estimators(RtoPolicy::CocoaDraft);
        let mut rng = Rng::new(5);
        let rtt = Duration::from_millis(100);
        estimators.on_answer(Instant::ZERO, peer(1), rtt, 0);
        let of = |estimators: &mut Estimators, port, rng: &mut Rng| {
            estimators.first(Instant::ZERO, peer(port), 0, rng).initial
        };
        assert!(of(&mut estimators, 1, &mut rng) < Duration::from_secs(2));
        assert_eq!(of(&mut estimators, 2, &mut rng), Duration::from_secs(2));
        for port in 3..100 {
            of(&mut estimators, port, &mut rng);
        }
        assert_eq!(estimators.peers.len(), MAX_PEERS);
        assert_eq!(of(&mut estimators, 1, &mut rng), Duration::from_secs(2));
    }
}
