//! What has the image, but for one over HTTP, which a web server has.

use redpoll_base::Rng;

use super::{bdx, pusher, quick};
use crate::oracle::counting_lines;
use crate::scenario::{ImageProtocol, ImageSourceSpec};
use crate::traffic::App;
use crate::traffic::peers::Peers;

/// Leaves that are served at a time; of more the first one gives way, and asks again.
pub(super) const LEAVES: usize = 64;

/// The source of an image.
pub(in crate::traffic) fn source(spec: &ImageSourceSpec, peers: Peers, rng: Rng) -> Box<dyn App> {
    match spec.protocol {
        ImageProtocol::QBlock => Box::new(quick::Source::new(spec, peers, rng)),
        ImageProtocol::Bdx => Box::new(bdx::Source::new(spec, peers, rng)),
        ImageProtocol::Http | ImageProtocol::Block1 => {
            Box::new(pusher::Pusher::new(spec, peers, rng))
        }
    }
}

/// The bytes of an image of `whole` bytes from `offset` on, at most `len` of them.
pub(super) fn piece(whole: u64, offset: u64, len: usize) -> Vec<u8> {
    let left = usize::try_from(whole.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len.min(left)];
    counting_lines(offset, &mut bytes);
    bytes
}
