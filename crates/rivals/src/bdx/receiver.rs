//! The receiver, which drives the transfer: it requests the image, and then block after block.

use redpoll_base::{Instant, Rng};

use super::Config;
use super::exchange::{Exchange, Heard};
use super::message::{Body, Message};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Position of the block in the image, in bytes.
    pub offset: u64,
    pub bytes: &'a [u8],
    pub is_last: bool,
}

/// A transfer; see the [module](super).
#[derive(Clone, Debug)]
pub struct Receiver {
    exchange: Exchange,
    offset: u64,
    /// Number of the requested block; `None` before the transfer is accepted.
    counter: Option<u32>,
    block: u16,
    is_done: bool,
    has_failed: bool,
}

impl Receiver {
    /// Requests an image from byte `offset` on. `offset` is below 2^32.
    pub fn new(now: Instant, config: Config, mut rng: Rng, offset: u64) -> Receiver {
        let id = rng.next_u32() as u16;
        let block = config.block.min(super::BLOCK_MAX as u16);
        let mut exchange = Exchange::new(config, rng, id, true);
        let from = u32::try_from(offset).unwrap_or(u32::MAX);
        exchange.send(
            now,
            Body::ReceiveInit {
                block,
                offset: from,
            },
        );
        Receiver {
            exchange,
            offset,
            counter: None,
            block,
            is_done: false,
            has_failed: false,
        }
    }

    /// Handles a received datagram; arbitrary bytes are safe. Returns the block of the datagram if
    /// it is the next block.
    pub fn input<'a>(&mut self, now: Instant, datagram: &'a [u8]) -> Option<Piece<'a>> {
        let message = Message::read(datagram)?;
        let Heard::New(body) = self.exchange.input(now, &message) else {
            return None;
        };
        match (body, self.counter) {
            (Body::ReceiveAccept { block, .. }, None) if (1..=self.block).contains(&block) => {
                self.block = block;
                self.ask(now, 0);
                None
            }
            (
                Body::Block {
                    counter,
                    bytes,
                    is_last,
                },
                Some(asked),
            ) if counter == asked && !self.is_done => {
                if !is_last && bytes.len() != usize::from(self.block) {
                    self.has_failed = true;
                    return None;
                }
                let offset = self.offset;
                self.offset += bytes.len() as u64;
                match is_last {
                    true => {
                        self.is_done = true;
                        self.exchange.send(now, Body::BlockAckEof { counter });
                    }
                    false => self.ask(now, counter.wrapping_add(1)),
                }
                Some(Piece {
                    offset,
                    bytes,
                    is_last,
                })
            }
            _ => {
                self.has_failed = true;
                None
            }
        }
    }

    fn ask(&mut self, now: Instant, counter: u32) {
        self.counter = Some(counter);
        self.exchange.send(now, Body::BlockQuery { counter });
    }

    /// Returns whether the transfer has failed: a message was not answered, or was invalid.
    pub fn has_failed(&self) -> bool {
        !self.is_done && (self.has_failed || self.exchange.has_failed())
    }

    /// Writes the next datagram to `out`, which has [`DATAGRAM_MAX`](super::DATAGRAM_MAX) bytes;
    /// returns its length.
    pub fn poll_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        self.exchange.poll_datagram(out)
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) is to be called.
    pub fn poll_at(&self) -> Option<Instant> {
        self.exchange.poll_at()
    }

    /// Handles a timeout: retransmits a message, sends an acknowledgment, or gives up.
    pub fn on_timeout(&mut self, now: Instant) {
        self.exchange.on_timeout(now);
    }
}
