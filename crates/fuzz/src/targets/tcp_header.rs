//! TCP headers and option lists (RFC 9293 §3.1). The first byte is the number of bytes that were
//! truncated from the end of the segment.

use redpoll_base::{Addr, Ecn};
use redpoll_tcp::{IpMeta, Segment};
use redpoll_wire::tcp::{HeaderView, OptionItem, is_checksum_valid};

pub fn run(bytes: &[u8]) {
    let Some((missing, segment)) = bytes.split_first() else {
        return;
    };
    let whole = HeaderView::parse(segment);
    let left = segment.len().saturating_sub((*missing).into());
    if let Ok(part) = HeaderView::parse_partial(&segment[..left], segment.len()) {
        let whole = whole.expect("a segment parses if its truncated form does");
        assert_eq!(part.payload_len(), whole.payload_len());
        assert!(whole.payload().starts_with(part.payload()));
        assert!(!part.is_complete() || part.options() == whole.options());
    }
    let addr = Addr::UNSPECIFIED;
    let meta = IpMeta {
        src: addr,
        dst: addr,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    };
    let is_intact = is_checksum_valid(&addr, &addr, segment);
    let read = Segment::parse(&meta, segment);
    assert_eq!(read.is_ok(), whole.is_ok() && is_intact);
    let Ok(header) = whole else { return };
    assert_eq!(Segment::unverified(&header).payload, header.payload());
    let mut left = header.options().0.len();
    let mut is_whole = true;
    for item in header.options().strict() {
        assert!(
            is_whole,
            "the iterator returned an item after the end of the options, or after an error"
        );
        match item {
            Ok(OptionItem::Nop) => left -= 1,
            Ok(OptionItem::Option { value, .. }) => left -= 2 + value.len(),
            Ok(OptionItem::End) | Err(_) => is_whole = false,
        }
    }
    assert_eq!(is_whole, left == 0);
}
