//! Radios and medium, driven by real MACs.

mod bench;
mod duty;
mod raw;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{FrameBuf, TxStatus};
use redpoll_wire::ieee802154::Address;

use super::*;
use crate::fault::{FrameKind, Rule};
use crate::medium::{Config, UnitDisk};
use crate::radio::Model;
use bench::{Bench, DISK, short};

fn mean_exchange_us(model: Model) -> f64 {
    let mut total = 0;
    let rounds = 2_000;
    let mut bench = Bench::line(2, model, 1, &[]);
    for _ in 0..rounds {
        let start = bench.now;
        bench.send(0, Address::Short(short(1)), 127);
        bench.settle();
        let (end, node, status, attempts) = bench.done.pop().unwrap();
        assert_eq!((node, status, attempts), (0, TxStatus::Delivered, 1));
        total += end.since(start).as_micros();
    }
    assert_eq!(bench.received.len(), rounds);
    bench.check_ledger();
    total as f64 / rounds as f64
}

/// Kumar et al. 2020 §6.3: a full 127-byte unicast takes 7.2 ms.
#[test]
fn full_unicast_takes_7_2_ms_on_the_at86rf233() {
    let mean = mean_exchange_us(Model::At86rf233);
    assert!((mean - 7_200.0).abs() < 40.0, "{mean}");
}

/// docs/model/radio.md: an exchange takes 6.24 ms without the frame's transfer between processor
/// and radio.
#[test]
fn full_unicast_takes_6_24_ms_on_an_ideal_radio() {
    let mean = mean_exchange_us(Model::Ideal);
    assert!((mean - 6_240.0).abs() < 40.0, "{mean}");
}

#[test]
fn one_exchange_step_by_step() {
    let mut bench = Bench::new(&DISK, 2, Model::Ideal, 1, &[], |config| {
        config.min_be = 0;
        config.max_be = 0;
    });
    bench.send(0, Address::Short(short(1)), 127);
    bench.settle();
    let (delivered, _, _) = bench.received[0];
    assert_eq!(delivered.as_micros(), 128 + 192 + 4_256);
    let (done, ..) = bench.done[0];
    assert_eq!(done.as_micros(), 128 + 192 + 4_256 + 192 + 352);
    let end = bench.now;
    let spent = |node: usize, state| bench.air.stations()[node].times.in_state(end, state);
    assert_eq!(spent(0, State::Turnaround).as_micros(), 192);
    assert_eq!(spent(0, State::Transmit).as_micros(), 4_256);
    assert_eq!(spent(0, State::Receive).as_micros(), 352);
    assert_eq!(spent(1, State::Receive).as_micros(), 4_256);
    assert_eq!(spent(1, State::Transmit).as_micros(), 352);
    let cycle = bench.air.stations()[0].times.duty_cycle(end);
    assert!((cycle - 1.0).abs() < 1e-12, "always on: {cycle}");
}

/// Checks that an assessment takes its 8 symbols even if the radio is receiving a frame.
#[test]
fn an_assessment_takes_its_time_where_the_channel_is_known_to_be_busy() {
    let mut bench = Bench::new(&DISK, 2, Model::Ideal, 1, &[], |config| {
        (config.min_be, config.max_be) = (0, 0);
        (config.max_csma_backoffs, config.max_frame_retries) = (0, 0);
    });
    bench.send(0, Address::Short(short(1)), 127);
    bench.run_until(Instant::from_micros(1_000));
    bench.send(1, Address::Short(short(0)), 127);
    bench.settle();
    let (at, node, status, _) = bench.done[0];
    assert_eq!((node, status), (1, TxStatus::ChannelAccessFailure));
    assert_eq!(at.as_micros(), 1_000 + 128);
}

/// Checks that the receiver on an AT86RF233 gets the frame 0.96 ms after its end.
#[test]
fn reading_takes_spi_time() {
    let mut bench = Bench::new(&DISK, 2, Model::At86rf233, 1, &[], |config| {
        config.min_be = 0;
        config.max_be = 0;
    });
    bench.send(0, Address::Short(short(1)), 127);
    bench.settle();
    let (delivered, _, _) = bench.received[0];
    assert_eq!(delivered.as_micros(), 960 + 128 + 192 + 4_256 + 960);
}

#[test]
fn broadcast_reaches_the_neighbours_without_ack() {
    let mut bench = Bench::line(4, Model::At86rf233, 1, &[]);
    bench.send(1, Address::BROADCAST, 50);
    bench.settle();
    let nodes: Vec<_> = bench.received.iter().map(|(_, node, _)| *node).collect();
    assert_eq!(nodes, [0, 2]);
    assert_eq!(bench.count(FrameClass::Broadcast, Outcome::Delivered), 2);
    assert_eq!(bench.air.ledger().opened(FrameClass::Ack), 0);
    bench.check_ledger();
}

