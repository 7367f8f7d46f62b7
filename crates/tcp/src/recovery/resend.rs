//! What is to be sent again.
//!
//! One range: without selective acknowledgments a sender knows of one hole
//! only, or believes everything lost. The SACK scoreboard will take this place.

use crate::{SeqNum, SeqRange};

/// How a loss became known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// The retransmission timer ran out.
    Timeout,
    /// Duplicate or partial acknowledgments.
    Fast,
    /// The link gave up.
    Link,
    /// The path refused the size.
    PathMtu,
}

/// The range that is believed lost and not yet sent again.
#[derive(Clone, Debug)]
pub(crate) struct Resend {
    range: SeqRange,
    loss: Loss,
    /// The next segment leaves even if cwnd is full: RFC 5681 §3.2, step 3,
    /// and RFC 6298 §5.4 demand it; and the link's word is as good as theirs.
    at_once: bool,
}

impl Resend {
    pub(crate) fn nothing() -> Self {
        Resend {
            range: SeqRange::default(),
            loss: Loss::Timeout,
            at_once: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Bytes believed lost: they are no longer in the network.
    pub(crate) fn len(&self) -> u32 {
        self.range.len()
    }

    pub(crate) fn range(&self) -> SeqRange {
        self.range
    }

    pub(crate) fn loss(&self) -> Loss {
        self.loss
    }

    pub(crate) fn at_once(&self) -> bool {
        self.at_once
    }

    /// `range` is lost. Joins what is already known to be lost.
    pub(crate) fn add(&mut self, range: SeqRange, loss: Loss) {
        if range.is_empty() {
            return;
        }
        self.range = if self.is_empty() {
            range
        } else {
            SeqRange::new(
                self.range.start.min(range.start),
                self.range.end.max(range.end),
            )
        };
        self.loss = loss;
        self.at_once |= loss != Loss::PathMtu;
    }

    /// Everything before `end` is with the link, or arrived.
    pub(crate) fn on_sent(&mut self, end: SeqNum) {
        self.at_once = false;
        self.skip_to(end);
    }

    /// SND.UNA moved.
    pub(crate) fn on_ack(&mut self, una: SeqNum) {
        self.skip_to(una);
    }

    /// The link has delivered `range`, which may have waited in its queue
    /// while it was thought lost.
    pub(crate) fn on_delivered(&mut self, range: SeqRange) {
        if range.contains(self.range.start) {
            self.skip_to(range.end);
        }
    }

    fn skip_to(&mut self, seq: SeqNum) {
        if self.is_empty() {
            return;
        }
        self.range.start = self.range.start.max(seq);
        if self.is_empty() {
            *self = Resend::nothing();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(SeqNum(start), SeqNum(end))
    }

    #[test]
    fn it_shrinks_from_the_front() {
        let mut resend = Resend::nothing();
        resend.add(range(10, 40), Loss::Timeout);
        assert!(resend.at_once());
        resend.on_sent(SeqNum(20));
        assert!(!resend.at_once());
        resend.on_ack(SeqNum(15));
        assert_eq!(resend.range(), range(20, 40));
        resend.on_delivered(range(30, 35));
        assert_eq!(resend.range(), range(20, 40));
        resend.on_delivered(range(15, 30));
        assert_eq!(resend.range(), range(30, 40));
        resend.on_ack(SeqNum(50));
        assert!(resend.is_empty());
    }

    #[test]
    fn losses_join() {
        let mut resend = Resend::nothing();
        resend.add(range(20, 30), Loss::PathMtu);
        assert!(!resend.at_once());
        resend.add(range(10, 20), Loss::Fast);
        assert_eq!(resend.range(), range(10, 30));
        assert!(resend.at_once());
        resend.add(range(5, 5), Loss::Link);
        assert_eq!(resend.range(), range(10, 30));
    }
}
