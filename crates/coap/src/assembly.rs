//! Reassembly of request bodies that arrive in blocks (RFC 7959 §2.5).

use alloc::string::String;
use alloc::vec::Vec;
use redpoll_base::{Duration, Instant};

use crate::block::Block;
use crate::message::Peer;

/// The transfer to which a block belongs: RFC 7959 §2.5 allows one transfer for each peer and
/// resource at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Resource {
    pub(crate) peer: Peer,
    pub(crate) method: u8,
    pub(crate) path: String,
    pub(crate) query: String,
}

#[derive(Debug)]
struct Assembly {
    resource: Resource,
    content_format: Option<u16>,
    body: Vec<u8>,
    touched: Instant,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// 2.31 (Continue).
    Continue,
    Whole(Vec<u8>),
    /// 4.00 (Bad Request): a block whose payload has another length than the block option states.
    BadBlock,
    /// 4.08 (Request Entity Incomplete): a block out of sequence, or with another Content-Format.
    Incomplete,
    /// 4.13 (Request Entity Too Large).
    TooLarge,
}

#[derive(Debug)]
pub(crate) struct Assemblies {
    under_way: Vec<Assembly>,
    most: usize,
    max_body: usize,
    lifetime: Duration,
}

impl Assemblies {
    pub(crate) fn new(most: usize, max_body: usize, lifetime: Duration) -> Assemblies {
        Assemblies {
            under_way: Vec::new(),
            most,
            max_body,
            lifetime,
        }
    }

    pub(crate) fn add(
        &mut self,
        now: Instant,
        resource: Resource,
        content_format: Option<u16>,
        block: Block,
        payload: &[u8],
    ) -> Progress {
        // RFC 7959 §2.5: clients must not rely on stored blocks after EXCHANGE_LIFETIME. It is
        // counted from the last accepted block.
        let lifetime = self.lifetime;
        self.under_way
            .retain(|assembly| assembly.touched + lifetime > now);
        if !block.fits(payload) {
            return Progress::BadBlock;
        }
        let mut assembly = match self.take(&resource) {
            // RFC 7959 §2.5: a new sequence "simply overwrites" the old one.
            _ if block.num == 0 => {
                if self.under_way.len() >= self.most && !self.evict(block.size.bytes()) {
                    return Progress::TooLarge;
                }
                Assembly {
                    resource,
                    content_format,
                    body: Vec::new(),
                    touched: now,
                }
            }
            Some(assembly) => assembly,
            None => return Progress::Incomplete,
        };
        // Out of sequence (RFC 7959 §2.9.2), or with another Content-Format (RFC 7959 §2.3).
        if assembly.body.len() != block.offset() || assembly.content_format != content_format {
            return Progress::Incomplete;
        }
        if assembly.body.len() + payload.len() > self.max_body {
            return Progress::TooLarge;
        }
        assembly.body.extend_from_slice(payload);
        assembly.touched = now;
        if !block.more {
            return Progress::Whole(assembly.body);
        }
        self.under_way.push(assembly);
        Progress::Continue
    }

    /// Makes room for another transfer: evicts the transfer that has waited longest for its next
    /// block. Transfers that have only a first block of at most `first` bytes are evicted first.
    /// The client of the evicted transfer begins again (RFC 7959 §2.9.2). Returns `false` if no
    /// transfer can be evicted.
    fn evict(&mut self, first: usize) -> bool {
        let transfers = self.under_way.iter().enumerate();
        let rank =
            |(_, assembly): &(usize, &Assembly)| (assembly.body.len() > first, assembly.touched);
        let longest = transfers.min_by_key(rank).map(|(index, _)| index);
        longest.map(|index| self.under_way.remove(index)).is_some()
    }

    fn take(&mut self, resource: &Resource) -> Option<Assembly> {
        let is_it = |assembly: &Assembly| assembly.resource == *resource;
        let index = self.under_way.iter().position(is_it)?;
        Some(self.under_way.swap_remove(index))
    }
}
