//! Compressed headers (RFC 6282): an expanded header is compressed again without loss, and ECN
//! marking changes only the ECN field.

use redpoll_base::{Addr, Ecn};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::Contexts;
use redpoll_wire::sixlowpan::iphc::{self, Upper};

const SRC: Address = Address::Short(0x11);
const DST: Address = Address::Extended([2, 0, 0, 0, 0, 0, 0, 0x12]);

/// Returns the header that `packet` starts with, if it can be expanded.
fn expand(packet: &[u8], contexts: &Contexts) -> Option<Ipv6Header> {
    let mut out = [0; 1280];
    let done = iphc::decompress(packet, SRC, DST, contexts, None, &mut out).ok()?;
    assert!(done.consumed <= packet.len() && done.written <= out.len());
    let (header, _) = Ipv6Header::parse_partial(&out[..done.written])
        .expect("the expanded header is well formed");
    let rest = packet.len() - done.consumed;
    assert_eq!(40 + usize::from(header.payload_len), done.written + rest);
    Some(header)
}

pub fn run(packet: &[u8]) {
    let mut contexts = Contexts::with_prefix(Addr([0xfd; 16]));
    contexts.set(1, Addr([0x20; 16]), 128);
    contexts.set(2, Addr([0x30; 16]), 40);
    contexts.set(3, Addr([0x40; 16]), 72);

    let Some(header) = expand(packet, &contexts) else {
        return;
    };
    let mut buffer = [0; iphc::MAX_COMPRESSED_LEN];
    let mut out = Cursor::new(&mut buffer);
    iphc::compress(&header, Upper::Other, SRC, DST, &contexts, &mut out)
        .expect("the buffer is as long as the longest compressed header");
    let mut again = out.written().to_vec();
    again.resize(again.len() + usize::from(header.payload_len), 0);
    assert_eq!(expand(&again, &contexts), Some(header));

    assert_eq!(iphc::ecn(&again), Some(header.ecn));
    if iphc::mark_ce(&mut again) {
        let ecn = Ecn::Ce;
        assert_eq!(
            expand(&again, &contexts),
            Some(Ipv6Header { ecn, ..header })
        );
    }
}