/// Checks that frames of nodes 0 and 2, which do not receive each other, collide at node 1.
#[test]
fn hidden_terminals_collide() {
    let mut bench = Bench::new(&DISK, 3, Model::Ideal, 3, &[], |config| {
        config.max_frame_retries = 0;
    });
    bench.send(0, Address::Short(short(1)), 127);
    bench.send(2, Address::Short(short(1)), 127);
    bench.settle();
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::Collision), 2);
    assert!(bench.received.is_empty());
    assert!(bench.done.iter().all(|done| done.2 == TxStatus::NoAck));
    bench.check_ledger();
}

/// Checks that overhearing nodes get indications of frames for other nodes and of damaged frames,
/// without acknowledgments. Other nodes get none.
#[test]
fn overhearing_nodes_get_every_frame() {
    let mut bench = Bench::new(&DISK, 3, Model::Ideal, 3, &[], |config| {
        config.max_frame_retries = 0;
    });
    bench.air.overhear(0, Overhears::All);
    bench.air.overhear(1, Overhears::All);
    bench.send(2, Address::Short(short(1)), 40);
    bench.settle();
    assert_eq!(bench.overheard, [0, 1, 0], "node 0 is out of range");
    bench.send(1, Address::Short(short(2)), 40);
    bench.settle();
    assert_eq!(bench.overheard, [1, 1, 0], "for another node");
    bench.send(0, Address::Short(short(1)), 127);
    bench.send(2, Address::Short(short(1)), 127);
    bench.settle();
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::Collision), 2);
    assert_eq!(bench.overheard, [1, 2, 0], "destroyed");
}

/// Checks that [`Overhears::Own`], as on a CC2420 with address decoding, reports neither damaged
/// frames nor frames for other nodes.
#[test]
fn a_filter_drops_frames_for_other_nodes() {
    let mut bench = Bench::new(&DISK, 3, Model::Ideal, 3, &[], |config| {
        config.max_frame_retries = 0;
    });
    bench.air.overhear(0, Overhears::Own);
    bench.air.overhear(1, Overhears::Own);
    bench.send(2, Address::Short(short(1)), 40);
    bench.settle();
    bench.send(1, Address::Short(short(2)), 40);
    bench.settle();
    assert_eq!(bench.overheard, [0, 1, 0], "for another node");
    bench.send(0, Address::Short(short(1)), 127);
    bench.send(2, Address::Short(short(1)), 127);
    bench.settle();
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::Collision), 2);
    assert_eq!(bench.overheard, [0, 1, 0], "destroyed");
}

#[test]
fn retries_with_a_random_delay_resolve_hidden_terminals() {
    let mut bench = Bench::line(3, Model::At86rf233, 3, &[]);
    for _ in 0..50 {
        bench.send(0, Address::Short(short(1)), 127);
        bench.send(2, Address::Short(short(1)), 127);
        bench.settle();
    }
    assert!(bench.count(FrameClass::Unicast, Outcome::Collision) > 20);
    assert_eq!(bench.received.len(), 100);
    bench.check_ledger();
}

#[test]
fn carrier_sense_keeps_neighbours_apart() {
    let near = Config::UnitDisk(UnitDisk {
        transmission_range_m: 100.0,
        interference_range_m: 100.0,
        carrier_sense_range_m: 100.0,
        ..UnitDisk::default()
    });
    let mut bench = Bench::new(&near, 3, Model::Ideal, 3, &[], |_| {});
    for _ in 0..100 {
        bench.send(0, Address::Short(short(1)), 127);
        bench.send(2, Address::Short(short(1)), 127);
        bench.settle();
    }
    assert_eq!(bench.received.len(), 200);
    let collisions = bench.count(FrameClass::Unicast, Outcome::Collision)
        + bench.count(FrameClass::Unicast, Outcome::ReceiverTransmitting);
    // Frames collide if their backoffs are equal (one in eight) or one turnaround apart (one in
    // sixteen).
    assert!((10..120).contains(&collisions), "{collisions}");
    bench.check_ledger();
}

#[test]
fn out_of_range_and_unknown_addressees_are_named() {
    let mut bench = Bench::new(&DISK, 3, Model::Ideal, 1, &[], |config| {
        config.max_frame_retries = 0;
    });
    bench.send(0, Address::Short(short(2)), 40);
    bench.settle();
    bench.send(0, Address::Short(99), 40);
    bench.settle();
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::OutOfRange), 2);
    assert_eq!(
        bench.air.ledger().lost_at(0)[Outcome::OutOfRange as usize],
        2
    );
    bench.check_ledger();
}

/// Checks that a frame which arrives while another is read from the single buffer is lost and not
/// acknowledged. A short broadcast of a hidden neighbour follows closely enough.
#[test]
fn a_single_buffer_overruns() {
    let mut overruns = [0; 2];
    for (i, model) in [Model::At86rf233, Model::Cc2420].into_iter().enumerate() {
        let mut bench = Bench::line(3, model, 1, &[]);
        for round in 0..200u64 {
            bench.send(0, Address::BROADCAST, 127);
            let start = bench.now;
            bench.run_until(start + Duration::from_micros(5_000 + round * 10));
            bench.send(2, Address::BROADCAST, 20);
            bench.settle();
        }
        bench.check_ledger();
        overruns[i] = bench.count(FrameClass::Broadcast, Outcome::RxOverrun);
    }
    assert!(overruns[0] > 0, "{overruns:?}");
    assert_eq!(overruns[1], 0);
}

