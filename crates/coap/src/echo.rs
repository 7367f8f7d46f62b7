//! Verification of a peer's address (RFC 9175 §2; RFC 7252 §11.3): a request with a forged source
//! address must not cause long answers to that address.
//!
//! A value of the Echo option is a keyed hash of the peer's address and port and of the time in
//! units of [`WINDOW`]. The endpoint therefore stores no state about a peer before the peer has
//! returned the value.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use redpoll_base::{Duration, Instant, Rng, half_sip_hash};

use crate::message::Peer;

/// RFC 9175 §2.2: the option's number.
pub(crate) const ECHO: u16 = 252;
/// A value is valid in the window in which it was given out and in the next.
const WINDOW: Duration = Duration::from_secs(64);
/// Time for which a peer counts as verified after its last request.
const TRUST: Duration = Duration::from_secs(3_600);
/// Maximum number of remembered peers. One more peer replaces the peer with the oldest request.
const PEERS: usize = 16;

#[derive(Debug)]
pub(crate) struct Verified {
    keys: [[u32; 2]; 2],
    peers: VecDeque<(Peer, Instant)>,
}

impl Verified {
    /// Returns the state without verified peers. The keys come from a separate stream of `rng`,
    /// whose own state does not change.
    pub(crate) fn new(rng: &Rng) -> Verified {
        let mut rng = Rng::new(rng.clone().next_u64() ^ 0x4563_686f);
        let mut key = || [rng.next_u32(), rng.next_u32()];
        Verified {
            keys: [key(), key()],
            peers: VecDeque::new(),
        }
    }

    fn value_in(&self, window: u32, peer: Peer) -> Vec<u8> {
        let mut words = [0; 6];
        let (chunks, _) = peer.addr.0.as_chunks::<4>();
        for (word, bytes) in words.iter_mut().zip(chunks) {
            *word = u32::from_be_bytes(*bytes);
        }
        let [.., port, time] = &mut words;
        (*port, *time) = (peer.port.into(), window);
        let halves = self
            .keys
            .map(|key| half_sip_hash(key, &words).to_be_bytes());
        halves.concat()
    }

    pub(crate) fn value(&self, now: Instant, peer: Peer) -> Vec<u8> {
        self.value_in(window(now), peer)
    }

    pub(crate) fn on_echo(&mut self, now: Instant, peer: Peer, value: &[u8]) {
        let current = window(now);
        let windows = [current, current.wrapping_sub(1)];
        if windows.iter().any(|it| self.value_in(*it, peer) == value) {
            self.remember(now, peer);
        }
    }

    /// Returns whether a peer's address is verified; if so, restarts the peer's [`TRUST`] period.
    pub(crate) fn contains(&mut self, now: Instant, peer: Peer) -> bool {
        let is_it = |known: &(Peer, Instant)| known.0 == peer && known.1 > now;
        let found = self.peers.iter().any(is_it);
        if found {
            self.remember(now, peer);
        }
        found
    }

    fn remember(&mut self, now: Instant, peer: Peer) {
        self.peers.retain(|(known, _)| *known != peer);
        if self.peers.len() >= PEERS {
            self.peers.pop_front();
        }
        self.peers.push_back((peer, now + TRUST));
    }
}

fn window(now: Instant) -> u32 {
    (now.as_micros() / WINDOW.as_micros()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Addr;

    fn peer(n: u8) -> Peer {
        Peer {
            addr: Addr([n; 16]),
            port: 5_683,
        }
    }

    #[test]
    fn a_value_verifies_its_own_peer_and_only_for_a_while() {
        let mut verified = Verified::new(&Rng::new(1));
        let now = Instant::from_millis(100_000);
        let value = verified.value(now, peer(1));
        assert_eq!(value.len(), 8);
        verified.on_echo(now, peer(2), &value);
        verified.on_echo(now + WINDOW.times(2), peer(1), &value);
        verified.on_echo(now, peer(1), &value[..7]);
        assert!(!verified.contains(now, peer(1)) && !verified.contains(now, peer(2)));
        verified.on_echo(now + WINDOW, peer(1), &value);
        assert!(verified.contains(now + WINDOW, peer(1)));
        assert!(!verified.contains(now + WINDOW + TRUST, peer(1)));
    }

    #[test]
    fn sixteen_peers_are_remembered() {
        let mut verified = Verified::new(&Rng::new(1));
        let now = Instant::from_millis(5);
        for n in 0..=16 {
            let value = verified.value(now, peer(n));
            verified.on_echo(now, peer(n), &value);
        }
        let known = (0..=16).filter(|n| verified.contains(now, peer(*n)));
        assert!(known.eq(1..=16));
    }
}
