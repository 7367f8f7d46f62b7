//! Properties that hold under all network conditions.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_tcp::{Config, Connection, Fields, Header, Keepalive, Options, Segment, SeqNum};
use redpoll_tcp::{Extra, IcmpKind, SackBlocks, TimestampOption};
use redpoll_testkit::{
    Host, IRS, ISS, LOCAL, Link, Outcome, Pair, Plan, REMOTE, Record, SYN, inward, ms,
};
use redpoll_wire::tcp::Flags;
use redpoll_wire::tcp::SeqRange;

fn link() -> impl Strategy<Value = Link> {
    (
        1..300u64,
        1..200u64,
        0..200u32,
        0..100u32,
        0..300u32,
        1..2000u64,
        0..200u32,
    )
        .prop_map(
            |(latency, per_byte, loss, duplicate, reorder, reorder_by, give_up)| Link {
                latency: ms(latency),
                per_byte: Duration::from_micros(per_byte),
                loss,
                duplicate,
                reorder,
                reorder_by: ms(reorder_by),
                give_up,
                lose: Vec::new(),
            },
        )
}

fn plan() -> impl Strategy<Value = Plan> {
    let pause = prop_oneof![Just(0u64), 1..3000u64];
    (
        0..12_000usize,
        1..3000usize,
        pause,
        1..3000usize,
        1..4000usize,
        1..4000usize,
    )
        .prop_map(|(send, chunk, pause, read_chunk, tx, rx)| {
            // If the reader pauses, it reads at least 500 bytes at a time and its buffer has at
            // least this size. With single bytes, the transfer would take more than a day.
            let least = if pause == 0 { 1 } else { 500 };
            Plan {
                send,
                chunk,
                read_pause: ms(pause),
                read_chunk: read_chunk.max(least),
                buffers: (tx, rx.max(least)),
                ..Plan::default()
            }
        })
}

fn config() -> impl Strategy<Value = Config> {
    (
        64..1300u16,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1..4u8,
        1..500u64,
    )
        .prop_map(
            |(mss, nagle, timestamps, sack, ack_every, delayed_ack)| Config {
                mss,
                nagle,
                timestamps,
                sack,
                ack_every,
                delayed_ack: ms(delayed_ack),
                // Enough that bad luck does not end a connection.
                max_retries: 60,
                syn_retries: 60,
                max_rto: Duration::from_secs(8),
                ..Config::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The links lose, reorder and duplicate segments in any pattern.
    #[test]
    fn every_byte_arrives_and_both_sides_close(
        seed: u64,
        config in config(),
        links in [link(), link()],
        plans in [plan(), plan()],
    ) {
        let sizes = [plans[1].send, plans[0].send];
        let mut pair = Pair::new(seed, &config, links, plans);
        let report = pair.run(Duration::from_secs(100_000));
        prop_assert_eq!(report.outcome, Outcome::Done, "{:#?}", report);
        prop_assert_eq!(report.read, sizes, "{:#?}", report);
    }

    /// Over a good link no data are retransmitted, and no unnecessary acknowledgment is sent.
    #[test]
    fn a_good_link_sees_no_retransmission(
        seed: u64,
        send in 1..40_000usize,
        mss in 100..460u16,
        timestamps: bool,
    ) {
        let config = Config { mss, timestamps, ..Config::default() };
        let link = Link { latency: ms(20), ..Link::default() };
        let plans = [Plan { send, ..Plan::default() }, Plan::default()];
        let mut pair = Pair::new(seed, &config, [link.clone(), link], plans);
        let report = pair.run(Duration::from_secs(1_000));
        prop_assert_eq!(report.outcome, Outcome::Done);
        let [sender, receiver] = report.stats;
        prop_assert_eq!(sender.retransmissions.total(), 0);
        prop_assert_eq!(sender.rtos + receiver.rtos, 0);
        prop_assert!(receiver.acks_sent <= sender.data_segments_sent / 2 + 3, "{:#?}", report);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 1_000,
        ..ProptestConfig::default()
    })]

    /// One end or both are frozen after any event, and restored at once or after a sleep in which
    /// all segments are lost. No byte is missing, doubled or wrong.
    #[test]
    fn a_connection_that_is_frozen_at_any_event_loses_nothing(
        seed: u64,
        config in config(),
        links in [link(), link()],
        plans in [plan(), plan()],
        freezes in [0..60u32, 0..60u32],
        sleeps in [0..4_000u64, 0..4_000u64],
    ) {
        let sizes = [plans[1].send, plans[0].send];
        let [mut first, mut second] = plans;
        (first.freeze, second.freeze) = (freezes[0], freezes[1]);
        (first.sleep, second.sleep) = (ms(sleeps[0]), ms(sleeps[1]));
        let mut pair = Pair::new(seed, &config, links, [first, second]);
        let report = pair.run(Duration::from_secs(100_000));
        prop_assert_eq!(report.outcome, Outcome::Done, "{:#?}", report);
        prop_assert_eq!(report.read, sizes, "{:#?}", report);
    }
}

