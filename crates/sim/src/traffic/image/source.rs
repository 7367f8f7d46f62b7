//! Sources of images, except over HTTP, where a web server has the image.

use redpoll_base::Rng;

use super::{bdx, pusher, quick};
use crate::oracle::counting_lines;
use crate::scenario::{ImageProtocol, ImageSourceSpec};
use crate::traffic::App;
use crate::traffic::peers::Peers;

/// Maximum number of leaves that are served at a time. An additional leaf replaces the leaf that
/// has been served for longest, which later announces itself or requests again.
pub(super) const LEAVES: usize = 64;

pub(in crate::traffic) fn source(spec: &ImageSourceSpec, peers: Peers, rng: Rng) -> Box<dyn App> {
    match spec.protocol {
        ImageProtocol::QBlock => Box::new(quick::Source::new(spec, peers, rng)),
        ImageProtocol::Bdx => Box::new(bdx::Source::new(spec, peers, rng)),
        ImageProtocol::Http | ImageProtocol::Block1 => {
            Box::new(pusher::Pusher::new(spec, peers, rng))
        }
    }
}

pub(super) fn piece(whole: u64, offset: u64, len: usize) -> Vec<u8> {
    let left = usize::try_from(whole.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len.min(left)];
    counting_lines(offset, &mut bytes);
    bytes
}
