//! The header of hop-by-hop options (RFC 8200 §4.3).

use super::{Ipv6Header, next_header};

/// Returns the length of the first hop-by-hop header of a packet; 0 if it has none, or only a part.
pub fn hop_by_hop_len(packet: &[u8]) -> usize {
    let Some((header, rest)) = packet.split_at_checked(Ipv6Header::LEN) else {
        return 0;
    };
    match (header.get(6), rest) {
        (Some(&next_header::HOP_BY_HOP), &[_, units, ..]) => {
            let len = usize::from(units).saturating_add(1).saturating_mul(8);
            if rest.len() < len { 0 } else { len }
        }
        _ => 0,
    }
}
