//! Segments in any order never make a stack panic, or send data that it does not have.

use proptest::collection::vec;
use proptest::prelude::*;
use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_rivals::blip::{Blip, BlipConfig, Corrections};
use redpoll_rivals::linux::{Linux, LinuxConfig};
use redpoll_rivals::uip::{Standard, Timing, Uip, UipConfig, Weak};
use redpoll_rivals::{Port, Protocol, Slot, Table};
use redpoll_stack::wire::ipv6::Ipv6Header;
use redpoll_stack::{
    Arrived, Ask, NodeCounters, NodeEvent, Reach, Side, StreamTransport, Transport,
};
use redpoll_tcp::{Endpoint, Event, Fields, Header, Options, SeqNum};
use redpoll_wire::tcp::Flags;

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

#[derive(Clone, Debug)]
enum Step {
    /// A segment; `seq` and `ack` are the distances from the correct numbers.
    Segment {
        flags: u8,
        seq: i32,
        ack: i32,
        window: u16,
        len: usize,
    },
    Write(usize),
    Read(usize),
    Wait(u64),
    Close,
}

fn near() -> impl Strategy<Value = i32> {
    prop_oneof![6 => Just(0), 3 => -300i32..300, 1 => any::<i32>()]
}

fn step() -> impl Strategy<Value = Step> {
    let segment = (
        prop_oneof![5 => Just(0x10u8), 1 => Just(0x11), 1 => Just(0x12), 1 => 0u8..64],
        near(),
        near(),
        prop_oneof![Just(0u16), 1u16..100, any::<u16>()],
        0usize..260,
    );
    prop_oneof![
        8 => segment.prop_map(|(flags, seq, ack, window, len)| Step::Segment {
            flags, seq, ack, window, len
        }),
        3 => (1usize..400).prop_map(Step::Write),
        3 => (1usize..400).prop_map(Step::Read),
        4 => (1u64..5_000).prop_map(Step::Wait),
        1 => Just(Step::Close),
    ]
}

const HERE: Addr = Addr([1; 16]);
const THERE: Addr = Addr([2; 16]);

fn drive<P: Protocol>(protocol: P, steps: &[Step], active: bool) {
    let buffer = |len: usize| vec![0; len].into_boxed_slice();
    let slots = (0..2).map(|_| Slot::new(buffer(600), buffer(300)));
    let mut table: Table<Heap, P> = Table::new(protocol, slots.collect(), [Port::default()].into());
    let (mut now, mut counters) = (Instant::ZERO, NodeCounters::default());
    let (mut conn, mut written) = (None, 0);
    let (mut port, mut their_seq, mut our_seq) = (80, 5_000u32, 0u32);
    if active {
        let (local, remote) = (Endpoint::new(HERE, 0), Endpoint::new(THERE, 9));
        conn = table.connect(now, local, remote, &mut Rng::new(3)).ok();
        port = conn.and_then(|conn| table.stream(conn)).unwrap().local.port;
    } else {
        table.listen(80).unwrap();
    }
    for step in steps {
        match *step {
            Step::Segment {
                flags,
                seq,
                ack,
                window,
                len,
            } => {
                let fields = Fields {
                    flags: Flags(flags),
                    window,
                    seq: SeqNum(their_seq.wrapping_add_signed(seq)),
                    ack: SeqNum(our_seq.wrapping_add_signed(ack)),
                    options: Options::default(),
                };
                let payload = vec![9; len];
                let (from, to) = (Endpoint::new(THERE, 9), Endpoint::new(HERE, port));
                let header = Header::encode(&fields, &from, &to, [&payload, &[]]);
                let mut upper = header.as_bytes().to_vec();
                upper.extend_from_slice(&payload);
                let ip = Ipv6Header {
                    src: THERE,
                    dst: HERE,
                    ..Ipv6Header::default()
                };
                let arrived = Arrived {
                    header: &ip,
                    local: 1,
                    upper: &upper,
                };
                table.input(now, &arrived, &mut counters);
                if flags & 2 != 0 && seq == 0 {
                    their_seq = their_seq.wrapping_add(1);
                }
            }
            Step::Write(len) => {
                if let Some(Ok(taken)) = conn.map(|conn| table.send(now, conn, &vec![7; len])) {
                    written += taken;
                }
            }
            Step::Read(len) => {
                if let Some(conn) = conn {
                    let _ = table.recv(now, conn, &mut vec![0; len]);
                }
            }
            Step::Wait(ms) => {
                let end = now + Duration::from_millis(ms);
                while let Some(wake) = table.poll_at().filter(|wake| wake.at <= end) {
                    now = now.max(wake.at);
                    table.on_timeout(now, &mut counters);
                }
                now = end;
            }
            Step::Close => {
                if let Some(conn) = conn {
                    table.close(now, conn);
                }
            }
        }
        while let Some(event) = table.poll_event() {
            match event {
                NodeEvent::Accepted(listener) => conn = table.accept(listener).or(conn),
                NodeEvent::Tcp(id, Event::Closed | Event::Failed(_)) => {
                    table.release(now, id);
                    conn = None;
                }
                _ => {}
            }
        }
        let ask = Ask {
            side: Side::Link,
            max_len: 1_240,
            own: [HERE; 2],
        };
        for _ in 0..100 {
            let here = |_: &Addr| Reach::Here(());
            let Some((pulled, _)) = table.pull(now, &ask, here) else {
                break;
            };
            let len = usize::from(pulled.payload_len());
            assert!(len <= written, "{len} bytes of {written}");
            let mut out = vec![0; len];
            assert_eq!(table.read(pulled.handle(), 0, &mut out), Ok(len));
            assert!(
                out.iter().all(|byte| *byte == 7),
                "a byte that the application did not write"
            );
            let header = pulled.header();
            let seq = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            let controls = u32::from(header[13] & 2 != 0) + u32::from(header[13] & 1);
            our_seq = seq.wrapping_add(len as u32).wrapping_add(controls);
            if header[13] & 0x10 != 0 {
                their_seq = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
            }
        }
    }
}

fn all_corrected() -> Corrections {
    let mut corrections = Corrections::NONE;
    for name in Corrections::NAMES {
        assert!(corrections.set(name));
    }
    corrections
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_segments_cause_no_panic(steps in vec(step(), 1..60), active: bool) {
        for timing in [
            Timing::Original,
            Timing::Weak(Weak::default()),
            Timing::Standard(Standard::default()),
        ] {
            let config = UipConfig { timing, ..UipConfig::default() };
            drive(Uip::new(config, Rng::new(1)), &steps, active);
        }
        for corrections in [Corrections::NONE, Corrections::KIM2015, all_corrected()] {
            let config = BlipConfig { corrections, ..BlipConfig::default() };
            drive(Blip::new(config, Rng::new(1)), &steps, active);
        }
        drive(Linux::new(LinuxConfig::default(), Rng::new(1)), &steps, active);
    }
}
