//! The send path under every interleaving: a segment is read from its connection fragment by
//! fragment, and between any two fragments something happens to the connection. The arriving data
//! must be correct or absent.

use crate::common;

use common::address;
use common::lone::{Lone, SLOTS};
use common::packets::{ACK, RST, SYN, Tcp, icmp, read_tcp};
use redpoll_base::{Addr, Duration};
use redpoll_stack::transport::{Event, IpMeta, Segment};
use redpoll_stack::{ConnId, NodeEvent};
use redpoll_wire::ipv6::Ipv6Header;

const MSS: u32 = 474;
const TOTAL: u32 = 3 * MSS;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Nothing,
    AckOfAll,
    AckOfPart,
    Reset,
    Close,
    CloseAndRelease,
    Abort,
    AbortAndRelease,
    Release,
    LateTimers,
    PacketTooBig,
    Unreachable,
    RouteGone,
    LinkGone,
}

const ALL: [What; 14] = [
    What::Nothing,
    What::AckOfAll,
    What::AckOfPart,
    What::Reset,
    What::Close,
    What::CloseAndRelease,
    What::Abort,
    What::AbortAndRelease,
    What::Release,
    What::LateTimers,
    What::PacketTooBig,
    What::Unreachable,
    What::RouteGone,
    What::LinkGone,
];

fn pattern(i: u32) -> u8 {
    (i * 31 + i / 251) as u8
}

struct Scene {
    lone: Lone,
    conn: ConnId,
    /// The node's sequence number of the first byte.
    start: u32,
    /// The bytes that the peer has received.
    got: [bool; TOTAL as usize],
    reset: bool,
}

impl Scene {
    /// Returns a node with a connection from neighbour 5, on which the node sends `TOTAL` bytes.
    fn new() -> Scene {
        let mut lone = Lone::border(|_| {});
        let listener = lone.node.tcp_listen(80).unwrap();
        lone.link_sends(5, &segment(SYN, 99, 0).packet(address(5), address(1)));
        let (_, answer) = lone.link_packets().remove(0);
        let start = read_tcp(&answer).unwrap().1.wrapping_add(1);
        let mut scene = Scene {
            conn: {
                lone.link_sends(5, &segment(ACK, 100, start).packet(address(5), address(1)));
                lone.node.tcp_accept(listener).unwrap()
            },
            lone,
            start,
            got: [false; TOTAL as usize],
            reset: false,
        };
        let data: Vec<u8> = (0..TOTAL).map(pattern).collect();
        let (now, node) = (scene.lone.now, &mut scene.lone.node);
        assert_eq!(node.tcp_send(now, scene.conn, &data), Ok(data.len()));
        scene
    }

    fn give(&mut self, flags: u8, ack: u32) {
        let segment = segment(flags, 100, self.start.wrapping_add(ack));
        self.lone
            .link_sends(5, &segment.packet(address(5), address(1)));
    }

    fn happen(&mut self, what: What) {
        let now = self.lone.now;
        let conn = self.conn;
        let node = &mut self.lone.node;
        match what {
            What::Nothing => {}
            What::AckOfAll => {
                self.got[..MSS as usize].fill(true);
                self.give(ACK, MSS);
            }
            What::AckOfPart => {
                self.got[..100].fill(true);
                self.give(ACK, 100);
            }
            What::Reset => self.give(RST, 0),
            What::Close => node.tcp_close(now, conn),
            What::CloseAndRelease => {
                node.tcp_close(now, conn);
                node.tcp_release(now, conn);
            }
            What::Abort => node.tcp_abort(now, conn),
            What::AbortAndRelease => {
                node.tcp_abort(now, conn);
                node.tcp_release(now, conn);
            }
            What::Release => node.tcp_release(now, conn),
            What::LateTimers => {
                self.lone.now = now + Duration::from_secs(20);
                node.on_timeout(self.lone.now);
            }
            What::PacketTooBig => self.error(2, 0, 300),
            What::Unreachable => self.error(1, 4, 0),
            What::RouteGone => node.clear_routes(),
            What::LinkGone => self.lone.deaf = true,
        }
    }

    /// An ICMPv6 error that quotes the segment in flight.
    fn error(&mut self, kind: u8, code: u8, word: u32) {
        let quoted = Tcp {
            src_port: 80,
            dst_port: 5_000,
            seq: self.start,
            flags: ACK,
            ..Tcp::default()
        };
        let quoted = quoted.packet(address(1), address(5));
        let rest = [&word.to_be_bytes()[..], &quoted].concat();
        let packet = icmp(address(5), address(1), 64, kind, code, &rest);
        self.lone.link_sends(5, &packet);
    }

    /// Records the data bytes in the packets; asserts that each checksum and each byte is correct.
    fn take(&mut self, packets: Vec<Vec<u8>>) {
        for packet in packets {
            let (ip, upper) = Ipv6Header::parse(&packet).unwrap();
            let meta = IpMeta {
                src: ip.src,
                dst: ip.dst,
                ecn: ip.ecn,
                hop_limit: ip.hop_limit,
            };
            let seg = Segment::parse(&meta, upper).expect("a right checksum");
            self.reset |= seg.flags.rst();
            let offset = seg.seq.0.wrapping_sub(self.start);
            for (i, byte) in (offset..).zip(seg.payload) {
                assert_eq!(*byte, pattern(i), "byte {i}");
                self.got[i as usize] = true;
            }
        }
    }

