//! A request of this endpoint with all its messages: the blocks of its body, and then the blocks of
//! the response (RFC 7959 §2.4, §2.5, §2.7).

use alloc::vec::Vec;
use coap_lite::{CoapOption, Packet, ResponseType};

use crate::block::{Block, BlockSize};
use crate::echo::ECHO;
use crate::request::{Request, Response};

#[derive(Debug)]
pub(crate) struct Transfer {
    request: Request,
    size: BlockSize,
    asks_early: bool,
    max_body: usize,
    phase: Phase,
    /// The value that the server expects in the next message (RFC 9175 §2.2).
    echo: Option<Vec<u8>>,
    /// Whether the server has asked for the option Echo before.
    was_challenged: bool,
}

#[derive(Debug)]
enum Phase {
    /// The request body is being sent. The server has accepted the bytes before `offset`.
    Up { offset: usize, in_blocks: bool },
    Down {
        first: Response,
        etag: Option<Vec<u8>>,
        body: Vec<u8>,
    },
}

/// The action after a response.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Next,
    Done(Response),
    /// The transfer failed, because a response was invalid or too long.
    Broken(Breach),
}

/// The fault of a response that made a transfer fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Breach {
    TooLarge,
    Inconsistent,
}

impl Transfer {
    pub(crate) fn new(
        request: Request,
        size: BlockSize,
        asks_early: bool,
        max_body: usize,
    ) -> Transfer {
        let in_blocks = request.part.is_none() && request.payload.len() > size.bytes();
        Transfer {
            request,
            size,
            asks_early,
            max_body,
            phase: Phase::Up {
                offset: 0,
                in_blocks,
            },
            echo: None,
            was_challenged: false,
        }
    }

    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    pub(crate) fn packet(&self) -> Packet {
        let mut packet = self.request.packet();
        if let Some(value) = &self.echo {
            packet.add_option(CoapOption::from(ECHO), value.clone());
        }
        match &self.phase {
            Phase::Up { offset, in_blocks } => {
                let body = self.request.payload.as_slice();
                let block = Block::at(*offset, self.size, body.len()).filter(|_| *in_blocks);
                packet.payload = match block {
                    Some(block) => {
                        block.write(&mut packet, CoapOption::Block1);
                        block.of(body).unwrap_or_default().to_vec()
                    }
                    None => body.to_vec(),
                };
                if let Some(part) = self.request.part {
                    Block::from(part).write(&mut packet, CoapOption::Block1);
                }
                // RFC 7959 §2.4: the request may state the preferred size of the response blocks.
                // Only the answer to the last block of a request has a body (§2.3).
                if self.asks_early
                    && block.is_none_or(|block| !block.more)
                    && let Some(block) = Block::at(0, self.size, 0)
                {
                    block.write(&mut packet, CoapOption::Block2);
                }
            }
            // RFC 7959 §2.4: the request for a further block has "the same options as the initial
            // request and a Block2 Option". §2.7: it has neither Block1 nor the request body.
            Phase::Down { body, .. } => {
                if let Some(block) = Block::at(body.len(), self.size, 0) {
                    block.write(&mut packet, CoapOption::Block2);
                }
            }
        }
        packet
    }

    pub(crate) fn on_response(&mut self, packet: &Packet) -> Step {
        let (Ok(block1), Ok(block2)) = (
            Block::read(packet, CoapOption::Block1),
            Block::read(packet, CoapOption::Block2),
        ) else {
            return Step::Broken(Breach::Inconsistent);
        };
        let response = Response::read(packet);
        // RFC 9175 §2.3: the client repeats the request once with the server's Echo value. §2.2: a
        // first response block of reduced size may have such a value too. The client then requests
        // the first block again.
        let value = packet.get_first_option(CoapOption::from(ECHO));
        let is_reduced = match &self.phase {
            Phase::Up { in_blocks, .. } => {
                !in_blocks && block2.is_some_and(|block| block.more && block.size < self.size)
            }
            Phase::Down { .. } => false,
        };
        let is_challenge = is_reduced || response.status == ResponseType::Unauthorized;
        let is_first = is_challenge && !self.was_challenged;
        self.echo = value.filter(|_| is_first).cloned();
        if self.echo.is_some() {
            self.was_challenged = true;
            return Step::Next;
        }
        if let Phase::Up { offset, in_blocks } = self.phase
            && let Some(step) = self.on_upload(offset, in_blocks, &response, block1)
        {
            return step;
        }
        self.on_download(packet, response, block2)
    }

