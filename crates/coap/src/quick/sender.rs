//! The client: sets of payloads, pauses between them, and retransmission of missing blocks
//! (RFC 9177 §4.3, §7.2).

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use coap_lite::{CoapOption, MessageClass, MessageType, RequestType, ResponseType};
use redpoll_base::{Duration, Instant, Rng};

use super::QuickConfig;
use super::message::{MISSING_BLOCKS, Q_BLOCK1, REQUEST_TAG, block, check, read_missing};
use crate::block::{Block, read_uint, uint};
use crate::message::{Class, decode, encode};
use crate::request::Request;

/// The meaning of a datagram from the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuickAnswer {
    /// The datagram does not belong to this body.
    Unrelated,
    /// The transfer continues.
    Continue,
    /// The server has the whole body.
    Done,
    /// The server refuses the body.
    Refused,
}

/// A body in transfer to a server. The application stores the body:
/// [`poll_block`](Self::poll_block) returns the next block to send, and
/// [`message`](Self::message) writes its datagram.
#[derive(Debug)]
pub struct QuickSender {
    config: QuickConfig,
    rng: Rng,
    path: String,
    query: String,
    bytes: u64,
    blocks: u32,
    /// Request-Tag, and the beginning of every token.
    tag: u32,
    next_id: u16,
    /// Number of the first block that has never been sent.
    next: u32,
    queue: VecDeque<u32>,
    /// Time at which the next set begins if no answer arrives before it; `None` while `queue` is
    /// not empty.
    pause: Option<Instant>,
    /// NON_TIMEOUT_RANDOM, which is the same between all sets.
    timeout: Duration,
}

impl QuickSender {
    /// Makes a sender that puts a body of `bytes` to `path` with `query`; `None` if the body is
    /// empty or too long.
    pub fn new(
        config: QuickConfig,
        mut rng: Rng,
        path: &str,
        query: &str,
        bytes: u64,
    ) -> Option<QuickSender> {
        let blocks = config.blocks(bytes).filter(|blocks| *blocks > 0)?;
        let spread = config.ack_random_percent.saturating_sub(100);
        let spread = config.non_timeout.times(spread.into()).divided_by(100);
        let dither = rng.below_u64(spread.as_micros().saturating_add(1));
        let mut sender = QuickSender {
            config,
            path: path.into(),
            query: query.into(),
            bytes,
            blocks,
            tag: rng.next_u32(),
            next_id: rng.next_u32() as u16,
            next: 0,
            queue: VecDeque::new(),
            pause: None,
            timeout: config.non_timeout.plus(Duration::from_micros(dither)),
            rng,
        };
        sender.next_set();
        Some(sender)
    }

    /// Returns the number of the block to send now.
    pub fn poll_block(&mut self, now: Instant) -> Option<u32> {
        if self.pause.is_some_and(|at| at <= now) {
            self.next_set();
        }
        let num = self.queue.pop_front()?;
        if self.queue.is_empty() && self.next < self.blocks {
            self.pause = Some(now + self.timeout);
        }
        Some(num)
    }

    /// Returns the time at which [`poll_block`](Self::poll_block) has another block.
    pub fn poll_at(&self) -> Option<Instant> {
        match self.queue.is_empty() {
            true => self.pause,
            false => Some(Instant::ZERO),
        }
    }

    /// Returns the datagram of block `num` with the application's payload.
    pub fn message(&mut self, num: u32, payload: &[u8]) -> Vec<u8> {
        let mut packet = Request {
            query: self.query.clone(),
            ..Request::new(RequestType::Put, &self.path)
        }
        .packet();
        packet.header.set_type(MessageType::NonConfirmable);
        packet.header.message_id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        // RFC 9177 §6: each message is a separate request.
        let mut token = self.tag.to_be_bytes().to_vec();
        token.extend((self.rng.next_u32() as u16).to_be_bytes());
        packet.set_token(token);
        let more = num.saturating_add(1) < self.blocks;
        let size = self.config.block;
        Block { num, more, size }.write(&mut packet, Q_BLOCK1);
        packet.add_option(REQUEST_TAG, self.tag.to_be_bytes().to_vec());
        let size1 = u32::try_from(self.bytes).unwrap_or(u32::MAX);
        packet.add_option(CoapOption::Size1, uint(size1));
        packet.payload = payload.to_vec();
        encode(&packet)
    }

    /// Handles a datagram of the server.
    pub fn input(&mut self, datagram: &[u8]) -> QuickAnswer {
        let Ok((mut packet, Class::Response)) = decode(datagram) else {
            return QuickAnswer::Unrelated;
        };
        if !packet.get_token().starts_with(&self.tag.to_be_bytes()) || check(&mut packet).is_err() {
            return QuickAnswer::Unrelated;
        }
        let format = read_uint(&packet, CoapOption::ContentFormat);
        match packet.header.code {
            MessageClass::Response(ResponseType::Continue) => {
                // The server has all blocks up to the number in this answer. If it has all blocks
                // sent so far, the next set follows at once.
                let num = block(&packet).map(|block| block.num.saturating_add(1));
                if num.is_some_and(|end| end >= self.next) && self.queue.is_empty() {
                    self.next_set();
                }
                QuickAnswer::Continue
            }
            MessageClass::Response(ResponseType::RequestEntityIncomplete)
                if format == Some(MISSING_BLOCKS.into()) =>
            {
                // RFC 9177 §7.2: the sending of missing blocks is "restricted to those in a
                // MAX_PAYLOADS_SET at a time".
                let most = self.config.max_payloads.max(1).into();
                let missing = read_missing(&packet.payload, most).unwrap_or_default();
                let is_sent = |num: &u32| *num < self.next;
                let known: Vec<u32> = missing.into_iter().filter(is_sent).collect();
                if known.is_empty() && self.queue.is_empty() {
                    // The server has all blocks that were sent, and waits for more.
                    self.next_set();
                }
                let is_new = |num: &u32| !self.queue.contains(num);
                let again: Vec<u32> = known.into_iter().filter(is_new).collect();
                // Missing blocks go before the rest of a set.
                for num in again.into_iter().rev() {
                    self.queue.push_front(num);
                }
                if !self.queue.is_empty() {
                    self.pause = None;
                }
                QuickAnswer::Continue
            }
            MessageClass::Response(status) if !status.is_error() => QuickAnswer::Done,
            _ => QuickAnswer::Refused,
        }
    }

    fn next_set(&mut self) {
        let end = self.config.set_end(self.next).min(self.blocks);
        self.queue.extend(self.next..end);
        self.next = end;
        self.pause = None;
    }
}