    fn contiguous(&self) -> u32 {
        self.got.iter().take_while(|got| **got).count() as u32
    }
}

fn segment(flags: u8, seq: u32, ack: u32) -> Tcp<'static> {
    Tcp {
        src_port: 5_000,
        dst_port: 80,
        seq,
        ack,
        flags,
        window: 4_000,
        data: b"",
    }
}

fn packets(lone: &mut Lone) -> Vec<Vec<u8>> {
    let sent = lone.link_packets();
    sent.into_iter().map(|(_, packet)| packet).collect()
}

/// Returns the number of frames of the first segment if no event happens.
fn frames_of_a_segment() -> usize {
    let mut scene = Scene::new();
    scene.lone.run_for(Duration::from_secs(1));
    let frames = scene.lone.frames.len();
    // Three segments of equal length, except where cwnd limits the last.
    assert_eq!(frames % 3, 0, "{frames}");
    frames / 3
}

fn play(what: What, boundary: usize, last: usize) {
    let context = format!("{what:?} after {boundary} of {last} frames");
    let mut scene = Scene::new();
    scene.lone.run_frames(boundary);
    assert_eq!(scene.lone.frames.len(), boundary);
    scene.happen(what);
    let ends = matches!(
        what,
        What::Reset | What::Abort | What::AbortAndRelease | What::Release
    );
    let partial = (1..last).contains(&boundary);
    let gone = u32::from(partial && (ends || what == What::AckOfAll));
    let sent = packets(&mut scene.lone);
    scene.take(sent);
    // Datagrams that a failed link drops are counted as `link_failure`, not as `segment_gone`.
    let counters = *scene.lone.node.lowpan().counters();
    assert_eq!(counters.segment_gone, gone, "{context}");
    assert_eq!(
        counters.link_failure > 0,
        what == What::LinkGone,
        "{context}"
    );
    if what == What::RouteGone {
        let via = redpoll_stack::Via::OnLink;
        let route = redpoll_stack::Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via,
        };
        scene.lone.node.add_route(route).unwrap();
    }
    scene.lone.deaf = false;
    // From here on, the peer acknowledges the node's data every two seconds.
    for _ in 0..40 {
        if ends {
            break;
        }
        let have = scene.contiguous();
        if have < TOTAL {
            scene.give(ACK, have);
        }
        scene.lone.run_for(Duration::from_secs(2));
        let sent = packets(&mut scene.lone);
        scene.take(sent);
    }
    if ends {
        assert_eq!(scene.reset, what != What::Reset, "{context}");
        let released = matches!(what, What::AbortAndRelease | What::Release);
        let open = scene.lone.node.tcp_connections().count();
        assert_eq!(open, usize::from(!released), "{context}");
    } else {
        assert_eq!(scene.contiguous(), TOTAL, "{context}");
        assert!(!scene.reset, "{context}");
        // If the node has sent its FIN, `TOTAL` also acknowledges the FIN.
        scene.give(ACK, TOTAL);
    }
    assert_eq!(scene.lone.node.lowpan().free_slots(), SLOTS, "{context}");
}

#[test]
fn events_between_fragments_corrupt_no_byte() {
    let last = frames_of_a_segment();
    assert!(last >= 4, "the test wants fragments: {last}");
    for what in ALL {
        for boundary in 0..=last {
            play(what, boundary, last);
        }
    }
}

/// When a segment disappears between two fragments, the next one continues at once, without a timer
/// or another frame.
#[test]
fn a_segment_that_disappears_does_not_hold_up_the_others() {
    let mut scene = Scene::new();
    let now = scene.lone.now;
    let other = redpoll_tcp::Endpoint {
        addr: address(6),
        port: 7,
    };
    scene.lone.run_frames(2);
    scene.lone.node.tcp_abort(now, scene.conn);
    scene.lone.node.tcp_connect(now, other).unwrap();
    let before = scene.lone.frames.len();
    // Only the timers of the frames themselves run: less than a tenth of a second.
    scene.lone.run_for(Duration::from_millis(100));
    let after = &scene.lone.frames[before..];
    assert_eq!(after.len(), 2, "the reset and the SYN");
}

/// The peer acknowledges a part of a segment before the link has sent all of it. When the link
/// reports the segment as sent, buffer space becomes free and the application gets an event.
#[test]
fn buffer_space_freed_by_a_link_report_is_an_event() {
    let mut scene = Scene::new();
    let now = scene.lone.now;
    let node = &mut scene.lone.node;
    while node.tcp_send(now, scene.conn, &[0; 100]).is_ok() {}
    scene.lone.run_frames(2);
    // The peer's window allows no further segment, so no other event follows.
    let mut ack = segment(ACK, 100, scene.start.wrapping_add(100));
    ack.window = (MSS - 100) as u16;
    let ack = ack.packet(address(5), address(1));
    scene.lone.link_sends(5, &ack);
    while scene.lone.node.poll_event().is_some() {}
    scene.lone.run_for(Duration::from_millis(100));
    let writable = NodeEvent::Tcp(scene.conn, Event::Writable);
    assert_eq!(scene.lone.node.poll_event(), Some(writable));
}