    fn on_upload(
        &mut self,
        offset: usize,
        in_blocks: bool,
        response: &Response,
        block1: Option<Block>,
    ) -> Option<Step> {
        let body_len = self.request.payload.len();
        // RFC 7959 §2.9.3: the response 4.13 suggests blocks, or smaller blocks.
        if response.status == ResponseType::RequestEntityTooLarge && self.request.part.is_none() {
            let smaller = match block1 {
                Some(block) if in_blocks => Some(block.size).filter(|size| *size < self.size),
                Some(block) => Some(block.size.min(self.size)),
                None => Some(self.size).filter(|_| !in_blocks),
            };
            let smaller = smaller.filter(|size| size.bytes() < body_len)?;
            self.size = smaller;
            self.phase = Phase::Up {
                offset: 0,
                in_blocks: true,
            };
            return Some(Step::Next);
        }
        if !in_blocks || !response.is_success() {
            return None;
        }
        let taken = offset + self.size.bytes();
        // RFC 7959 §2.3: the server may want smaller blocks from the next one on.
        if let Some(block) = block1 {
            self.size = self.size.min(block.size);
        }
        if taken >= body_len {
            // The code 2.31 (Continue) answers all blocks except the last.
            let is_final = response.status != ResponseType::Continue;
            return (!is_final).then_some(Step::Broken(Breach::Inconsistent));
        }
        self.phase = Phase::Up {
            offset: taken,
            in_blocks,
        };
        Some(Step::Next)
    }

    fn on_download(&mut self, packet: &Packet, response: Response, block: Option<Block>) -> Step {
        let etag = packet.get_first_option(CoapOption::ETag).cloned();
        let expected = match &self.phase {
            Phase::Down { body, .. } => body.len(),
            Phase::Up { .. } => 0,
        };
        let Some(block) = block else {
            return match self.phase {
                // The response is not in blocks, or an error arrived within the blocks.
                Phase::Up { .. } => self.whole(response),
                Phase::Down { .. } if !response.is_success() => Step::Done(response),
                Phase::Down { .. } => Step::Broken(Breach::Inconsistent),
            };
        };
        let is_full = response.payload.len() == block.size.bytes();
        if block.offset() != expected || block.more && !is_full {
            return Step::Broken(Breach::Inconsistent);
        }
        if expected + response.payload.len() > self.max_body {
            return Step::Broken(Breach::TooLarge);
        }
        if let Phase::Up { .. } = self.phase {
            if !block.more {
                return self.whole(response);
            }
            self.phase = Phase::Down {
                first: Response {
                    payload: Vec::new(),
                    ..response.clone()
                },
                etag: etag.clone(),
                body: Vec::new(),
            };
        }
        let Phase::Down {
            first,
            etag: known,
            body,
        } = &mut self.phase
        else {
            return Step::Broken(Breach::Inconsistent);
        };
        // RFC 7959 §2.4: the receiver of the blocks "MUST compare ETag Options". §2.3: it may also
        // end the transfer if their Content-Formats differ.
        if *known != etag || first.content_format != response.content_format {
            return Step::Broken(Breach::Inconsistent);
        }
        body.extend_from_slice(&response.payload);
        // RFC 7959 §2.3: if the request suggested larger blocks than the response has, "the next
        // request MUST move SZX down".
        self.size = block.size;
        if block.more {
            return Step::Next;
        }
        Step::Done(Response {
            payload: core::mem::take(body),
            ..first.clone()
        })
    }

    fn whole(&self, response: Response) -> Step {
        if response.payload.len() > self.max_body {
            return Step::Broken(Breach::TooLarge);
        }
        Step::Done(response)
    }
}