/// Checks that a frame which arrives during the backoff overwrites the loaded frame. The frame is
/// loaded again, which lengthens the exchange.
#[test]
fn a_single_buffer_reloads() {
    let exchange = |model, disturb: bool| {
        let mut bench = Bench::new(&DISK, 3, model, 1, &[], |config| {
            config.min_be = 8;
            config.max_be = 8;
        });
        bench.send(1, Address::Short(short(2)), 127);
        bench.run_until(Instant::from_millis(2));
        if disturb {
            // The frame is sent by the radio without a MAC, so that only node 1 has a backoff.
            let mut frame = FrameBuf::new();
            frame
                .copy_from(&[0x41, 0x98, 0, 0x70, 0x72, 0xff, 0xff, 1, 0])
                .unwrap();
            let now = bench.now;
            bench
                .air
                .start_work(now, 0, RadioWork::Load, &frame, &mut bench.queue);
            bench.run_until(Instant::from_millis(3));
            let send = RadioWork::Transmit { cca: false };
            bench
                .air
                .start_work(Instant::from_millis(3), 0, send, &frame, &mut bench.queue);
        }
        bench.settle();
        assert_eq!(bench.done.len(), 1);
        bench.done[0].0.as_micros()
    };
    let late = |model| exchange(model, true) - exchange(model, false);
    assert_eq!(late(Model::At86rf233), 960);
    assert_eq!(late(Model::Cc2420), 0);
    assert_eq!(late(Model::Ideal), 0);
}

/// Checks that the receiver's MAC drops the copy that follows a lost acknowledgment.
#[test]
fn a_lost_ack_leads_to_a_suppressed_duplicate() {
    let faults = [Spec {
        from: Instant::ZERO,
        until: Instant::from_millis(12),
        rule: Rule::DropFrames {
            from: Some(1),
            to: Some(0),
            kind: FrameKind::Ack,
            probability: 1.0,
        },
    }];
    let mut bench = Bench::line(2, Model::At86rf233, 1, &faults);
    bench.send(0, Address::Short(short(1)), 127);
    bench.settle();
    assert_eq!(bench.received.len(), 1);
    assert_eq!(bench.count(FrameClass::Ack, Outcome::Fault), 1);
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::Delivered), 2);
    assert_eq!(bench.macs[1].counters().rx_duplicates, 1);
    bench.check_ledger();
}

#[test]
fn a_node_that_is_off_neither_hears_nor_sends() {
    let faults = [Spec {
        from: Instant::ZERO,
        until: Instant::from_millis(100),
        rule: Rule::NodeOff { node: 1 },
    }];
    let mut bench = Bench::new(&DISK, 2, Model::Ideal, 1, &faults, |config| {
        config.max_frame_retries = 0;
    });
    bench.run_until(Instant::from_millis(1));
    bench.send(0, Address::Short(short(1)), 40);
    bench.send(1, Address::Short(short(0)), 40);
    bench.run_until(Instant::from_millis(90));
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::ReceiverOff), 1);
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::SenderOff), 1);
    assert!(bench.received.is_empty());
    bench.run_until(Instant::from_millis(101));
    bench.send(0, Address::Short(short(1)), 40);
    bench.settle();
    assert_eq!(bench.received.len(), 1);
    let times = &bench.air.stations()[1].times;
    assert_eq!(times.in_state(bench.now, State::Off).as_millis(), 100);
    bench.check_ledger();
}

#[test]
fn a_sleeping_radio_hears_nothing() {
    let mut bench = Bench::new(&DISK, 2, Model::Ideal, 1, &[], |config| {
        config.max_frame_retries = 0;
    });
    let now = bench.now;
    bench
        .air
        .start_work(now, 1, RadioWork::Sleep, &[], &mut bench.queue);
    bench.send(0, Address::Short(short(1)), 40);
    bench.settle();
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::ReceiverAsleep), 1);
    // The radio wakes up to send, and sleeps again afterwards.
    bench.send(1, Address::Short(short(0)), 40);
    bench.settle();
    assert_eq!(bench.count(FrameClass::Unicast, Outcome::Delivered), 1);
    let station = &bench.air.stations()[1];
    assert_eq!(station.state(), State::Sleep);
    assert!(station.times.duty_cycle(bench.now) < 0.7);
}

fn busy_run(seed: u64) -> u64 {
    let mut bench = Bench::line(8, Model::At86rf233, seed, &[]);
    let mut rng = Rng::new(1);
    for _ in 0..200 {
        for node in 0..8 {
            if bench.macs[node].is_idle() && rng.below(2) == 0 {
                let to = if node == 7 { 6 } else { node + 1 };
                bench.send(node, Address::Short(short(to)), 30 + node * 10);
            }
        }
        let until = bench.now + Duration::from_millis(7);
        bench.run_until(until);
        bench.check_ledger();
    }
    bench.air.digest()
}

#[test]
fn same_seed_same_digest() {
    assert_eq!(busy_run(5), busy_run(5));
    assert_ne!(busy_run(5), busy_run(6));
}
