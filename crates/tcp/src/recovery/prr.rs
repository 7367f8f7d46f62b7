//! Proportional rate reduction (RFC 9937 §6): how many bytes may be sent for the delivered ones
//! during recovery.

use redpoll_base::divide;

use crate::ahead::window;

pub(crate) const ON: bool = cfg!(feature = "gentle-recovery");

/// State of PRR in bytes, with the names of RFC 9937 §6. An episode that delivers more than 65,535
/// bytes continues by packet conservation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prr {
    delivered: u16,
    out: u16,
    recover_fs: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) delivered: u32,
    pub(crate) in_flight: u32,
    /// SafeACK: SND.UNA advanced and no further loss is indicated.
    pub(crate) is_safe: bool,
}

impl Prr {
    /// Starts an episode (RFC 9937 §6.1) in which RecoverFS bytes may be delivered.
    pub(crate) fn begin(recover_fs: u32) -> Self {
        Prr {
            recover_fs: window(recover_fs),
            ..Prr::default()
        }
    }

    pub(crate) fn recover_fs(&self) -> u32 {
        u32::from(self.recover_fs)
    }

    /// Limits `delivered`, which duplicate ACKs without SACK report, to the bytes of RecoverFS not
    /// yet delivered (RFC 9937 §6.2).
    pub(crate) fn plausible(&self, delivered: u32) -> u32 {
        delivered.min(u32::from(self.recover_fs.saturating_sub(self.delivered)))
    }

    /// Processes an ACK (RFC 9937 §6.2). Returns the congestion window; `None` keeps it.
    pub(crate) fn on_ack(&mut self, ack: Progress, ssthresh: u32, mss: u32) -> Option<u32> {
        if ack.delivered == 0 {
            return None;
        }
        self.delivered = window(u32::from(self.delivered).wrapping_add(ack.delivered));
        let (delivered, out) = (u32::from(self.delivered), u32::from(self.out));
        let mut count = if ack.in_flight > ssthresh {
            // Each factor is at most 65,535, so the product fits in 32 bits.
            let product = delivered.wrapping_mul(ssthresh);
            let recover_fs = self.recover_fs().max(1);
            let up = product.wrapping_add(recover_fs.wrapping_sub(1));
            divide(up, recover_fs).saturating_sub(out)
        } else {
            if ssthresh <= mss.wrapping_mul(4) {
                return Some(ssthresh);
            }
            let conservative = delivered.saturating_sub(out).max(ack.delivered);
            let extra = if ack.is_safe { mss } else { 0 };
            conservative
                .wrapping_add(extra)
                .min(ssthresh.wrapping_sub(ack.in_flight))
        };
        // RFC 9937 §6.2: "Force a fast retransmit upon entering recovery."
        if out == 0 && count == 0 {
            count = mss;
        }
        Some(ack.in_flight.wrapping_add(count))
    }

    /// Records sent data (RFC 9937 §6.3).
    pub(crate) fn on_sent(&mut self, len: u32) {
        if !ON {
            return;
        }
        self.out = window(u32::from(self.out).wrapping_add(len));
    }
}

#[cfg(test)]
#[cfg(feature = "gentle-recovery")]
mod tests {
    use super::*;

    fn ack(delivered: u32, in_flight: u32, is_safe: bool) -> Progress {
        Progress {
            delivered,
            in_flight,
            is_safe,
        }
    }

    /// RFC 9937 §8, the first example: the first of 20 segments is lost, and the window becomes
    /// ten. Every second ACK permits one segment.
    #[test]
    fn one_for_two_while_above_the_threshold() {
        let mut prr = Prr::begin(20);
        let mut in_flight = 19u32;
        let mut sent = std::vec::Vec::new();
        for _ in 0..18 {
            in_flight -= 1;
            let cwnd = prr.on_ack(ack(1, in_flight, false), 10, 1).unwrap();
            let out = cwnd - in_flight;
            prr.on_sent(out);
            in_flight += out;
            sent.push(out);
        }
        assert_eq!(sent.iter().sum::<u32>(), 9);
        assert!(sent.iter().all(|out| *out <= 1));
        assert_eq!(in_flight, 10);
    }

    extern crate std;

    #[test]
    fn below_the_threshold_it_sends_what_arrives_and_one_more_when_safe() {
        let mut prr = Prr::begin(1000);
        assert_eq!(prr.on_ack(ack(100, 100, false), 500, 100), Some(200));
        prr.on_sent(100);
        assert_eq!(prr.on_ack(ack(100, 100, true), 500, 100), Some(300));
        prr.on_sent(200);
        assert_eq!(prr.on_ack(ack(100, 450, true), 500, 100), Some(500));
        assert_eq!(prr.on_ack(ack(0, 0, true), 500, 100), None);
    }

    #[test]
    fn the_first_retransmission_always_leaves() {
        let mut prr = Prr::begin(1000);
        assert_eq!(prr.on_ack(ack(10, 500, false), 500, 100), Some(600));
        assert_eq!(prr.plausible(5000), 990);
    }
}
