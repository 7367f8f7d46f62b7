//! Secrets of nodes: the keys of TCP's initial sequence numbers, SYN cookies and Fast Open, and the
//! streams that choose ports, tags, tokens and message numbers (RFC 6528 §3, RFC 6056 §3.3, RFC
//! 7252 §5.3.1).
//!
//! In virtual time the secrets follow from the run's seed, so the same seed gives the same bytes. A
//! mesh that other hosts can reach needs secrets that do not follow from a published seed. Its
//! secrets come from [`Secrets::from_source`], and the seed determines only the simulated air.

use redpoll_base::Rng;

/// Fills a buffer with random bytes.
type Source = Box<dyn FnMut(&mut [u8])>;

/// Secrets of nodes: from the seed in virtual time, from the operating system in real time.
#[derive(Default)]
pub struct Secrets {
    source: Option<Source>,
}

impl Secrets {
    pub(crate) fn of_seed() -> Secrets {
        Secrets::default()
    }

    /// Returns secrets from `source`, such as the operating system's random numbers.
    pub fn from_source(source: impl FnMut(&mut [u8]) + 'static) -> Secrets {
        Secrets {
            source: Some(Box::new(source)),
        }
    }

    /// Returns an unpredictable stream from the source, or `seeded`, the stream from the seed.
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
