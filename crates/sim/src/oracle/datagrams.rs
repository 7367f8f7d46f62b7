//! Record of a flow's sent and received datagrams.

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant};

/// Number of datagrams that are remembered individually. Older ones that have not arrived count as
/// lost, even if they arrive later.
const REMEMBERED: usize = 1 << 16;

/// Datagrams of a flow, numbered in the order of sending. A gap in the numbers stands for datagrams
/// that the sender dropped.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    sent: VecDeque<Datagram>,
    /// Number of datagrams no longer in `sent`; `old_lost` of them never arrived.
    old: u64,
    old_lost: u64,
    /// Longest time from sending to arrival.
    longest: Duration,
    /// Whether the path may duplicate datagrams.
    may_repeat: bool,
}

#[derive(Clone, Copy, Debug)]
struct Datagram {
    seq: u32,
    sent_at: Instant,
    has_arrived: bool,
}

impl Datagrams {
    pub(super) fn sent(&mut self, now: Instant, seq: u32) -> Result<(), String> {
        if let Some(last) = self.sent.back().filter(|last| last.seq >= seq) {
            return Err(format!(
                "datagram {seq} was sent after datagram {}; the numbers of datagrams must increase",
                last.seq
            ));
        }
        if self.sent.len() >= REMEMBERED
            && let Some(oldest) = self.sent.pop_front()
        {
            self.old += 1;
            self.old_lost += u64::from(!oldest.has_arrived);
        }
        self.sent.push_back(Datagram {
            seq,
            sent_at: now,
            has_arrived: false,
        });
        Ok(())
    }

    pub(super) fn permit_repeats(&mut self) {
        self.may_repeat = true;
    }

    pub(super) fn received(&mut self, now: Instant, seq: u32) -> Result<bool, String> {
        let Ok(index) = self.sent.binary_search_by_key(&seq, |sent| sent.seq) else {
            let is_old = self.old > 0 && self.sent.front().is_some_and(|first| seq < first.seq);
            return match is_old {
                true => Ok(!self.may_repeat),
                false => Err(format!("datagram {seq} was received, but never sent")),
            };
        };
        let datagram = &mut self.sent[index];
        self.longest = self.longest.max(now.since(datagram.sent_at));
        if datagram.has_arrived {
            return match self.may_repeat {
                true => Ok(false),
                false => Err(format!("datagram {seq} was received twice")),
            };
        }
        datagram.has_arrived = true;
        Ok(true)
    }

    pub(super) fn sent_count(&self) -> u64 {
        self.old + self.sent.len() as u64
    }

    /// Returns the number of datagrams settled by `now`, and how many of those have not arrived. A
    /// datagram is settled when more time has passed since its sending than any datagram of the
    /// flow took to arrive.
    pub(super) fn settled(&self, now: Instant) -> (u64, u64) {
        let settled = self
            .sent
            .partition_point(|datagram| datagram.sent_at + self.longest < now);
        let settled_ones = self.sent.iter().take(settled);
        let lost = settled_ones.filter(|datagram| !datagram.has_arrived);
        (
            self.old + settled as u64,
            self.old_lost + lost.count() as u64,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_datagrams_are_only_counted() {
        let at = |seq: u32| Instant::from_millis(seq.into());
        let mut datagrams = Datagrams::default();
        for seq in 0..200_000 {
            datagrams.sent(at(seq), seq).unwrap();
            if seq % 4 > 0 {
                datagrams.received(at(seq + 1), seq).unwrap();
            }
        }
        assert!(datagrams.sent.len() <= REMEMBERED);
        assert_eq!(datagrams.sent_count(), 200_000);
        assert_eq!(datagrams.settled(at(300_000)), (200_000, 50_000));
        assert_eq!(datagrams.received(at(300_000), 8), Ok(true));
        assert!(datagrams.received(at(300_000), 200_000).is_err());
        assert!(datagrams.received(at(300_000), 199_999).is_err());
        datagrams.permit_repeats();
        assert_eq!(datagrams.received(at(300_000), 199_999), Ok(false));
        assert_eq!(datagrams.received(at(300_000), 8), Ok(false));
        assert!(datagrams.received(at(300_000), 200_000).is_err());
    }
}
