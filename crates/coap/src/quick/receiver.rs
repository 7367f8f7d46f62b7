//! The server's side: the received and the missing blocks (RFC 9177 §4.3, §7.2).

use alloc::string::String;
use alloc::vec::Vec;

use coap_lite::{CoapOption, MessageClass, MessageType, Packet, RequestType, ResponseType};
use redpoll_base::Instant;

use super::message::{MISSING_BLOCKS, Q_BLOCK1, REQUEST_TAG, block, check, write_missing};
use super::{QUICK_BLOCKS_MAX, QuickConfig};
use crate::block::{Block, read_uint, uint};
use crate::message::{Class, Peer, decode, encode};
use crate::request::Incoming;

/// A block that has arrived for the first time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Path to which the block was put, without its query.
    pub path: String,
    /// Query of this path.
    pub query: String,
    /// Position of the block in its body, in bytes.
    pub offset: u64,
    /// Bytes of the block.
    pub payload: Vec<u8>,
    /// Size of the whole body in bytes.
    pub bytes: u64,
    /// Whether the body is complete with this block.
    pub is_whole: bool,
}

/// Receives up to four bodies at a time: one more body replaces the body that has been silent for
/// longest. The application gets each block when it arrives.
#[derive(Debug)]
pub struct QuickReceiver {
    config: QuickConfig,
    next_id: u16,
    /// Bodies in reception. The body whose blocks arrived last is at the end.
    bodies: Vec<Body>,
    datagrams: Vec<(Peer, Vec<u8>)>,
}

#[derive(Debug)]
struct Body {
    from: Peer,
    tag: Vec<u8>,
    bytes: u64,
    blocks: u32,
    /// The blocks that have arrived, a bit for each block.
    there: Vec<u64>,
    missing: u32,
    /// All blocks below this number have arrived, and their sender was informed.
    told: u32,
    /// Number of the first block after the last set of which a block has arrived.
    latest: u32,
    token: Vec<u8>,
    heard: Instant,
    asked: u8,
}

impl Body {
    fn has(&self, num: u32) -> bool {
        let word = self.there.get(num as usize / 64);
        word.is_some_and(|word| word >> (num % 64) & 1 == 1)
    }

    /// Records the arrival of block `num`; returns whether it is new.
    fn mark(&mut self, num: u32) -> bool {
        if self.has(num) {
            return false;
        }
        if let Some(word) = self.there.get_mut(num as usize / 64) {
            *word |= 1 << (num % 64);
            self.missing = self.missing.saturating_sub(1);
        }
        true
    }

    fn missing_below(&self, end: u32) -> impl Iterator<Item = u32> {
        (self.told..end.min(self.blocks)).filter(|num| !self.has(*num))
    }
}

impl QuickReceiver {
    /// Returns a receiver whose message IDs begin with `first_id`.
    pub fn new(config: QuickConfig, first_id: u16) -> QuickReceiver {
        QuickReceiver {
            config,
            next_id: first_id,
            bodies: Vec::new(),
            datagrams: Vec::new(),
        }
    }

    /// Returns whether a datagram is a request with Q-Block1. Pass such a datagram to
    /// [`input`](Self::input), any other to an [`Endpoint`](crate::Endpoint).
    pub fn is_for(datagram: &[u8]) -> bool {
        let request = decode(datagram).ok().filter(|it| it.1 == Class::Request);
        request.is_some_and(|(packet, _)| packet.get_option(Q_BLOCK1).is_some())
    }

    /// Handles a received datagram; arbitrary bytes are safe. Returns its block if that is new.
    pub fn input(&mut self, now: Instant, from: Peer, datagram: &[u8]) -> Option<Taken> {
        let (mut packet, _) = decode(datagram).ok().filter(|it| it.1 == Class::Request)?;
        // RFC 9177 §4.1: a non-confirmable message is ignored if one of its options is not
        // understood.
        check(&mut packet).ok()?;
        let block = block(&packet)?;
        let incoming = Incoming::read(&packet, false)?;
        if incoming.method != RequestType::Put {
            self.respond(from, packet.get_token(), ResponseType::MethodNotAllowed);
            return None;
        }
        let tag = packet.get_first_option(REQUEST_TAG).cloned();
        let bytes = read_uint(&packet, CoapOption::Size1).map(u64::from);
        let (Some(tag), Some(bytes)) = (tag, bytes) else {
            // RFC 9177 §4.3: 4.00 "MUST be returned if the request does not include a Request-Tag
            // option or a Size1 option".
            self.respond(from, packet.get_token(), ResponseType::BadRequest);
            return None;
        };
        let fits = block.size == self.config.block && block.fits(&packet.payload);
        let end = block.offset() as u64 + packet.payload.len() as u64;
        let is_last = end == bytes;
        let blocks = self.config.blocks(bytes).unwrap_or(0);
        if !fits || block.num >= blocks || end > bytes || block.more == is_last {
            let status = match blocks {
                0 => ResponseType::RequestEntityTooLarge,
                _ => ResponseType::BadRequest,
            };
            self.respond(from, packet.get_token(), status);
            return None;
        }
        let is_same = |body: &Body| (body.from, &body.tag, body.bytes) == (from, &tag, bytes);
        // RFC 9177 §4.3: the server continues all bodies with different Request-Tags, "as it has no
        // way of determining which is the latest".
        let known = self.bodies.iter().position(is_same);
        let mut body = match known {
            Some(index) => self.bodies.remove(index),
            None => Body {
                from,
                tag,
                bytes,
                blocks,
                there: vec![0; blocks.min(QUICK_BLOCKS_MAX).div_ceil(64) as usize],
                missing: blocks,
                told: 0,
                latest: 0,
                token: Vec::new(),
                heard: now,
                asked: 0,
            },
        };
        body.token = packet.get_token().to_vec();
        body.heard = now;
        let is_new = body.mark(block.num);
        if is_new {
            body.asked = 0;
        }
        let is_whole = is_new && body.missing == 0;
        self.answer(&mut body, block.num, is_new);
        if self.bodies.len() >= BODIES {
            self.bodies.remove(0);
        }
        self.bodies.push(body);
        is_new.then_some(Taken {
            path: incoming.path,
            query: incoming.query,
            offset: block.offset() as u64,
            payload: packet.payload,
            bytes,
            is_whole,
        })
    }

