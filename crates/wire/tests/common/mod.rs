//! Generators that the integration tests share.
#![allow(dead_code, reason = "each test binary uses some of these functions")]

use proptest::prelude::*;
use redpoll_base::{Addr, Ecn};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};
use redpoll_wire::sixlowpan::Contexts;

/// `fd72:6564:706f:6c6c::/64`
pub const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);

pub fn link_address() -> impl Strategy<Value = Address> {
    prop_oneof![
        any::<u16>().prop_map(Address::Short),
        any::<[u8; 8]>().prop_map(Address::Extended),
    ]
}

pub fn ecn() -> impl Strategy<Value = Ecn> {
    (0..4u8).prop_map(Ecn::from_bits)
}

/// Addresses that occur in a mesh: for each form of compression some addresses, and some that
/// cannot be compressed.
pub fn unicast(link: Address) -> impl Strategy<Value = Addr> {
    let own = addr::iid_of(link).unwrap_or_default();
    prop_oneof![
        stateless_unicast(link),
        any::<u16>().prop_map(|short| addr::from_prefix_and_short(&PREFIX, short)),
        any::<[u8; 8]>().prop_map(|iid| addr::from_prefix_and_iid(&PREFIX, iid)),
        Just(addr::from_prefix_and_iid(&PREFIX, own)),
        any::<[u8; 16]>().prop_map(Addr),
    ]
}

/// Addresses that compress without a context, or not at all.
pub fn stateless_unicast(link: Address) -> impl Strategy<Value = Addr> {
    let own = addr::iid_of(link).unwrap_or_default();
    prop_oneof![
        any::<u16>().prop_map(addr::link_local_from_short),
        any::<[u8; 8]>().prop_map(addr::link_local_from_eui64),
        Just(addr::from_prefix_and_iid(&addr::LINK_LOCAL_PREFIX, own)),
        // An address in fe80::/10 outside fe80::/64.
        any::<[u8; 7]>().prop_map(|[a, b, c, d, e, f, g]| {
            Addr([0xfe, 0x80, a, 0, 0, 0, 0, 0, b, c, d, e, f, g, 0, 1])
        }),
        any::<[u8; 14]>().prop_map(|tail| {
            let mut bytes = [0x20; 16];
            bytes[2..].copy_from_slice(&tail);
            Addr(bytes)
        }),
    ]
}

/// Groups of every compressed length.
pub fn multicast() -> impl Strategy<Value = Addr> {
    (any::<[u8; 15]>(), prop::sample::select(vec![1, 3, 5, 15])).prop_map(|(random, width)| {
        let mut bytes = [0; 16];
        bytes[0] = 0xff;
        bytes[1] = if width == 1 { 2 } else { random[0] };
        bytes[16 - width..].copy_from_slice(&random[15 - width..]);
        Addr(bytes)
    })
}

/// Any IPv6 header from an address of `src` to one of `dst`; hop limits of all compressed forms.
pub fn ipv6_header(
    src: impl Strategy<Value = Addr>,
    dst: impl Strategy<Value = Addr>,
) -> impl Strategy<Value = Ipv6Header> {
    let dscp = prop_oneof![Just(0), 0..64u8];
    let flow_label = prop_oneof![Just(0), 0..1u32 << 20];
    let hop_limit = prop_oneof![Just(1), Just(64), Just(255), any::<u8>()];
    (
        dscp,
        ecn(),
        flow_label,
        any::<u16>(),
        any::<u8>(),
        hop_limit,
        src,
        dst,
    )
        .prop_map(
            |(dscp, ecn, flow_label, payload_len, next_header, hop_limit, src, dst)| Ipv6Header {
                dscp,
                ecn,
                flow_label,
                payload_len,
                next_header,
                hop_limit,
                src,
                dst,
            },
        )
}

/// Tables with up to three random contexts, with and without the mesh prefix as context 0.
pub fn contexts() -> impl Strategy<Value = Contexts> {
    let entry = (
        0..16u8,
        prop_oneof![Just(PREFIX), any::<[u8; 16]>().prop_map(Addr)],
        0..=128u8,
        any::<bool>(),
    );
    (any::<bool>(), prop::collection::vec(entry, 0..4)).prop_map(|(usual, others)| {
        let mut contexts = Contexts::new();
        if usual {
            contexts.set(0, PREFIX, 64);
        }
        for (cid, prefix, len, compress) in others {
            contexts.insert(cid, prefix, len, compress);
        }
        contexts
    })
}

pub fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=max)
}
