//! Assistants: an assistant sees the packets that a router forwards, may change or keep them, and
//! sends its own packets.

use crate::common;

use common::address;
use common::lone::{Lone, SLOTS};
use common::packets::{ACK, Tcp, udp};
use redpoll_base::{Addr, Duration, Instant, Wake};
use redpoll_stack::DropReason;
use redpoll_stack::assist::{Assist, Disposition, Passing};
use redpoll_wire::ieee802154::{Address, FrameHeader};
use redpoll_wire::ipv6::next_header;

const CLOUD: Addr = Addr([0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);

fn segment(data: &[u8]) -> Vec<u8> {
    let tcp = Tcp {
        src_port: 80,
        dst_port: 4_000,
        flags: ACK,
        window: 900,
        data,
        ..Tcp::default()
    };
    tcp.packet(CLOUD, address(7))
}

/// Counts the forwarded packets by the next header of their IPv6 header.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Counter {
    tcp: u32,
    others: u32,
    bytes: u64,
}

impl Assist for Counter {
    fn on_forward(&mut self, _: Instant, packet: &mut Passing<'_>) -> Disposition {
        let kind = match packet.header.next_header {
            next_header::TCP => &mut self.tcp,
            _ => &mut self.others,
        };
        *kind = kind.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(packet.bytes.len() as u64);
        Disposition::Forward
    }

    fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn poll_at(&self) -> Option<Wake> {
        None
    }
}

#[test]
fn an_assistant_sees_only_forwarded_packets() {
    let mut lone = Lone::border_with(|_| {}, Counter::default());
    let through = [segment(&[7; 300]), udp(CLOUD, address(7), (5, 6), &[1; 20])];
    for packet in &through {
        lone.host_sends(packet).unwrap();
    }
    // The node forwards neither a packet for itself nor one whose hop limit is used up.
    lone.host_sends(&udp(CLOUD, address(1), (5, 6), &[2; 20]))
        .unwrap();
    let mut spent = udp(CLOUD, address(7), (5, 6), &[3; 20]);
    spent[7] = 1;
    lone.host_sends(&spent).unwrap();
    let counted = *lone.node.assistant();
    let bytes = through.iter().map(|packet| packet.len() as u64).sum();
    assert_eq!(
        counted,
        Counter {
            tcp: 1,
            others: 1,
            bytes
        }
    );
    assert_eq!(lone.node.counters().forwarded, 2);
    let sent: Vec<usize> = lone.link_packets().iter().map(|(_, p)| p.len()).collect();
    assert_eq!(
        sent,
        through.each_ref().map(Vec::len),
        "and passes it on whole"
    );
}

/// Keeps every packet except TCP for half a second, then sends it itself.
#[derive(Default)]
struct Holder {
    held: Option<(Instant, Vec<u8>)>,
    hop_limits: Vec<u8>,
}

impl Assist for Holder {
    fn on_forward(&mut self, now: Instant, packet: &mut Passing<'_>) -> Disposition {
        assert_eq!(packet.header.hop_limit, packet.bytes[7], "as it leaves");
        self.hop_limits.push(packet.header.hop_limit);
        if packet.header.next_header == 6 {
            // Marks the packet in the window field.
            packet.bytes[54] = 0x7f;
            return Disposition::Forward;
        }
        self.held = Some((now + Duration::from_millis(500), packet.bytes.to_vec()));
        Disposition::Keep
    }

    fn poll_packet(&mut self, _: Instant, out: &mut [u8]) -> Option<usize> {
        let (_, packet) = self.held.take()?;
        out[..packet.len()].copy_from_slice(&packet);
        Some(packet.len())
    }

    fn poll_at(&self) -> Option<Wake> {
        self.held.as_ref().map(|(at, _)| Wake::exactly(*at))
    }
}

#[test]
fn an_assistant_changes_keeps_and_sends() {
    let mut lone = Lone::border_with(|_| {}, Holder::default());
    lone.host_sends(&udp(CLOUD, address(7), (5, 6), &[1; 20]))
        .unwrap();
    lone.host_sends(&segment(&[7; 30])).unwrap();
    assert_eq!(lone.node.counters().kept, 1);
    assert_eq!(lone.node.counters().forwarded, 1);
    lone.run_for(Duration::from_millis(400));
    assert_eq!(lone.frames.len(), 1, "the segment alone");
    let packets = lone.link_packets();
    let protocols: Vec<u8> = packets.iter().map(|(_, packet)| packet[6]).collect();
    assert_eq!(protocols, [6, 17], "half a second later");
    assert_eq!(packets[0].1[54], 0x7f);
    assert_eq!(lone.node.assistant().hop_limits, [63, 63]);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    assert!(lone.node.counters().drops().all(|(_, count)| count == 0));
}

/// A malformed packet of an assistant, or one without a route, is dropped and counted.
#[test]
fn packets_of_an_assistant_are_checked() {
    struct Junk(Vec<Vec<u8>>);
    impl Assist for Junk {
        fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
            Disposition::Forward
        }
        fn poll_packet(&mut self, _: Instant, out: &mut [u8]) -> Option<usize> {
            let packet = self.0.pop()?;
            out[..packet.len()].copy_from_slice(&packet);
            Some(packet.len())
        }
        fn poll_at(&self) -> Option<Wake> {
            (!self.0.is_empty()).then(|| Wake::exactly(Instant::ZERO))
        }
    }
    let loopback = Addr(1u128.to_be_bytes());
    let junk = vec![vec![0xff; 12], udp(CLOUD, loopback, (5, 6), &[1; 20])];
    let mut lone = Lone::border_with(|_| {}, Junk(junk));
    lone.node.on_timeout(lone.now);
    assert_eq!(lone.dropped(DropReason::NoRoute), 1);
    assert_eq!(lone.dropped(DropReason::Malformed), 1);
    lone.assert_silent("junk");
}

/// The node reports every frame that the radio overhears to the assistant: an intact frame for
/// another node with its payload, any other frame without bytes.
#[test]
fn an_assistant_hears_the_frames_of_its_neighbours() {
    #[derive(Default)]
    struct Listener(Vec<Option<Vec<u8>>>);
    impl Assist for Listener {
        fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
            Disposition::Forward
        }
        fn on_heard(&mut self, _: Instant, passing: Option<&[u8]>) {
            self.0.push(passing.map(<[u8]>::to_vec));
        }
        fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
            None
        }
        fn poll_at(&self) -> Option<Wake> {
            None
        }
    }
    let mut lone = Lone::border_with(|_| {}, Listener::default());
    let packet = udp(address(5), address(6), (5, 6), &[7; 20]);
    let mut heard = Vec::new();
    for to in [6, 1] {
        let frames = lone.frames_of(Address::Short(5), Address::Short(to), &packet);
        let (_, payload) = FrameHeader::parse(&frames[0]).unwrap();
        heard.push((to == 6).then(|| payload.to_vec()));
        lone.node.on_heard(lone.now, Some(&frames[0]));
        // Damaged on its way: the radio reports no bytes.
        lone.node.on_heard(lone.now, None);
        heard.push(None);
        lone.node.on_heard(lone.now, Some(&frames[0][..3]));
        heard.push(None);
    }
    assert_eq!(lone.node.assistant().0, heard);
    lone.assert_silent("overheard frames");
}
