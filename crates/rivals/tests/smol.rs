//! Two nodes with smoltcp, and between them a wire that loses a packet from time to time.
#![cfg(feature = "smoltcp")]

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_rivals::smol::{Smol, SmolConfig};
use redpoll_stack::wire::ipv6::Ipv6Header;
use redpoll_stack::{
    Arrived, Ask, ConnId, Error, NodeCounters, NodeEvent, Reach, Side, StreamTransport, Transport,
};
use redpoll_tcp::{Endpoint, Event};

const ADDRS: [Addr; 2] = [Addr([0xfd; 16]), Addr([0xfc; 16])];

struct End {
    stack: Smol,
    conn: Option<ConnId>,
    received: Vec<u8>,
    events: Vec<Event>,
}

struct Wire {
    ends: [End; 2],
    now: Instant,
    sent: usize,
    lose: usize,
}

fn config() -> SmolConfig {
    SmolConfig {
        mss: 200,
        send_buffer: 800,
        receive_buffer: 800,
        reno: true,
    }
}

impl Wire {
    fn new(lose: usize) -> Wire {
        let end = |seed| End {
            stack: Smol::new(config(), 2, 1, Rng::new(seed)),
            conn: None,
            received: Vec::new(),
            events: Vec::new(),
        };
        let (ends, now) = ([end(1), end(2)], Instant::ZERO);
        let mut wire = Wire {
            ends,
            now,
            sent: 0,
            lose,
        };
        wire.ends[1].stack.listen(80).unwrap();
        let (local, remote) = (Endpoint::new(ADDRS[0], 0), Endpoint::new(ADDRS[1], 80));
        let opened = wire.ends[0]
            .stack
            .connect(now, local, remote, &mut Rng::new(3));
        wire.ends[0].conn = Some(opened.unwrap());
        wire
    }

    /// Handles all events that are possible now, and then advances to the next due time.
    fn step(&mut self) -> bool {
        let mut counters = NodeCounters::default();
        let mut any = false;
        for side in [0, 1] {
            let (from, to) = (ADDRS[side], ADDRS[1 - side]);
            let ask = Ask {
                side: Side::Link,
                max_len: 1_240,
                own: [from; 2],
            };
            let here = |_: &Addr| Reach::Here(());
            while let Some((pulled, _)) = self.ends[side].stack.pull(self.now, &ask, here) {
                any = true;
                let mut upper = pulled.header().to_vec();
                let at = upper.len();
                upper.resize(at + usize::from(pulled.payload_len()), 0);
                let read = self.ends[side]
                    .stack
                    .read(pulled.handle(), 0, &mut upper[at..]);
                assert_eq!(read, Ok(upper.len() - at));
                self.sent += 1;
                if self.lose > 0 && self.sent.is_multiple_of(self.lose) {
                    continue;
                }
                let ip = Ipv6Header {
                    src: from,
                    dst: to,
                    ..Ipv6Header::default()
                };
                let arrived = Arrived {
                    header: &ip,
                    local: 1,
                    upper: &upper,
                };
                self.ends[1 - side]
                    .stack
                    .input(self.now, &arrived, &mut counters);
                self.events();
            }
        }
        self.events();
        if any {
            return true;
        }
        let due = self
            .ends
            .iter()
            .filter_map(|end| end.stack.poll_at())
            .map(|wake| wake.at)
            .min();
        let Some(due) = due else {
            return false;
        };
        self.now = self.now.max(due) + Duration::from_micros(1);
        for end in &mut self.ends {
            end.stack.on_timeout(self.now, &mut counters);
        }
        true
    }

    fn events(&mut self) {
        let now = self.now;
        for end in &mut self.ends {
            while let Some(event) = end.stack.poll_event() {
                match event {
                    NodeEvent::Accepted(listener) => end.conn = end.stack.accept(listener),
                    NodeEvent::Tcp(_, event) => end.events.push(event),
                    _ => {}
                }
            }
            let mut out = [0; 300];
            while let Some(Ok(taken @ 1..)) =
                end.conn.map(|conn| end.stack.recv(now, conn, &mut out))
            {
                end.received.extend_from_slice(&out[..taken]);
            }
        }
    }
}

/// Sends from these ends at the same time, and closes; returns the number of retransmitted
/// segments.
fn carries(lose: usize, from: &[usize]) -> usize {
    let mut wire = Wire::new(lose);
    let text: Vec<u8> = (0..20_000u32).map(|at| (at * 7 / 3) as u8).collect();
    let mut written = [0; 2];
    for _ in 0..20_000 {
        for &side in from {
            let end = &mut wire.ends[side];
            if let Some(conn) = end.conn {
                match end.stack.send(wire.now, conn, &text[written[side]..]) {
                    Ok(taken) => written[side] += taken,
                    Err(Error::WouldBlock) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
        wire.step();
        if from
            .iter()
            .all(|side| wire.ends[1 - side].received.len() == text.len())
        {
            break;
        }
    }
    for side in from {
        let received = &wire.ends[1 - side].received;
        assert!(*received == text, "{} bytes", received.len());
    }
    let conns = [0, 1].map(|side| wire.ends[side].conn.unwrap());
    let again = [0, 1].map(|side| {
        let stats = *wire.ends[side].stack.stats(conns[side]).unwrap();
        let expected = if from.contains(&(1 - side)) {
            20_000
        } else {
            0
        };
        assert_eq!(stats.bytes_received, expected);
        stats.retransmissions.rto + stats.retransmissions.fast
    });
    for side in [0, 1] {
        wire.ends[side].stack.close(wire.now, conns[side]);
        while wire.step() && !wire.ends[1 - side].events.contains(&Event::PeerClosed) {}
        let end = &mut wire.ends[1 - side];
        assert_eq!(
            end.stack.recv(wire.now, conns[1 - side], &mut [0; 8]),
            Ok(0)
        );
    }
    while wire.step() {}
    for end in &wire.ends {
        assert_eq!(end.events.last(), Some(&Event::Closed), "{:?}", end.events);
    }
    (again[0] + again[1]) as usize
}

#[test]
fn bytes_arrive_both_ways_and_each_end_closes() {
    assert_eq!(carries(0, &[0, 1]), 0, "nothing was sent again");
}

/// Only one end sends at a time. If both ends time out at the same time, each returns to its first
/// byte and acknowledges with this number. Each then regards the other's acknowledgments as old,
/// and neither continues (smoltcp 0.14).
#[test]
fn lost_packets_are_sent_again() {
    assert!(carries(11, &[0]) > 0);
    assert!(carries(11, &[1]) > 0);
}

#[test]
fn a_connection_to_a_closed_port_is_refused() {
    let mut wire = Wire::new(0);
    let (local, remote) = (Endpoint::new(ADDRS[0], 0), Endpoint::new(ADDRS[1], 81));
    let opened = wire.ends[0]
        .stack
        .connect(wire.now, local, remote, &mut Rng::new(4));
    let conn = opened.unwrap();
    for _ in 0..10 {
        wire.step();
    }
    let refused = Event::Failed(redpoll_tcp::Error::Refused);
    assert!(wire.ends[0].events.contains(&refused));
    wire.ends[0].stack.release(wire.now, conn);
    // The released place is the only free one, so only one more connection opens.
    let more = |wire: &mut Wire| {
        wire.ends[0]
            .stack
            .connect(wire.now, local, remote, &mut Rng::new(5))
    };
    assert!(more(&mut wire).is_ok());
    assert_eq!(more(&mut wire), Err(Error::NoSlot));
}