    /// Answers a block. RFC 9177 §4.3: a repeated block is answered like a new one.
    fn answer(&mut self, body: &mut Body, num: u32, is_new: bool) {
        let (from, token) = (body.from, body.token.clone());
        if body.missing == 0 {
            return self.respond(from, &token, ResponseType::Changed);
        }
        let set_end = self.config.set_end(num);
        let begins_set = set_end > body.latest;
        // RFC 9177 §7.2: "On receipt of a payload from the next MAX_PAYLOADS_SET, the server SHOULD
        // send a 4.08"; this server sends it once per set.
        if begins_set {
            let before = core::mem::replace(&mut body.latest, set_end);
            if body.missing_below(before).next().is_some() {
                return self.ask(body, before);
            }
        }
        let latest = body.latest.min(body.blocks);
        let is_news = body.told < latest || !is_new;
        if is_news && body.missing_below(latest).next().is_none() {
            body.told = latest;
            let mut packet = Packet::new();
            packet.header.code = MessageClass::Response(ResponseType::Continue);
            let size = self.config.block;
            let num = latest.saturating_sub(1);
            Block {
                num,
                more: true,
                size,
            }
            .write(&mut packet, Q_BLOCK1);
            self.send(from, &token, packet);
        }
    }

    /// Requests missing blocks below `end`, at most MAX_PAYLOADS blocks.
    fn ask(&mut self, body: &Body, end: u32) {
        let (from, token) = (body.from, body.token.clone());
        let most = self.config.max_payloads.max(1).into();
        let mut packet = Packet::new();
        packet.header.code = MessageClass::Response(ResponseType::RequestEntityIncomplete);
        packet.add_option(CoapOption::ContentFormat, uint(MISSING_BLOCKS.into()));
        packet.payload = write_missing(body.missing_below(end).take(most));
        self.send(from, &token, packet);
    }

    /// Returns the next datagram to send, and where to.
    pub fn poll_datagram(&mut self) -> Option<(Peer, Vec<u8>)> {
        match self.datagrams.is_empty() {
            true => None,
            false => Some(self.datagrams.remove(0)),
        }
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) is to be called.
    pub fn poll_at(&self) -> Option<Instant> {
        self.bodies.iter().filter_map(|body| self.due(body)).min()
    }

    /// Returns the time at which the missing blocks of a body are to be requested. RFC 9177 §7.2:
    /// the wait is NON_RECEIVE_TIMEOUT * 2^(Re-Request-Count - 1).
    fn due(&self, body: &Body) -> Option<Instant> {
        let wait = self.config.non_receive_timeout();
        let wait = wait.times(1 << body.asked.min(10));
        (body.missing > 0).then(|| body.heard + wait)
    }

    /// Requests missing blocks again; drops a body after NON_MAX_RETRANSMIT unanswered requests.
    pub fn on_timeout(&mut self, now: Instant) {
        let is_due = |it: &Self, body: &Body| it.due(body).is_some_and(|at| at <= now);
        while let Some(index) = self.bodies.iter().position(|body| is_due(self, body)) {
            let mut body = self.bodies.remove(index);
            if body.asked >= self.config.non_max_retransmit {
                continue;
            }
            body.asked += 1;
            body.heard = now;
            // The request covers all sets of which a block has arrived. If no block of these sets
            // is missing, the request covers the next set.
            let has_all = body.missing_below(body.latest).next().is_none();
            let end = match has_all {
                true => self.config.set_end(body.latest),
                false => body.latest,
            };
            self.ask(&body, end);
            self.bodies.insert(index, body);
        }
    }

    fn respond(&mut self, to: Peer, token: &[u8], status: ResponseType) {
        let mut packet = Packet::new();
        packet.header.code = MessageClass::Response(status);
        self.send(to, token, packet);
    }

    fn send(&mut self, to: Peer, token: &[u8], mut packet: Packet) {
        packet.header.set_type(MessageType::NonConfirmable);
        packet.header.message_id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        packet.set_token(token.to_vec());
        if self.datagrams.len() < QUEUE {
            self.datagrams.push((to, encode(&packet)));
        }
    }
}

const BODIES: usize = 4;
const QUEUE: usize = 16;
