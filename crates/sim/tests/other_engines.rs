//! Scenario keys that make a node's TCP and link as others have them.

use redpoll_base::Instant;
use redpoll_sim::oracle::FlowFigures as Flow;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::world::World;

fn flow(name: &str, set: &[(&str, &str)]) -> Flow {
    let set: Vec<_> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &set).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(60_000));
    let mut report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    report.flows.swap_remove(0)
}

const LOSSY: (&str, &str) = ("mac.link_retry_delay", "0 ms");

/// Where frames collide the link gives segments up. Told of it, TCP repeats them
/// at once; else it finds out by acknowledgments or the timer.
#[test]
fn a_tcp_that_hears_nothing_of_its_link_finds_losses_by_itself() {
    for mute in [("tcp.link_feedback", "false"), ("tcp.queue_window", "true")] {
        let (told, alone) = (flow("line-3", &[LOSSY]), flow("line-3", &[LOSSY, mute]));
        assert!(told.retransmissions.link_lost > 10, "{told:?}");
        assert_eq!(alone.retransmissions.link_lost, 0, "{alone:?}");
        let found = alone.retransmissions.fast + alone.retransmissions.rto;
        let before = told.retransmissions.fast + told.retransmissions.rto;
        assert!(found > before + 5, "{told:?}, {alone:?}");
    }
}

/// Without RACK-TLP more is left to the timer.
#[test]
fn three_duplicates_leave_more_to_the_timer() {
    let mute = ("tcp.link_feedback", "false");
    let rack = flow("line-3", &[LOSSY, mute]).retransmissions;
    let duplicates = flow("line-3", &[LOSSY, mute, ("tcp.recovery", "duplicates")]);
    let duplicates = duplicates.retransmissions;
    assert!(duplicates.rto > rack.rto, "{rack:?}, {duplicates:?}");
    assert!(duplicates.fast < rack.fast, "{rack:?}, {duplicates:?}");
    assert_eq!(duplicates.tail, 0);
}

/// A window that waits in the link's queue is in the network as TCP sees it: four
/// segments make up the round trip, and goodput is what it was.
#[test]
fn a_queued_window_is_within_the_round_trip() {
    let four = [
        ("tcp.mss", "462 B"),
        ("tcp.send_buffer", "1848 B"),
        ("tcp.receive_buffer", "1848 B"),
    ];
    let pulled = flow("line-1", &four);
    let queued = flow(
        "line-1",
        &[&four[..], &[("tcp.queue_window", "true")]].concat(),
    );
    let under_way = |flow: &Flow| {
        let rtt_s = flow.rtt_ms.p50.expect("samples") / 1_000.0;
        flow.goodput_kbps * 1_000.0 / 8.0 * rtt_s / 462.0
    };
    assert!((3.5..4.2).contains(&under_way(&queued)), "{queued:?}");
    assert!(under_way(&pulled) < 2.5, "{pulled:?}");
    let ratio = queued.goodput_kbps / pulled.goodput_kbps;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// Ten bytes in every frame: less payload and a longer time for the same frame.
#[test]
fn link_security_costs_what_its_bytes_take() {
    let plain = flow("line-1", &[("tcp.mss", "5 frames")]);
    let secured = flow(
        "line-1",
        &[("tcp.mss", "5 frames"), ("mac.security_bytes", "10")],
    );
    let ratio = secured.goodput_kbps / plain.goodput_kbps;
    // 429 bytes of 466, 0.92, in four frames as long; the fifth, which is not full,
    // and ACKs are longer.
    assert!((0.85..0.92).contains(&ratio), "{ratio}");
}