/// Plans of a few segments, so that each event can be the one after which the connection is frozen.
fn small_plan() -> impl Strategy<Value = Plan> {
    let pause = prop_oneof![Just(0u64), 1..1000u64];
    (
        0..1_500usize,
        1..900usize,
        pause,
        200..2000usize,
        500..2000usize,
    )
        .prop_map(|(send, chunk, pause, tx, rx)| Plan {
            send,
            chunk,
            read_pause: ms(pause),
            read_chunk: 500,
            buffers: (tx, rx),
            ..Plan::default()
        })
}

/// Number of transfers that are frozen at each event: `FREEZE_TRANSFERS=1000` is the long form.
fn freeze_transfers() -> u32 {
    std::env::var("FREEZE_TRANSFERS").map_or(60, |count| count.parse().unwrap())
}

/// Repeats a transfer and freezes it after a different event each time, at one end and then at the
/// other. No byte is missing, doubled or wrong, and the frozen connection has at most 300 bytes
/// more than its data (`Pair` checks this).
#[test]
fn a_transfer_survives_being_frozen_at_each_of_its_events() {
    let transfers = (
        any::<u64>(),
        config(),
        [link(), link()],
        [small_plan(), small_plan()],
        prop_oneof![Just(0), 1..4_000u64],
    );
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        cases: freeze_transfers(),
        ..ProptestConfig::default()
    });
    let (runs, frozen) = (Cell::new(0), Cell::new(0));
    let all = runner.run(&transfers, |(seed, config, links, plans, sleep)| {
        let sizes = [plans[1].send, plans[0].send];
        let run = |freeze_at: [Option<u32>; 2]| {
            let mut plans = plans.clone();
            for (plan, at) in plans.iter_mut().zip(freeze_at) {
                (plan.freeze_at, plan.sleep) = (at, ms(sleep));
            }
            let mut pair = Pair::new(seed, &config, links.clone(), plans);
            let report = pair.run(Duration::from_secs(100_000));
            prop_assert_eq!(
                report.outcome,
                Outcome::Done,
                "{:?} {:#?}",
                freeze_at,
                report
            );
            prop_assert_eq!(report.read, sizes, "{:?} {:#?}", freeze_at, report);
            runs.set(runs.get() + 1);
            frozen.set(frozen.get() + pair.freezes(0) + pair.freezes(1));
            Ok(report.events)
        };
        for at in (0..run([None, None])?).map(Some) {
            run([at, None])?;
            run([None, at])?;
        }
        Ok(())
    });
    let (runs, frozen) = (runs.get(), frozen.get());
    println!("{runs} runs, in {frozen} of them it was frozen");
    all.unwrap();
    // A connection cannot be frozen during the handshake and in TIME-WAIT. In random transfers, these
    // last for a quarter to a half of the events.
    assert!(4 * frozen > runs, "{frozen} of {runs}");
}

/// A run in which the retransmission timer expires while the window is closed, with other data
/// marked as in flight: a timer must be running afterwards.
#[test]
fn a_timeout_behind_a_closed_window_is_no_deadlock() {
    let config = Config {
        mss: 599,
        nagle: false,
        timestamps: false,
        delayed_ack: ms(283),
        max_retries: 60,
        syn_retries: 60,
        max_rto: Duration::from_secs(8),
        ..Config::default()
    };
    let links = [
        Link {
            latency: ms(227),
            per_byte: Duration::from_micros(3),
            loss: 172,
            reorder: 126,
            reorder_by: ms(1_903),
            give_up: 52,
            ..Link::default()
        },
        Link {
            latency: ms(115),
            per_byte: Duration::from_micros(158),
            loss: 110,
            reorder: 80,
            reorder_by: ms(1_670),
            give_up: 30,
            ..Link::default()
        },
    ];
    let plans = [
        Plan {
            send: 6_077,
            chunk: 1,
            read_chunk: 1,
            buffers: (914, 1_200),
            ..Plan::default()
        },
        Plan {
            send: 5_963,
            chunk: 1,
            read_pause: ms(2_182),
            read_chunk: 861,
            buffers: (1_201, 911),
            ..Plan::default()
        },
    ];
    let mut pair = Pair::new(10_491_637_890_106_944_394, &config, links, plans);
    let report = pair.run(Duration::from_secs(100_000));
    assert_eq!(report.outcome, Outcome::Done, "{report:#?}");
}

/// Makes a random segment that is often almost valid.
fn wild_segment(rng: &mut Rng) -> (Fields, Vec<u8>) {
    let near = |rng: &mut Rng, base: SeqNum| match rng.below(4) {
        0 => SeqNum(rng.next_u32()),
        1 => base + rng.below(5),
        _ => base + rng.below(3000) - 500,
    };
    let mut fields = Fields {
        seq: near(rng, IRS),
        ack: near(rng, ISS),
        flags: match rng.below(3) {
            0 => Flags(rng.next_u32() as u8),
            _ => Flags::ACK.with(Flags(rng.next_u32() as u8 & Flags::FIN.0)),
        },
        window: [0, 1, 100, 4000, u16::MAX][rng.below(5) as usize],
        options: Options {
            mss: (rng.below(3) == 0).then(|| rng.next_u32() as u16),
            timestamps: (rng.below(2) == 0).then(|| TimestampOption {
                value: rng.below(1 << 20),
                echo: rng.below(5000),
            }),
            ..Options::default()
        },
    };
    if fields.options.mss.is_some() {
        fields.options.sack_permitted = rng.below(2) == 0;
    } else {
        let room = if fields.options.timestamps.is_some() {
            3
        } else {
            4
        };
        fields.options.extra = Extra::Sack(wild_blocks(rng, room));
    }
    (fields, vec![7; rng.below(600) as usize])
}

