//! Measured directed links, replayed over time.
//!
//! The measured share of received frames is the probability of reception without interference. In
//! the SINR medium, the mean RSSI is the power at the receiver, which determines interference,
//! assessments and the reported RSSI. In the unit-disk medium, the receiver senses every frame on a
//! link, and the frame disturbs others.

use std::fmt;
use std::sync::Arc;

use redpoll_base::{Duration, Instant};

use super::links::{Links, probability, whole_dbm};
use super::oqpsk::from_db;
use super::{Config, Link};
use crate::kernel::Digest;
use crate::measured::{K7, K7Link, Record};

/// Measured links, and the time in the file at which a run begins.
#[derive(Clone, PartialEq)]
pub struct Measured {
    k7: K7,
    from: Duration,
}

/// Cost of an ETX of 1: the metric counts in units of 1/128 (RFC 6551 §4.3.2).
const ETX: f64 = 128.0;

impl Measured {
    /// Returns the links of the file `k7`. A run begins at time `from` after the file's first row.
    pub fn new(k7: K7, from: Duration) -> Measured {
        Measured { k7, from }
    }

    pub fn names(&self) -> &[String] {
        &self.k7.nodes
    }

    pub fn len(&self) -> usize {
        self.k7.links.len()
    }

    pub fn is_empty(&self) -> bool {
        self.k7.links.is_empty()
    }

    /// Returns the node with the best links in both directions at the beginning of the run: the
    /// greatest sum of `both_ways` over its neighbours. If several nodes have this sum, returns the
    /// first of them.
    pub fn best_connected(&self) -> usize {
        let mut sums = vec![0.0; self.k7.nodes.len()];
        for link in &self.k7.links {
            sums[link.from] += self.both_ways(link);
        }
        let best = |best: usize, node: usize| match sums[node] > sums[best] {
            true => node,
            false => best,
        };
        (0..sums.len()).fold(0, best)
    }

    /// Returns the share of frames that a link delivers and whose acknowledgment returns.
    fn both_ways(&self, link: &K7Link) -> f64 {
        let back = self
            .k7
            .links
            .binary_search_by_key(&(link.to, link.from), |other| (other.from, other.to));
        let share = |link: &K7Link| self.newest(link, Instant::ZERO).0.pdr;
        back.map_or(0.0, |back| share(link) * share(&self.k7.links[back]))
    }

    fn newest(&self, link: &K7Link, now: Instant) -> (Record, Instant) {
        let at = self.from + Duration::from_micros(now.as_micros());
        let next = link.records.partition_point(|record| record.at <= at);
        let record = link.records[next.saturating_sub(1)];
        // Before its first measurement, a link has the values of that measurement.
        let next = link.records.get(next.max(1));
        let changes = next.map_or(Instant::FAR_FUTURE, |next| {
            Instant::ZERO + next.at.minus(self.from)
        });
        (record, changes)
    }
}

/// Returns the links at the beginning of a run, by sender and receiver.
pub fn links(measured: &Measured, config: &Config) -> Vec<(usize, Link)> {
    let link = |of: &K7Link| {
        let mut link = Link {
            to: of.to as u32,
            success: 0,
            power_mw: 0.0,
            rssi_dbm: 0,
            // Expected transmissions until an acknowledgment (De Couto et al. 2003).
            cost: libm::round(ETX / measured.both_ways(of)).min(f64::from(u16::MAX)) as u16,
            receives: false,
            senses: false,
            disturbs: false,
        };
        enter(&mut link, &measured.newest(of, Instant::ZERO).0, config);
        (of.from, link)
    };
    measured.k7.links.iter().map(link).collect()
}

fn enter(link: &mut Link, record: &Record, config: &Config) {
    let is_up = record.pdr > 0.0;
    link.success = probability(record.pdr);
    link.rssi_dbm = whole_dbm(record.rssi_dbm);
    link.power_mw = match config {
        Config::Sinr(_) if is_up => from_db(record.rssi_dbm),
        _ => 0.0,
    };
    (link.receives, link.senses, link.disturbs) = (is_up, is_up, is_up);
}

#[derive(Clone, Debug)]
pub struct Replay {
    measured: Arc<Measured>,
    config: Config,
    next: Vec<Instant>,
}

impl Replay {
    /// Returns the schedule that updates the links which [`links`] returned.
    pub fn new(measured: &Arc<Measured>, config: &Config, nodes: usize) -> Replay {
        Replay {
            measured: measured.clone(),
            config: *config,
            next: vec![Instant::ZERO; nodes],
        }
    }

    /// Updates the links of node `from` to the latest measurement.
    pub fn refresh(&mut self, now: Instant, from: usize, links: &mut Links) {
        if now < self.next[from] {
            return;
        }
        let mut next = Instant::FAR_FUTURE;
        for index in links.range(from) {
            let (record, changes) = self.measured.newest(&self.measured.k7.links[index], now);
            enter(links.at_mut(index), &record, &self.config);
            next = next.min(changes);
        }
        self.next[from] = next;
    }
}

impl fmt::Debug for Measured {
    /// Shows a digest, so different measurements differ.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digest = Digest::default();
        for link in &self.k7.links {
            digest.add((link.from as u64) << 32 | link.to as u64);
            for record in &link.records {
                digest.add(record.at.as_micros());
                digest.add(record.rssi_dbm.to_bits());
                digest.add(record.pdr.to_bits());
            }
        }
        f.debug_struct("Measured")
            .field("nodes", &self.k7.nodes)
            .field("links", &self.k7.links.len())
            .field("from", &self.from)
            .field("digest", &digest.value())
            .finish()
    }
}
