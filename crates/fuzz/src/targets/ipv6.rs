//! IPv6 headers and extension headers (RFC 8200), and modifications in place.

use redpoll_wire::ipv6::{self, Ipv6Header};

pub fn run(bytes: &[u8]) {
    if let Ok((header, payload)) = Ipv6Header::parse(bytes) {
        assert!(bytes.starts_with(&header.to_bytes()));
        assert_eq!(payload.len(), usize::from(header.payload_len));
        if let Ok((_, at)) = ipv6::skip_extension_headers(header.next_header, payload) {
            assert!(at <= payload.len());
        }
    }
    let mut packet = bytes.to_vec();
    let ecn = ipv6::ecn(&packet);
    let marked = ipv6::mark_ce(&mut packet);
    assert_eq!(marked, ecn.is_some_and(|ecn| ecn.is_capable()));
    assert_ne!(ipv6::decrement_hop_limit(&mut packet), Some(0));
}
