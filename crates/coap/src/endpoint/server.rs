//! Requests of peers: an endpoint refuses or assembles them, passes them to the application, and
//! answers in time (RFC 7252 §5.2, §5.8; RFC 7959). A long answer goes only to a verified address
//! (RFC 9175 §2.6).

use alloc::string::String;
use alloc::vec::Vec;
use coap_lite::{CoapOption, MessageClass, MessageType, Packet, RequestType, ResponseType};
use redpoll_base::Instant;

use super::{Endpoint, Event, IncomingId};
use crate::assembly::{Progress, Resource};
use crate::block::{Block, BlockSize, Part, read_uint, uint};
use crate::echo::ECHO;
use crate::message::{MessageId, Peer, empty, encode};
use crate::options;
use crate::reliable::Cargo;
use crate::representations::etag;
use crate::request::{Incoming, Response};

/// Maximum number of bytes of the Block2 option, the ETag option and the payload marker.
const BESIDE: usize = 14;
/// Maximum number of bytes of a response in addition to its block; this includes the Echo option.
const AROUND: usize = 40;

#[derive(Debug)]
pub(super) struct Served {
    id: IncomingId,
    asked: Asked,
    /// Time at which the request is acknowledged by an Empty message; `None` if it has been
    /// acknowledged, or needs no acknowledgement.
    alone_at: Option<Instant>,
}

/// The part of a request that its response needs.
#[derive(Debug)]
struct Asked {
    from: Peer,
    message: MessageId,
    token: Vec<u8>,
    confirmable: bool,
    /// Whether the request was sent to a group.
    is_for_group: bool,
    /// The classes of responses that are not wanted (RFC 7967 §2.1).
    unwanted: u32,
    resource: Resource,
    accept: Option<u16>,
    block1: Option<Block>,
    block2: Option<Block>,
    verified: bool,
}

impl Served {
    pub(super) fn alone_at(&self) -> Option<Instant> {
        self.alone_at
    }
}

impl Asked {
    fn is_get(&self) -> bool {
        self.resource.method == u8::from(MessageClass::Request(RequestType::Get))
    }

    fn is_unwanted(&self, status: ResponseType) -> bool {
        let class = u8::from(MessageClass::Response(status)) >> 5;
        // Bit 1 for class 2, bit 3 for class 4, bit 4 for class 5.
        class > 0 && self.unwanted >> (class - 1) & 1 == 1
    }
}

impl Endpoint {
    /// Answers the request `id`: in its acknowledgement if that has not been sent, otherwise in a
    /// separate message (RFC 7252 §5.2). A long body is sent in blocks. An unknown `id` is ignored.
    pub fn respond(&mut self, now: Instant, id: IncomingId, response: Response) {
        let Some(index) = self.served.iter().position(|served| served.id == id) else {
            return;
        };
        let Served {
            asked, alone_at, ..
        } = self.served.swap_remove(index);
        // RFC 7252 §5.10.4: if the preferred Content-Format cannot be returned, the answer is 4.06
        // (Not Acceptable).
        let is_acceptable = !response.is_success()
            || asked.accept.is_none()
            || response.content_format.is_none()
            || asked.accept == response.content_format;
        let response = match is_acceptable {
            true => response,
            false => Response::new(ResponseType::NotAcceptable),
        };
        let is_piggybacked = asked.confirmable && alone_at.is_some();
        let packet = self.in_blocks(now, &asked, response);
        self.send_response(now, &asked, packet, is_piggybacked);
    }

