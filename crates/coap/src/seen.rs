//! Received messages, stored to recognise duplicates (RFC 7252 §4.5), in bounded memory: the
//! oldest is dropped first.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use redpoll_base::{Duration, Instant};

use crate::message::{MessageId, Peer};

/// Maximum number of bytes of answers stored for duplicates; more answers replace the oldest.
const ANSWER_BYTES: usize = 16 << 10;

#[derive(Debug)]
struct Message {
    peer: Peer,
    id: MessageId,
    /// Time from which the ID may belong to a new message.
    until: Instant,
    /// The Acknowledgement or Reset that the message got; empty for none.
    answer: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Seen {
    messages: VecDeque<Message>,
    most: usize,
    bytes: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Receipt {
    New,
    /// A duplicate, with the stored answer. RFC 7252 §4.5: a duplicate is answered "using the same
    /// Acknowledgement or Reset message". The field is empty if no answer is stored.
    Duplicate(Vec<u8>),
}

impl Seen {
    pub(crate) fn new(most: usize) -> Seen {
        Seen {
            messages: VecDeque::new(),
            most: most.max(1),
            bytes: 0,
        }
    }

    /// Returns whether a message is a duplicate. A new message is stored for `lifetime`.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        peer: Peer,
        id: MessageId,
        lifetime: Duration,
    ) -> Receipt {
        if let Some(known) = self.find(peer, id)
            && known.until > now
        {
            return Receipt::Duplicate(known.answer.clone());
        }
        self.messages.retain(|known| known.until > now);
        self.bytes = self.messages.iter().map(|known| known.answer.len()).sum();
        self.messages.push_back(Message {
            peer,
            id,
            until: now + lifetime,
            answer: Vec::new(),
        });
        self.shrink();
        Receipt::New
    }

    pub(crate) fn answered(&mut self, peer: Peer, id: MessageId, answer: &[u8]) {
        let Some(known) = self.find(peer, id) else {
            return;
        };
        let before = core::mem::replace(&mut known.answer, answer.to_vec()).len();
        self.bytes = (self.bytes + answer.len()).saturating_sub(before);
        self.shrink();
    }

    fn find(&mut self, peer: Peer, id: MessageId) -> Option<&mut Message> {
        self.messages
            .iter_mut()
            .rev()
            .find(|known| known.peer == peer && known.id == id)
    }

    fn shrink(&mut self) {
        while self.messages.len() > self.most
            || self.bytes > ANSWER_BYTES && self.messages.len() > 1
        {
            let gone = self.messages.pop_front();
            let len = gone.map_or(0, |message| message.answer.len());
            self.bytes = self.bytes.saturating_sub(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Addr;

    const LIFETIME: Duration = Duration::from_secs(247);

    fn peer(port: u16) -> Peer {
        Peer {
            addr: Addr::UNSPECIFIED,
            port,
        }
    }

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1_000)
    }

    #[test]
    fn a_duplicate_gets_the_same_answer_until_the_id_may_be_used_again() {
        let mut seen = Seen::new(8);
        assert_eq!(seen.judge(at(0), peer(1), 7, LIFETIME), Receipt::New);
        let duplicate = |answer: &[u8]| Receipt::Duplicate(answer.to_vec());
        assert_eq!(seen.judge(at(1), peer(1), 7, LIFETIME), duplicate(b""));
        seen.answered(peer(1), 7, b"ack");
        assert_eq!(seen.judge(at(246), peer(1), 7, LIFETIME), duplicate(b"ack"));
        // The same ID of another peer, and another ID, belong to new messages.
        assert_eq!(seen.judge(at(246), peer(2), 7, LIFETIME), Receipt::New);
        assert_eq!(seen.judge(at(246), peer(1), 8, LIFETIME), Receipt::New);
        assert_eq!(seen.judge(at(247), peer(1), 7, LIFETIME), Receipt::New);
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = Seen::new(8);
        for id in 0..100 {
            assert_eq!(seen.judge(at(0), peer(1), id, LIFETIME), Receipt::New);
            seen.answered(peer(1), id, &[0; 5_000]);
        }
        assert!(seen.bytes <= ANSWER_BYTES);
        assert_eq!(seen.messages.len(), 3);
        for id in 100..200 {
            seen.judge(at(0), peer(1), id, LIFETIME);
        }
        assert_eq!((seen.messages.len(), seen.bytes), (8, 0));
    }
}
