//! The sender of a transfer that the receiver drives: it answers the receiver's queries.

use redpoll_base::{Instant, Rng};

use super::Config;
use super::exchange::{Exchange, Heard};
use super::message::{Body, Message};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Position of the block in the image, in bytes.
    pub offset: u64,
    pub len: usize,
}

/// The transfers of a receiver, one after the other; see the [module](super).
#[derive(Clone, Debug)]
pub struct Provider {
    config: Config,
    rng: Rng,
    bytes: u64,
    transfer: Option<Transfer>,
}

#[derive(Clone, Debug)]
struct Transfer {
    exchange: Exchange,
    begin: u64,
    block: u16,
    wanted: Option<u32>,
    /// Length of the block in transit, in bytes.
    under_way: u64,
}

impl Provider {
    /// Makes a provider for an image with `bytes` bytes, below 2^32.
    pub fn new(config: Config, rng: Rng, bytes: u64) -> Provider {
        Provider {
            config,
            rng,
            bytes,
            transfer: None,
        }
    }

    /// Handles a received datagram; arbitrary bytes are safe. Returns which block is requested; the
    /// caller passes the bytes of this block to [`give`](Self::give).
    pub fn input(&mut self, now: Instant, datagram: &[u8]) -> Option<Wanted> {
        let message = Message::read(datagram)?;
        let is_known = |it: &Transfer| it.exchange.id() == message.exchange;
        let is_begun = self.transfer.as_ref().is_some_and(is_known);
        if let (Body::ReceiveInit { block, offset }, false) = (message.body, is_begun) {
            self.begin(block, offset, &message);
        }
        let bytes = self.bytes;
        let transfer = self.transfer.as_mut()?;
        let Heard::New(body) = transfer.exchange.input(now, &message) else {
            return None;
        };
        match body {
            Body::ReceiveInit { .. } => {
                let length = u32::try_from(bytes - transfer.begin).unwrap_or(u32::MAX);
                let block = transfer.block;
                transfer.under_way = 0;
                transfer
                    .exchange
                    .send(now, Body::ReceiveAccept { block, length });
                None
            }
            Body::BlockQuery { counter } => {
                let block = u64::from(transfer.block);
                let offset = transfer.begin + u64::from(counter) * block;
                let len = bytes.checked_sub(offset)?.min(block) as usize;
                transfer.wanted = Some(counter);
                Some(Wanted { offset, len })
            }
            _ => None,
        }
    }

    /// Starts a transfer, which replaces the previous one. Ignores a request that cannot be met.
    fn begin(&mut self, block: u16, offset: u32, message: &Message<'_>) {
        let block = block.min(self.config.block).min(super::BLOCK_MAX as u16);
        let begin = u64::from(offset);
        if block == 0 || begin > self.bytes || !message.from_initiator {
            return;
        }
        let rng = Rng::new(self.rng.next_u64());
        let exchange = Exchange::new(self.config, rng, message.exchange, false);
        self.transfer = Some(Transfer {
            exchange,
            begin,
            block,
            wanted: None,
            under_way: 0,
        });
    }

    pub fn give(&mut self, now: Instant, bytes: &[u8]) {
        let Some(transfer) = &mut self.transfer else {
            return;
        };
        let Some(counter) = transfer.wanted.take() else {
            return;
        };
        let end = transfer.begin + u64::from(counter) * u64::from(transfer.block);
        let is_last = end + bytes.len() as u64 >= self.bytes;
        transfer.under_way = bytes.len() as u64;
        transfer.exchange.send(
            now,
            Body::Block {
                counter,
                bytes,
                is_last,
            },
        );
    }

    /// Writes the next datagram to `out`, which has [`DATAGRAM_MAX`](super::DATAGRAM_MAX) bytes;
    /// returns its length.
    pub fn poll_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        self.transfer.as_mut()?.exchange.poll_datagram(out)
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) is to be called.
    pub fn poll_at(&self) -> Option<Instant> {
        self.transfer.as_ref()?.exchange.poll_at()
    }

    /// Handles a timeout: retransmits a message, sends an acknowledgment, or gives up. Returns the
    /// number of retransmitted bytes of the image.
    pub fn on_timeout(&mut self, now: Instant) -> u64 {
        let Some(transfer) = &mut self.transfer else {
            return 0;
        };
        let before = transfer.exchange.repeats;
        transfer.exchange.on_timeout(now);
        u64::from(transfer.exchange.repeats - before) * transfer.under_way
    }
}