    pub(super) fn on_request(
        &mut self,
        now: Instant,
        from: Peer,
        mut packet: Packet,
        is_for_group: bool,
    ) {
        let confirmable = packet.header.get_type() == MessageType::Confirmable;
        let message = packet.header.message_id;
        let proxy = options::asks_for_proxy(&packet);
        let bad_option = options::check(&mut packet).err();
        // RFC 7252 §5.4.1: a confirmable request with a bad option gets 4.02, and a non-confirmable
        // one is rejected.
        if bad_option.is_some() && !proxy && !confirmable {
            return self.reject(from, message, confirmable);
        }
        let read = Incoming::read(&packet, confirmable);
        let blocks = Block::read(&packet, CoapOption::Block1)
            .and_then(|one| Ok((one, Block::read(&packet, CoapOption::Block2)?)));
        let (block1, block2) = blocks.unwrap_or_default();
        let incoming = read.as_ref();
        if let Some(value) = packet.get_first_option(CoapOption::from(ECHO)) {
            self.verified.on_echo(now, from, value);
        }
        let asked = Asked {
            from,
            message,
            token: packet.get_token().to_vec(),
            confirmable,
            is_for_group,
            unwanted: read_uint(&packet, CoapOption::NoResponse).unwrap_or(0),
            resource: Resource {
                peer: from,
                method: packet.header.code.into(),
                path: incoming.map_or(String::new(), |incoming| incoming.path.clone()),
                query: incoming.map_or(String::new(), |incoming| incoming.query.clone()),
            },
            accept: incoming.and_then(|incoming| incoming.accept),
            block1,
            block2,
            verified: self.verified.contains(now, from),
        };
        let refused = |status| Response::new(status);
        let method_is_known = matches!(packet.header.code, MessageClass::Request(_));
        let refusal = if proxy {
            // RFC 7252 §5.10.2: a server that does not act as a proxy answers 5.05.
            Some(refused(ResponseType::ProxyingNotSupported))
        } else if let Some(number) = bad_option {
            let text = format!("option {number}");
            Some(refused(ResponseType::BadOption).with_payload(text))
        } else if !method_is_known {
            // RFC 7252 §5.8: an unknown method gets 4.05.
            Some(refused(ResponseType::MethodNotAllowed))
        } else if read.is_none() {
            Some(refused(ResponseType::BadOption).with_payload("not UTF-8"))
        } else if blocks.is_err() {
            // RFC 7959 §2.2: the block size SZX 7 is reserved.
            Some(refused(ResponseType::BadRequest))
        } else {
            None
        };
        match (refusal, read) {
            (None, Some(incoming)) => self.take_request(now, asked, incoming, packet),
            (refusal, _) => {
                let response = refusal.unwrap_or(refused(ResponseType::BadRequest));
                self.send_response(now, &asked, response.packet(), confirmable);
            }
        }
    }

