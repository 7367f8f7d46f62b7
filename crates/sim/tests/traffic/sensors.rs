//! Sensors over every transport for readings.

use redpoll_sim::World;
use redpoll_sim::testing::oracle::ReadingFigures;

use super::{pair, run};

fn sensor(transport: &str, more: &str) -> String {
    format!(
        "[apps.s]\ntype = \"sensor\"\non = \"node-2\"\nto = \"node-1:7\"\nreading = \"50 B\"\n\
         transport = \"{transport}\"\ninterval = \"2 s\"\n{more}"
    )
}

#[test]
fn every_reading_arrives_over_udp() {
    let mut world = World::new(&pair(&sensor("udp", "")), 1).unwrap();
    run(&mut world, 40);
    let flow = &world.report().flows[0];
    assert_eq!((flow.segments_sent, flow.segment_loss), (20, 0.0));
    assert_eq!(flow.delivered_bytes, 20 * 50);
}

#[test]
fn every_reading_arrives_over_tcp() {
    let sink = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n";
    let mut world = World::new(&pair(&sensor("tcp", sink)), 1).unwrap();
    run(&mut world, 40);
    // 19 or 20 readings of 50 bytes, because the last one may be in transit.
    let delivered = world.report().flows[0].delivered_bytes;
    assert!((19 * 50..=20 * 50).contains(&delivered), "{delivered}");
}

#[test]
fn readings_that_a_fault_swallows_are_counted_as_lost() {
    let fault = "[faults.f]\ntype = \"node-off\"\nnode = \"node-1\"\nfrom = \"20 s\"\n";
    let mut world = World::new(&pair(&sensor("udp", fault)), 1).unwrap();
    run(&mut world, 60);
    let flow = &world.report().flows[0];
    assert_eq!(flow.segments_sent, 30);
    assert!((flow.segment_loss - 2.0 / 3.0).abs() < 0.05, "{flow:?}");
}

/// Receivers of all transports except plain datagrams.
const SINK: &str = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n";
const SERVER: &str = "[apps.server]\ntype = \"coap-server\"\non = \"node-1\"\nport = 7\n";

const TRANSPORTS: [&str; 6] = ["udp", "tcp", "coap", "cocoa", "unreliable", "ideal"];

fn readings(transport: &str, more: &str, seconds: u64) -> ReadingFigures {
    let end = match transport {
        "tcp" => SINK,
        "udp" | "ideal" => "",
        _ => SERVER,
    };
    let more = format!("{more}\n{end}");
    let mut world = World::new(&pair(&sensor(transport, &more)), 1).unwrap();
    run(&mut world, seconds);
    let report = world.report();
    let flow = report.flows.iter().find(|flow| flow.name == "s").unwrap();
    let figures = flow.readings.clone().expect("a flow of readings");
    assert_eq!(flow.delivered_bytes, figures.delivered * 50, "{transport}");
    figures
}

#[test]
fn every_reading_arrives_once_by_every_transport() {
    for transport in TRANSPORTS {
        let figures = readings(transport, "", 200);
        assert_eq!((figures.made, figures.lost), (100, 0), "{transport}");
        assert!(figures.delivered >= 99, "{transport}: {figures:?}");
        assert_eq!(figures.delivered + figures.under_way, 100);
        assert_eq!((figures.reliability, figures.repeated), (1.0, 0));
        assert!(
            figures.latency_ms.p50.unwrap() < 100.0,
            "{transport}: {figures:?}"
        );
        assert_eq!(figures.goodput_per_40s_kbps.len(), 5);
    }
}

#[test]
fn batches_wait_until_they_are_full() {
    for transport in TRANSPORTS {
        let figures = readings(transport, "batch = 20", 199);
        assert_eq!(figures.lost, 0, "{transport}");
        assert_eq!(
            (figures.delivered, figures.under_way),
            (80, figures.made - 80)
        );
        // The first reading of a batch waits for the 19 others.
        assert!(figures.latency_ms.max.unwrap() >= 38_000.0, "{figures:?}");
    }
    let figures = readings(
        "coap",
        "batch = 20\nblockwise = true\nmessage = \"128 B\"",
        199,
    );
    assert_eq!((figures.delivered, figures.lost), (80, 0));
}

/// Checks the losses while the receiver is off for a minute: a reliable transport loses the
/// readings that do not fit into the queue, and an unreliable transport loses all.
#[test]
fn a_queue_keeps_as_many_readings_of_an_outage_as_it_holds() {
    let outage = "queue = 20\n[faults.f]\ntype = \"node-off\"\nnode = \"node-1\"\n\
                  from = \"100 s\"\nuntil = \"160 s\"";
    for transport in ["tcp", "coap", "cocoa", "ideal"] {
        let figures = readings(transport, outage, 400);
        assert_eq!(figures.made, 200);
        assert!(figures.lost <= 40, "{transport}: {figures:?}");
        assert!(figures.delivered >= 160, "{transport}: {figures:?}");
    }
    for transport in ["udp", "unreliable"] {
        let figures = readings(transport, outage, 400);
        assert!(
            (28..=31).contains(&figures.lost),
            "{transport}: {figures:?}"
        );
    }
}

/// Checks that the message in progress has left the queue, like data in TCP's send buffer. If
/// it is a body in blocks, only one block has left.
#[test]
fn the_message_under_way_is_not_in_the_queue() {
    let gone = "queue = 20\n[faults.f]\ntype = \"node-off\"\nnode = \"node-1\"\n\
                from = \"101 s\"\n";
    for (transport, more, under_way) in [
        ("coap", "", 21),
        ("cocoa", "", 21),
        ("coap", "blockwise = true\nmessage = \"128 B\"\n", 20),
    ] {
        let figures = readings(transport, &format!("{more}{gone}"), 400);
        assert_eq!(
            (figures.delivered + figures.lost, figures.under_way),
            (200 - under_way, under_way),
            "{transport} {more}: {figures:?}"
        );
    }
}

/// Checks that a batch empties the queue, including the readings created meanwhile.
#[test]
fn a_batch_includes_readings_created_meanwhile() {
    // One message with a reading is sent each second, and one reading is created every two seconds.
    let slow = "batch = 10\nmessage = \"50 B\"\nspacing = \"1 s\"";
    let figures = readings("unreliable", slow, 400);
    // A batch of 10, and the 5, 2 and 1 readings that are created while the previous ones are sent:
    // of these 18 readings the first waits for 9 others, the last for none.
    let p50 = figures.latency_ms.p50.unwrap();
    assert!(p50 < 12_000.0, "{figures:?}");
    assert!(figures.latency_ms.max.unwrap() >= 18_000.0, "{figures:?}");
}

#[test]
fn losses_on_the_way_cost_reliable_transports_nothing() {
    let losses = "queue = 100\n[faults.f]\ntype = \"drop-frames\"\nshare = \"60 %\"";
    for transport in ["tcp", "coap", "cocoa", "ideal"] {
        let figures = readings(transport, losses, 2_000);
        assert_eq!(figures.lost, 0, "{transport}: {figures:?}");
        assert!(
            figures.reliability == 1.0 && figures.delivered > 950,
            "{figures:?}"
        );
    }
    let figures = readings("unreliable", losses, 2_000);
    assert!(
        figures.reliability < 0.999 && figures.lost > 0,
        "{figures:?}"
    );
}
