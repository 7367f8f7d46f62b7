//! One test sequence for simulated and external leaves: pings of one frame and of several, a
//! connection to a closed port, and an echo of 6,000 bytes over three lossy hops. It also records
//! the frames on the air.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::{Duration, Instant};
use redpoll_sim::external::Line;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{BuildError, NodeSpec, Scenario, World, WorldOptions};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{ConnId, Error};

/// The leaf has the index 3.
const SCENARIO: &str = r#"
duration = "60 s"
[topology]
kind = "line"
nodes = 4
spacing = "40 m"
[medium]
transmission_range = "50 m"
[lowpan]
slots = 3
slot_size = "544 B"
[tcp]
mss = "462 B"
[faults.loss]
type = "drop-frames"
share = "5 %"
[nodes.node-1]
role = "border"
[nodes.node-4]
role = "leaf"
"#;
const HERE: &str = "[apps.echo]\ntype = \"echo\"\non = \"node-4\"\nport = 7\n";
const BYTES: usize = 6_000;

pub fn with_a_simulated_leaf() -> Scenario {
    Scenario::parse("same", &(SCENARIO.to_owned() + HERE), &[]).unwrap()
}

pub fn with_an_external_leaf(line: &str, more: &[(&str, &str)]) -> Scenario {
    let there = format!("{SCENARIO}kind = \"external\"\nline = \"{line}\"\n");
    let more = more.iter();
    let more: Vec<_> = more.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Scenario::parse("same", &there, &more).unwrap()
}

pub type Frame = (Instant, usize, Vec<u8>);

struct Recorder(Rc<RefCell<Vec<Frame>>>);

impl FrameTrace for Recorder {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let mut frames = self.0.borrow_mut();
        frames.push((frame.start, frame.from, frame.mpdu.to_vec()));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

pub struct Played {
    pub world: World,
    pub frames: Vec<Frame>,
    pub echoed: usize,
}

type Lines<'a> = &'a dyn Fn(&NodeSpec, &str) -> Result<Box<dyn Line>, String>;

pub fn world(scenario: &Scenario, lines: Option<Lines<'_>>) -> Result<World, BuildError> {
    let options = WorldOptions {
        lines,
        ..WorldOptions::default()
    };
    World::with(scenario.clone(), options)
}

pub fn play(scenario: &Scenario, lines: Option<Lines<'_>>) -> Played {
    let mut world = world(scenario, lines).unwrap();
    let frames = Rc::new(RefCell::new(Vec::new()));
    world.add_trace(Box::new(Recorder(frames.clone())));
    let leaf = scenario.address(3).unwrap();
    let at = |ms| Instant::from_millis(ms);
    for (ms, bytes) in [(1_000, 8), (2_000, 400)] {
        world.run_until(at(ms));
        let pinged = world.with_node("node-1", |now, node| node.ping(now, leaf, 1, 2, bytes));
        pinged.unwrap().unwrap();
    }
    world.run_until(at(3_000));
    connect(&mut world, Endpoint::new(leaf, 9));
    world.run_until(at(4_000));
    let conn = connect(&mut world, Endpoint::new(leaf, 7));
    let (mut sent, mut echoed) = (0, 0);
    let mut now = at(4_000);
    while now < Instant::ZERO + scenario.duration {
        now += Duration::from_millis(50);
        world.run_until(now);
        world.with_node("node-1", |now, node| {
            let rest: Vec<u8> = (sent..BYTES).map(byte).collect();
            match node.tcp_send(now, conn, &rest) {
                Ok(len) => sent += len,
                Err(Error::WouldBlock) => {}
                Err(_) => return,
            }
            let mut bytes = [0; 512];
            while let Ok(len @ 1..) = node.tcp_recv(now, conn, &mut bytes) {
                for got in &bytes[..len] {
                    assert_eq!(*got, byte(echoed), "byte {echoed}");
                    echoed += 1;
                }
            }
            if echoed == BYTES {
                node.tcp_close(now, conn);
            }
        });
    }
    let frames = frames.take();
    Played {
        world,
        frames,
        echoed,
    }
}

fn connect(world: &mut World, to: Endpoint) -> ConnId {
    let conn = world.with_node("node-1", |now, node| node.tcp_connect(now, to));
    conn.unwrap().unwrap()
}

fn byte(at: usize) -> u8 {
    (at * 7 + at / 251) as u8
}

/// Checks that all bytes were echoed, and that the frames of both runs are the same.
pub fn assert_same(one: &Played, other: &Played) {
    for played in [one, other] {
        assert_eq!(played.echoed, BYTES);
    }
    assert!(one.frames.iter().filter(|(_, from, _)| *from == 3).count() > 100);
    let differ = (one.frames.iter().zip(&other.frames)).position(|(one, other)| one != other);
    if let Some(at) = differ {
        let from = at.saturating_sub(3);
        panic!(
            "frame {at} differs:\n{:x?}\n{:x?}",
            &one.frames[from..=at],
            &other.frames[from..=at]
        );
    }
    assert_eq!(one.frames.len(), other.frames.len());
    assert_eq!(one.world.air().digest(), other.world.air().digest());
}
