//! Which datagrams of a flow have been sent, and which have arrived.

use redpoll_base::{Duration, Instant};

/// Datagrams are numbered from 0, in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// When each was sent.
    sent_at: Vec<Instant>,
    /// One bit a datagram sent: whether it has arrived.
    arrived: Vec<u64>,
    /// The longest that one took to arrive.
    longest: Duration,
}

impl Datagrams {
    pub(super) fn sent(&mut self, now: Instant, seq: u32) -> Result<(), String> {
        if seq as usize != self.sent_at.len() {
            return Err(format!(
                "datagram {seq} sent, expected {}",
                self.sent_at.len()
            ));
        }
        self.sent_at.push(now);
        Ok(())
    }

    pub(super) fn received(&mut self, now: Instant, seq: u32) -> Result<(), String> {
        let Some(sent_at) = self.sent_at.get(seq as usize) else {
            return Err(format!("datagram {seq} received that was never sent"));
        };
        self.longest = self.longest.max(now.since(*sent_at));
        let (word, bit) = place(seq);
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
        self.sent_at.len() as u64
    }

    /// How many are settled by `now`, and how many of those have not arrived.
    ///
    /// Nobody tells of a datagram that is lost. One counts as settled, arrived
    /// or not, when more time has passed since it was sent than any other one
    /// of the flow took.
    pub(super) fn settled(&self, now: Instant) -> (u64, u64) {
        let settled = self
            .sent_at
            .partition_point(|sent_at| *sent_at + self.longest < now);
        let lost = (0..settled as u32).filter(|seq| {
            let (word, bit) = place(*seq);
            self.arrived.get(word).is_none_or(|bits| bits & bit == 0)
        });
        (settled as u64, lost.count() as u64)
    }
}

/// Word and bit of a datagram.
fn place(seq: u32) -> (usize, u64) {
    (seq as usize / 64, 1 << (seq % 64))
}
