//! Reassembly: datagrams in order, out of order, with repeated fragments, and more than fit.

use redpoll_base::Rng;
use redpoll_dissect::lowpan::Lowpan;
use redpoll_dissect::lowpan::reassembly::{Complete, Reassembly};
use redpoll_wire::ieee802154::Address;

const SIZE: u16 = 300;

fn fragment(tag: u16, offset: u16, len: usize) -> Vec<u8> {
    let kind: u16 = if offset == 0 { 0xc000 } else { 0xe000 };
    let mut payload = (kind | SIZE).to_be_bytes().to_vec();
    payload.extend(tag.to_be_bytes());
    if offset > 0 {
        payload.push((offset / 8) as u8);
    }
    payload.extend(vec![offset as u8; len]);
    payload
}

struct Link {
    reassembly: Reassembly,
    now_us: u64,
}

impl Link {
    fn new() -> Link {
        let (reassembly, now_us) = (Reassembly::default(), 0);
        Link { reassembly, now_us }
    }

    fn input(&mut self, payload: &[u8]) -> Option<Complete> {
        let (src, dst) = (Address::Short(1), Address::Short(2));
        let lowpan = Lowpan::parse(payload, src, dst);
        self.now_us += 1_000;
        self.reassembly.input(&lowpan, (src, dst), self.now_us, 96)
    }
}

#[test]
fn any_order_and_repeated_fragments_complete_a_datagram_once() {
    let parts = [
        fragment(7, 0, 60),
        fragment(7, 96, 104),
        fragment(7, 200, 100),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let mut link = Link::new();
        for at in &order[..2] {
            assert_eq!(link.input(&parts[*at]), None);
            assert_eq!(link.input(&parts[*at]), None);
        }
        let Some(Complete::Expanded { first, bytes }) = link.input(&parts[order[2]]) else {
            panic!("{order:?}");
        };
        assert_eq!((first.len(), bytes.len()), (60, 300));
        assert_eq!((bytes[95], bytes[96], bytes[299]), (0, 96, 200));
    }
}

#[test]
fn a_gap_a_late_fragment_or_another_tag_completes_no_datagram() {
    let mut link = Link::new();
    assert_eq!(link.input(&fragment(7, 0, 60)), None);
    assert_eq!(link.input(&fragment(7, 200, 100)), None);
    assert_eq!(link.input(&fragment(8, 96, 104)), None);
    link.now_us += 61_000_000;
    assert_eq!(link.input(&fragment(7, 96, 104)), None);
    assert_eq!(link.reassembly.discarded, 1);
}

#[test]
fn memory_is_bounded_and_no_bytes_panic() {
    let mut link = Link::new();
    let mut rng = Rng::named(1, "reassembly");
    for tag in 0..2_000 {
        assert_eq!(link.input(&fragment(tag, 96, 100)), None);
    }
    assert!(link.reassembly.discarded >= 2_000 - 256);
    for _ in 0..50_000 {
        let mut payload = fragment(rng.below(4) as u16, rng.below(300) as u16, 20);
        payload[0] = [0xc0, 0xc1, 0xe0, 0xe1, 0xe8, 0xe9][rng.below(6) as usize];
        for _ in 0..rng.below(4) {
            let at = rng.below(payload.len() as u32) as usize;
            payload[at] = rng.next_u32() as u8;
        }
        link.input(&payload);
    }
}
