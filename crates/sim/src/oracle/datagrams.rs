//! Which datagrams of a flow have been sent, and which have arrived.

use redpoll_base::{Duration, Instant};

/// Datagrams are numbered, and sent in the order of their numbers; a sender that
/// drops some of what it has made leaves numbers out.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// The number of each that was sent, and when.
    sent: Vec<(u32, Instant)>,
    /// One bit for each that was sent: whether it has arrived.
    arrived: Vec<u64>,
    /// The longest that one took to arrive.
    longest: Duration,
}

impl Datagrams {
    pub(super) fn sent(&mut self, now: Instant, seq: u32) -> Result<(), String> {
        match self.sent.last() {
            Some((last, _)) if *last >= seq => {
                return Err(format!("datagram {seq} sent behind {last}"));
            }
            _ => self.sent.push((seq, now)),
        }
        Ok(())
    }

    pub(super) fn received(&mut self, now: Instant, seq: u32) -> Result<(), String> {
        let Ok(index) = self.sent.binary_search_by_key(&seq, |(seq, _)| *seq) else {
            return Err(format!("datagram {seq} received that was never sent"));
        };
        self.longest = self.longest.max(now.since(self.sent[index].1));
        let (word, bit) = place(index);
        if word >= self.arrived.len() {
            self.arrived.resize(word + 1, 0);
        }
        if self.arrived[word] & bit != 0 {
            return Err(format!("datagram {seq} received twice"));
        }
        self.arrived[word] |= bit;
        Ok(())
    }

    pub(super) fn sent_count(&self) -> u64 {
        self.sent.len() as u64
    }

    /// How many are settled by `now`, and how many of those have not arrived.
    ///
    /// Nobody tells of a datagram that is lost. One counts as settled, arrived
    /// or not, when more time has passed since it was sent than any other one
    /// of the flow took.
    pub(super) fn settled(&self, now: Instant) -> (u64, u64) {
        let settled = self
            .sent
            .partition_point(|(_, sent_at)| *sent_at + self.longest < now);
        let lost = (0..settled).filter(|index| {
            let (word, bit) = place(*index);
            self.arrived.get(word).is_none_or(|bits| bits & bit == 0)
        });
        (settled as u64, lost.count() as u64)
    }
}

/// Word and bit of the datagram that was sent after so many others.
fn place(index: usize) -> (usize, u64) {
    (index / 64, 1 << (index % 64))
}
