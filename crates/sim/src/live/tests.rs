use redpoll_base::Instant;

use super::{Addressee, Tape};
use crate::air::Kind;
use crate::scenario::Scenario;
use crate::world::World;

fn world(name: &str) -> World {
    let scenario = Scenario::load(name, &[]).unwrap();
    World::new(&scenario, 1).unwrap()
}

#[test]
fn to_look_changes_nothing() {
    let run = |looks: bool| {
        let mut world = world("line-2");
        for second in 1..=5 {
            world.run_until(Instant::from_millis(second * 1_000));
            if looks {
                world.live_begin();
                let changes = world.live_changes();
                assert_eq!(changes.until, world.now());
                assert!(second == 1 || !changes.frames.is_empty());
                let _ = world.live_sample();
            }
        }
        (world.digest(), world.events())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn each_frame_is_written_down_with_what_became_of_it() {
    let mut world = world("line-3");
    world.live_begin();
    world.run_until(Instant::from_millis(3_000));
    let changes = world.live_changes();
    assert_eq!(changes.skipped, 0);
    let mut last = 0;
    for frame in &changes.frames {
        assert!(frame.start < frame.end && !frame.mpdu.is_empty());
        assert!(frame.id == 0 || frame.id > last);
        last = frame.id;
        if frame.end < world.now() && frame.kind != Kind::Broadcast {
            let mut fates = changes.fates.iter().filter(|fate| fate.id == frame.id);
            let fate = fates.next().unwrap();
            if let Addressee::Node(node) = frame.to {
                assert_eq!(fate.at, node);
            }
            assert_eq!(fates.next(), None, "{frame:?}");
        }
    }
    assert!(changes.frames.len() > 100);
    world.live_end();
    world.run_until(Instant::from_millis(4_000));
    assert!(!world.is_live() && world.live_changes().frames.is_empty());
}

#[test]
fn what_nobody_takes_has_a_bound() {
    let mut world = world("grid-30");
    world.live_begin();
    world.run_until(Instant::from_millis(60_000));
    let changes = world.live_changes();
    assert_eq!(changes.frames.len(), Tape::FRAMES);
    assert!(changes.skipped > 0 && changes.fates.len() <= 4 * Tape::FRAMES);
}

#[test]
fn a_sample_has_parents_and_connections() {
    let mut world = world("line-3");
    world.run_until(Instant::from_millis(3_000));
    let sample = world.live_sample();
    let parents: Vec<_> = sample.nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
    let windows: Vec<_> = sample.connections.iter().map(|conn| conn.cwnd).collect();
    assert_eq!(windows.len(), 2);
    assert!(windows.iter().all(|cwnd| *cwnd > 0));
    assert!(sample.connections.iter().any(|conn| conn.rtt_ms > 0.0));
}
