//! Response bodies that are sent in blocks (RFC 7959 §2.4). They are stored until the client has
//! requested all blocks, so that all blocks are of one version.

use alloc::vec::Vec;
use redpoll_base::{Duration, Instant};

use crate::assembly::Resource;
use crate::request::Response;

#[derive(Debug)]
struct Representation {
    resource: Resource,
    response: Response,
    touched: Instant,
}

/// See the [module](self). The least recently used representation is replaced first.
#[derive(Debug)]
pub(crate) struct Representations {
    kept: Vec<Representation>,
    most: usize,
    lifetime: Duration,
}

impl Representations {
    pub(crate) fn new(most: usize, lifetime: Duration) -> Representations {
        Representations {
            kept: Vec::new(),
            most: most.max(1),
            lifetime,
        }
    }

    pub(crate) fn keep(&mut self, now: Instant, resource: Resource, response: Response) {
        self.forget(&resource);
        if self.kept.len() >= self.most {
            self.kept.remove(0);
        }
        self.kept.push(Representation {
            resource,
            response,
            touched: now,
        });
    }

    pub(crate) fn get(&mut self, now: Instant, resource: &Resource) -> Option<&Response> {
        let lifetime = self.lifetime;
        self.kept.retain(|kept| kept.touched + lifetime > now);
        let index = self
            .kept
            .iter()
            .position(|kept| kept.resource == *resource)?;
        let mut found = self.kept.remove(index);
        found.touched = now;
        self.kept.push(found);
        self.kept.last().map(|kept| &kept.response)
    }

    pub(crate) fn forget(&mut self, resource: &Resource) {
        self.kept.retain(|kept| kept.resource != *resource);
    }
}

/// Returns the ETag of a body. Eight bytes are allowed; four distinguish the versions of one
/// resource (RFC 7252 §5.10.6).
pub(crate) fn etag(body: &[u8]) -> Vec<u8> {
    // FNV-1a.
    let hash = body.iter().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    hash.to_be_bytes().to_vec()
}