/// Makes blocks, at most `room`, that may overlap, be inverted, or cover data that were never sent.
fn wild_blocks(rng: &mut Rng, room: usize) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for _ in 0..rng.below(5) {
        let start = ISS + rng.below(3000) - 500;
        let block = SeqRange::new(start, start + rng.below(1500) - 100);
        if blocks.iter().count() < room {
            blocks.push(block);
        }
    }
    blocks
}

/// Applies random segments, calls, reports of the link and times to a connection. Nothing may
/// panic, `read` must return a whole payload or fail, and the connection must not request a wake-up
/// that makes no progress. For fuzzing, the stream of random numbers is the input.
fn wild_run(rng: &mut Rng, steps: u32) {
    let config = Config {
        timestamps: rng.below(2) == 0,
        max_retries: 3,
        keepalive: (rng.below(2) == 0).then(|| Keepalive {
            idle: ms(3_000),
            ..Keepalive::default()
        }),
        user_timeout: (rng.below(4) == 0).then(|| ms(5_000)),
        ..Config::default()
    };
    let (tx, rx) = (rng.below(2000) as usize, rng.below(2000) as usize);
    let mut t = match rng.below(4) {
        0 => Host::connect(&config, tx, rx),
        1 => Host::accept(&config, tx, rx, Record::new().flags(SYN)),
        2 => Host::established_with(&config, 462, 2000, tx, rx),
        _ => Host::established_by(&config, Record::new().mss(462).win(2000).sack_ok(true), 0),
    };
    let mut now = t.now();
    let mut with_link = Vec::new();
    for _ in 0..steps {
        wild_step(rng, &mut t.conn, &mut now, &mut with_link);
        let mut wakes = 0;
        while t.conn.poll_at().is_some_and(|wake| wake.at <= now) {
            t.conn.on_timeout(now);
            wakes += 1;
            assert!(wakes < 20, "a timer that never stops");
        }
        while t.conn.poll_event().is_some() {}
    }
}

fn wild_step(
    rng: &mut Rng,
    conn: &mut Connection<Vec<u8>>,
    now: &mut Instant,
    with_link: &mut Vec<redpoll_tcp::SegmentDesc>,
) {
    let mut buffer = [0; 700];
    let some = rng.below(700) as usize;
    match rng.below(12) {
        0..=3 => {
            let (fields, payload) = wild_segment(rng);
            let header = Header::encode(&fields, &REMOTE, &LOCAL, [&payload, &[]]);
            let bytes = [header.as_bytes(), &payload].concat();
            conn.input(*now, &inward(), &Segment::parse(&inward(), &bytes).unwrap());
        }
        4 | 5 => {
            let closed = conn.is_closed();
            let max_len = 60 + rng.below(1240) as usize;
            with_link.extend(conn.poll_segment(*now, max_len).inspect(|desc| {
                let len = desc.header.as_bytes().len() + usize::from(desc.payload_len);
                assert!(len <= max_len && desc.header.as_bytes().len() >= 20);
                let flags = Flags(desc.header.as_bytes()[13]);
                assert!(flags.rst() || !closed, "{flags:?} from a closed connection");
            }));
        }
        6 if !with_link.is_empty() => {
            let desc = with_link.swap_remove(rng.below(with_link.len() as u32) as usize);
            if rng.below(3) == 0 {
                conn.on_segment_lost(desc.token, *now);
            } else {
                conn.on_segment_sent(desc.token, *now);
            }
        }
        7 => *now += ms(u64::from(rng.below(3000))),
        8 => drop(conn.send(*now, &buffer[..some])),
        9 => drop(conn.recv(*now, &mut buffer[..some])),
        10 => match rng.below(30) {
            0 => conn.close(*now),
            1 => conn.abort(*now),
            2 => conn.on_path_mtu(*now, rng.next_u32() as u16),
            3 => conn.on_icmp(*now, IcmpKind::PortUnreachable, ISS + rng.below(100)),
            _ => {}
        },
        _ => {
            for desc in with_link.iter() {
                let len = usize::from(desc.payload_len);
                if let Ok(count) = conn.read(desc.token, 0, &mut vec![0; len]) {
                    assert_eq!(count, len);
                }
            }
        }
    }
}

#[test]
fn no_segment_and_no_call_panics() {
    let seeds = std::env::var("WILD_SEEDS").map_or(400, |count| count.parse().unwrap());
    for seed in 0..seeds {
        wild_run(&mut Rng::new(seed), 400);
    }
}