    /// Handles a valid request: stores its block of a body, sends a block of a stored response, or
    /// passes the request to the application.
    fn take_request(&mut self, now: Instant, asked: Asked, mut incoming: Incoming, packet: Packet) {
        let confirmable = asked.confirmable;
        let size1 = read_uint(&packet, CoapOption::Size1);
        incoming.payload = packet.payload;
        if let Some(block) = asked.block1.filter(|_| self.config.takes_parts) {
            if !block.fits(&incoming.payload) {
                let packet = self.block_answer(ResponseType::BadRequest, block);
                return self.send_response(now, &asked, packet, confirmable);
            }
            let Block { num, more, size } = block;
            incoming.part = Some(Part { num, more, size });
        } else if let Some(block) = asked.block1 {
            let is_hopeless = size1.is_some_and(|size| size as usize > self.config.max_body);
            let progress = match is_hopeless {
                true => Progress::TooLarge,
                false => self.assemblies.add(
                    now,
                    asked.resource.clone(),
                    incoming.content_format,
                    block,
                    &incoming.payload,
                ),
            };
            let refused = match progress {
                Progress::Whole(body) => {
                    incoming.payload = body;
                    None
                }
                Progress::Continue => Some(ResponseType::Continue),
                Progress::BadBlock => Some(ResponseType::BadRequest),
                Progress::Incomplete => Some(ResponseType::RequestEntityIncomplete),
                Progress::TooLarge => Some(ResponseType::RequestEntityTooLarge),
            };
            if let Some(status) = refused {
                let packet = self.block_answer(status, block);
                return self.send_response(now, &asked, packet, confirmable);
            }
        } else if incoming.payload.len() > self.config.max_body {
            let mut packet = Response::new(ResponseType::RequestEntityTooLarge).packet();
            self.tell_limit(&mut packet);
            return self.send_response(now, &asked, packet, confirmable);
        }
        if asked.block2.is_some_and(|block| block.num > 0) {
            let known = self.representations.get(now, &asked.resource).cloned();
            let is_safe = incoming.method == RequestType::Get;
            match known {
                Some(response) => {
                    let packet = self.in_blocks(now, &asked, response);
                    return self.send_response(now, &asked, packet, confirmable);
                }
                // A GET can be processed again. Any other request is refused, because it may have
                // been processed already.
                None if is_safe => {}
                None => {
                    let status = ResponseType::RequestEntityIncomplete;
                    let packet = Response::new(status).packet();
                    return self.send_response(now, &asked, packet, confirmable);
                }
            }
        }
        if self.served.len() >= self.config.max_served {
            let packet = Response::new(ResponseType::ServiceUnavailable).packet();
            return self.send_response(now, &asked, packet, confirmable);
        }
        let id = IncomingId(self.take_serial());
        let from = asked.from;
        self.served.push(Served {
            id,
            asked,
            alone_at: confirmable.then(|| now + self.config.piggyback_within),
        });
        self.events.push_back(Event::Request {
            id,
            from,
            request: incoming,
        });
    }

    /// Returns the answer to a block that is refused or is not the last. RFC 7959 §2.3: SZX gives
    /// the preferred size.
    fn block_answer(&self, status: ResponseType, block: Block) -> Packet {
        let mut packet = Response::new(status).packet();
        let size = block.size.min(self.config.block);
        Block { size, ..block }.write(&mut packet, CoapOption::Block1);
        if status == ResponseType::RequestEntityTooLarge {
            self.tell_limit(&mut packet);
        }
        packet
    }

    /// Adds the largest accepted size to a 4.13 response (RFC 7959 §2.9.3).
    fn tell_limit(&self, packet: &mut Packet) {
        let limit = u32::try_from(self.config.max_body).unwrap_or(u32::MAX);
        packet.add_option(CoapOption::Size1, uint(limit));
    }

    fn in_blocks(&mut self, now: Instant, asked: &Asked, response: Response) -> Packet {
        let body = response.payload.as_slice();
        let mut packet = response.packet();
        if let Some(block) = asked.block1 {
            let size = block.size.min(self.config.block);
            // RFC 7959 §2.3: M unset says that the block was acted upon by itself.
            let more = block.more && !self.config.takes_parts;
            Block {
                size,
                more,
                ..block
            }
            .write(&mut packet, CoapOption::Block1);
        }
        // RFC 7959 §2.4: a server must use "the block size indicated or a smaller size". A peer
        // with an unverified address gets small blocks, except for a GET with a short answer.
        let wanted = asked.block2.map_or(self.config.block, |block| block.size);
        let usual = wanted.min(self.config.block);
        let offset = asked.block2.map_or(0, Block::offset);
        let may_be_long = asked.is_get() && {
            let rest = body.len().saturating_sub(offset).min(usual.bytes());
            encode(&packet).len() + rest + BESIDE <= self.config.initial_response
        };
        let largest = match asked.verified || may_be_long {
            true => BlockSize::LARGEST,
            false => BlockSize::at_most(self.config.initial_response.saturating_sub(AROUND)),
        };
        let size = usual.min(largest);
        let fits = body.len() <= size.bytes();
        if fits && asked.block2.is_none() {
            packet.payload = response.payload;
            return packet;
        }
        let Some((block, slice)) =
            Block::at(offset, size, body.len()).and_then(|block| Some((block, block.of(body)?)))
        else {
            // The requested block starts beyond the end of the body.
            return Response::new(ResponseType::BadRequest).packet();
        };
        block.write(&mut packet, CoapOption::Block2);
        packet.payload = slice.to_vec();
        if block.more || offset > 0 {
            packet.add_option(CoapOption::ETag, etag(body));
        }
        let is_reduced = asked.is_get() && block.more && size < usual;
        if is_reduced {
            // RFC 9175 §2.2: a client that repeats the Echo value gets larger blocks. A client that
            // does not repeat it continues with small blocks.
            self.counters.challenges += 1;
            let value = self.verified.value(now, asked.from);
            packet.add_option(CoapOption::from(ECHO), value);
        }
        if block.more && !is_reduced {
            self.representations
                .keep(now, asked.resource.clone(), response);
        } else {
            self.representations.forget(&asked.resource);
        }
        packet
    }

