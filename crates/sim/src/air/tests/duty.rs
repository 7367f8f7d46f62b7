//! Duty-cycled MACs on simulated radios, without other layers.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_mac::Service;
use redpoll_replay::{DutyConfig, Method, Release, Replay, ReplayConfig};

use super::*;
use crate::trace::{FrameTrace, TraceError, TracedFrame};

#[derive(Clone, Copy, Debug)]
struct Sent {
    from: usize,
    start_us: u64,
    end_us: u64,
    dsn: u8,
}

#[derive(Clone, Default)]
struct Heard(Rc<RefCell<Vec<Sent>>>);

impl FrameTrace for Heard {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        self.0.borrow_mut().push(Sent {
            from: frame.from,
            start_us: frame.start.as_micros(),
            end_us: frame.end.as_micros(),
            dsn: frame.mpdu[2],
        });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

impl Bench {
    fn cycled(nodes: usize, config: DutyConfig, seed: u64) -> (Bench, Heard) {
        let access = Replay::new(ReplayConfig {
            duty: Some(config),
            ..ReplayConfig::default()
        });
        let on = (Model::Cc2420, seed);
        let mut bench = Bench::with_access(&DISK, nodes, on, &[], |_| {}, access);
        let heard = Heard::default();
        bench.air.traces_mut().add(Box::new(heard.clone()));
        (0..nodes).for_each(|node| bench.serve(node));
        (bench, heard)
    }
}

const METHODS: [(Method, Release); 6] = [
    (Method::ContikiMac, Release::Contiki25),
    (Method::ContikiMac, Release::Contiki27),
    (Method::ContikiMac, Release::Contiki30),
    (Method::XMac, Release::Contiki27),
    (Method::CxMac, Release::Contiki25),
    (Method::Lpp, Release::Contiki27),
];

/// Checks that all neighbours get a broadcast with every method. ContikiMAC and X-MAC repeat it,
/// but deliver it once.
#[test]
fn a_broadcast_reaches_all_neighbours_once() {
    for (method, release) in METHODS {
        for seed in 1..=10 {
            let (mut bench, _) = Bench::cycled(3, DutyConfig::of(method, release), seed);
            bench.run_until(Instant::from_millis(500));
            bench.send(1, Address::BROADCAST, 60);
            bench.run_until(Instant::from_millis(1_000));
            let at = |node| bench.received.iter().filter(|it| it.1 == node).count();
            assert_eq!(
                (at(0), at(2)),
                (1, 1),
                "{method:?}, {release:?}, seed {seed}"
            );
            let payload = &bench.received[0].2;
            assert_eq!(*payload, [1; 49], "{method:?}");
            assert_eq!(bench.done.len(), 1, "{method:?}");
        }
    }
}

/// Checks that a broadcast lasts the 127.4 ms of STROBE_TIME in contikimac.c: only
/// INTER_PACKET_INTERVAL (0.4 ms) and a turnaround separate the copies.
#[test]
fn contikimac_repeats_a_broadcast_for_a_whole_cycle() {
    let config = DutyConfig::of(Method::ContikiMac, Release::Contiki30);
    let (mut bench, heard) = Bench::cycled(2, config, 3);
    bench.run_until(Instant::from_millis(500));
    bench.send(1, Address::BROADCAST, 103);
    bench.run_until(Instant::from_millis(1_000));
    let copies = heard.0.take();
    assert!(
        copies
            .iter()
            .all(|copy| copy.from == 1 && copy.dsn == copies[0].dsn)
    );
    for pair in copies.windows(2) {
        assert_eq!(pair[1].start_us - pair[0].end_us, 397 + 192);
    }
    let whole_us = copies[copies.len() - 1].start_us - copies[0].start_us;
    assert!((123_000..=127_633).contains(&whole_us), "{whole_us}");
    // A copy takes 3.49 ms.
    assert!((30..=33).contains(&copies.len()), "{}", copies.len());
}

/// Checks that a receiver stays awake after a frame that announces a second frame, which then needs
/// one copy. In Contiki 2.5, the second frame waits for the receiver's next wake-up.
#[test]
fn a_promised_frame_follows_at_once_from_2_6_on() {
    for (release, is_burst) in [(Release::Contiki25, false), (Release::Contiki30, true)] {
        let config = DutyConfig::of(Method::ContikiMac, release);
        let (mut bench, heard) = Bench::cycled(2, config, 5);
        bench.run_until(Instant::from_millis(500));
        for promises in [true, false] {
            let how = Service {
                frame_pending: promises,
                ..Service::default()
            };
            let payload = bench.macs[1].frame_mut(Address::Short(short(0))).unwrap();
            payload[..80].fill(9);
            bench.macs[1].submit(bench.now, 80, how);
            bench.serve(1);
            let wanted = bench.done.len() + 1;
            while bench.done.len() < wanted {
                let next = bench.now + Duration::from_millis(1);
                bench.run_until(next);
            }
        }
        assert_eq!(bench.received.len(), 2);
        let frames = heard.0.take();
        let second = frames[frames.len() - 2].dsn;
        let copies = frames.iter().filter(|it| it.from == 1 && it.dsn == second);
        if is_burst {
            assert_eq!(copies.count(), 1);
        }
        let apart = bench.received[1].0.since(bench.received[0].0);
        assert_eq!(
            apart < Duration::from_millis(31),
            is_burst,
            "{release:?}: {apart:?}"
        );
    }
}

/// Checks that the MAC drops a frame for an absent neighbour after five transmissions. Each
/// transmission repeats the frame for one cycle.
#[test]
fn a_missing_neighbour_fails_after_five_transmissions() {
    for (method, release) in METHODS {
        let (mut bench, _) = Bench::cycled(2, DutyConfig::of(method, release), 2);
        bench.run_until(Instant::from_millis(500));
        bench.send(1, Address::Short(0x99), 60);
        bench.run_until(Instant::from_millis(10_000));
        let [(at, 1, TxStatus::NoAck, 5)] = bench.done[..] else {
            panic!("{method:?}: {:?}", bench.done);
        };
        // Five transmissions take one cycle each; the four delays between them, one to nine cycles.
        assert!((1_000..6_000).contains(&(at.as_millis() - 500)), "{at:?}");
    }
}

/// Checks that the frames of two senders reach one receiver. With LPP, one frame in all seeds may
/// be lost: cycles have equal lengths, so a sender that misses the receiver's probe once misses it
/// in all of its attempts (docs/model/sleep.md, "Repeated collisions").
#[test]
fn two_senders_get_their_frames_through() {
    for (method, release) in METHODS {
        let mut lost = Vec::new();
        for seed in 1..=5 {
            let (mut bench, _) = Bench::cycled(3, DutyConfig::of(method, release), seed);
            bench.run_until(Instant::from_millis(300));
            bench.send(0, Address::Short(short(1)), 50);
            bench.send(2, Address::Short(short(1)), 50);
            bench.run_until(Instant::from_millis(20_000));
            for node in [0, 2] {
                let is_delivered = bench
                    .done
                    .iter()
                    .any(|it| it.1 == node && it.2 == TxStatus::Delivered);
                let whole = vec![node as u8; 39];
                let has_come = bench.received.iter().any(|it| it.2 == whole);
                match is_delivered {
                    true => assert!(has_come, "{method:?} {release:?}, seed {seed}, {node}"),
                    false => lost.push((seed, node, bench.done.clone())),
                }
            }
        }
        let may_lose = usize::from(method == Method::Lpp);
        assert!(lost.len() <= may_lose, "{method:?} {release:?}: {lost:?}");
    }
}
