//! Headers of forwarded packets.

use redpoll_wire::Cursor;
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::sixlowpan::{Contexts, iphc};

use super::Onward;
use crate::receive::Piece;
use crate::transmit::udp_header;

/// Rewrites a first fragment: decrements the hop limit (RFC 8200 §3), and compresses the headers
/// for the next link. `None` if the rewritten fragment does not fit into `out`.
pub(super) fn rewrite(
    out: &mut Cursor<'_>,
    header: &Ipv6Header,
    piece: &Piece<'_>,
    onward: Onward,
    contexts: &Contexts,
) -> Option<()> {
    let header = Ipv6Header {
        hop_limit: header.hop_limit.checked_sub(1)?,
        ..*header
    };
    let udp = match piece.head.get(Ipv6Header::LEN..)?.first_chunk::<8>() {
        Some(bytes) if header.next_header == next_header::UDP => Some(udp_header(bytes)),
        _ => None,
    };
    let upper = match &udp {
        Some(udp) => iphc::Upper::Udp(udp),
        None => iphc::Upper::Other,
    };
    let (src, dst) = (onward.link_src, onward.next_hop);
    let done = iphc::compress(&header, upper, src, dst, contexts, out).ok()?;
    out.put(piece.head.get(done.uncompressed_len..)?).ok()?;
    out.put(piece.body).ok()
}