    /// Returns whether a response is too long for a peer with an unverified address.
    fn is_challenged(&self, asked: &Asked, packet: &Packet) -> bool {
        let may_be = !asked.verified && asked.is_get();
        may_be && encode(packet).len() > self.config.initial_response
    }

    /// Returns a response with an Echo value. An unverified peer gets it instead of the
    /// application's response. RFC 9175 §2.3: the peer repeats its request with this value.
    fn challenge(&mut self, now: Instant, asked: &Asked) -> Packet {
        self.counters.challenges += 1;
        let mut packet = Response::new(ResponseType::Unauthorized).packet();
        let value = self.verified.value(now, asked.from);
        packet.add_option(CoapOption::from(ECHO), value);
        packet
    }

    /// Sends a response: in the acknowledgement if the request is not acknowledged yet, otherwise
    /// in a separate message.
    fn send_response(&mut self, now: Instant, asked: &Asked, packet: Packet, piggybacked: bool) {
        let is_challenged = self.is_challenged(asked, &packet);
        let mut packet = match is_challenged {
            true => self.challenge(now, asked),
            false => packet,
        };
        packet.set_token(asked.token.clone());
        let is_unwanted = match packet.header.code {
            MessageClass::Response(status) => asked.is_unwanted(status),
            _ => false,
        };
        if piggybacked {
            let datagram = if is_unwanted {
                empty(MessageType::Acknowledgement, asked.message)
            } else {
                packet.header.set_type(MessageType::Acknowledgement);
                packet.header.message_id = asked.message;
                encode(&packet)
            };
            self.answer(asked.from, asked.message, datagram);
        } else if asked.is_for_group {
            // RFC 7252 §8.2: a multicast request gets no errors, which many servers would send.
            if !is_unwanted && !is_error(&packet) {
                self.delay(now, asked.from, packet);
            }
        } else if !is_unwanted {
            // RFC 7252 §5.2.3: a response is as reliable as its request; RFC 9175 §2.4,
            // item 3: a challenge is never repeated.
            let confirmable = asked.confirmable && !is_challenged;
            self.send_message(now, asked.from, packet, confirmable, Cargo::Response);
        }
    }

    /// Acknowledges requests that the application takes long to answer, before their senders repeat
    /// them (RFC 7252 §5.2.2).
    pub(super) fn acknowledge_alone(&mut self, now: Instant) {
        let is_due = |served: &Served| served.alone_at.is_some_and(|at| at <= now);
        while let Some(index) = self.served.iter().position(is_due) {
            let Some(served) = self.served.get_mut(index) else {
                return;
            };
            served.alone_at = None;
            let (from, id) = (served.asked.from, served.asked.message);
            self.answer(from, id, empty(MessageType::Acknowledgement, id));
        }
    }
}

fn is_error(packet: &Packet) -> bool {
    match packet.header.code {
        MessageClass::Response(status) => status.is_error(),
        _ => true,
    }
}
