//! Where the nodes' secrets come from: the keys of TCP's initial sequence numbers,
//! SYN cookies and Fast Open, and the streams that choose ports, tags, tokens and
//! message numbers (RFC 6528 §3, RFC 6056 §3.3, RFC 7252 §5.3.1).
//!
//! In virtual time they come from the run's seed, as everything does, so that the
//! same seed gives the same bytes. A mesh that others can reach must not have
//! secrets that a published seed tells: there they come from outside, and the
//! seed shapes the simulated air alone.

use redpoll_base::Rng;

/// Fills a buffer with random bytes.
type Source = Box<dyn FnMut(&mut [u8])>;

/// Numbers that others must not guess: of a seed in virtual time, of the operating
/// system in real time.
#[derive(Default)]
pub struct Secrets {
    source: Option<Source>,
}

impl Secrets {
    /// Secrets that follow from the seed of the run.
    pub(crate) fn of_seed() -> Secrets {
        Secrets::default()
    }

    /// Secrets from `source`, such as the operating system's random numbers.
    pub fn from_source(source: impl FnMut(&mut [u8]) + 'static) -> Secrets {
        Secrets {
            source: Some(Box::new(source)),
        }
    }

    /// The stream for a purpose that has to be hard to guess; `seeded` is the one
    /// that the seed gives.
    pub(crate) fn stream(&mut self, seeded: Rng) -> Rng {
        match &mut self.source {
            Some(source) => {
                let [mut seed, mut id] = [[0; 8]; 2];
                source(&mut seed);
                source(&mut id);
                Rng::stream(u64::from_le_bytes(seed), u64::from_le_bytes(id))
            }
            None => seeded,
        }
    }

    /// A key of 128 bits; from `seeded` if the seed gives it.
    pub(crate) fn key(&mut self, seeded: &mut Rng) -> [u8; 16] {
        let mut key = [0; 16];
        match &mut self.source {
            Some(source) => source(&mut key),
            None => {
                key[..8].copy_from_slice(&seeded.next_u64().to_le_bytes());
                key[8..].copy_from_slice(&seeded.next_u64().to_le_bytes());
            }
        }
        key
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let origin = self.source.as_ref().map_or("the seed", |_| "outside");
        write!(f, "Secrets from {origin}")
    }
}
