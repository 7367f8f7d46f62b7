//! Sleepy leaves: their service, their cost, and the benefit of each link-layer technique.

use redpoll_base::Instant;
use redpoll_sim::{App, Context, NodeFigures, Report, Scenario, World};
use redpoll_stack::NodeEvent;
use redpoll_stack::transport::{Endpoint, Event};

use crate::common;

use common::run;

fn node<'r>(report: &'r Report, name: &str) -> &'r NodeFigures {
    let found = report.nodes.iter().find(|node| node.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_sleepy_sensor_loses_nothing_and_sleeps_most_of_the_time() {
    for seed in 1..=3 {
        let report = run("sleepy-3", &[], seed, 300);
        assert!(report.flows[0].delivered_bytes >= 298 * 82);
        let leaf = node(&report, "node-4");
        assert!(leaf.radio_duty_cycle < 0.03, "{leaf:?}");
        assert!(leaf.energy.sleep_s > 290.0, "{leaf:?}");
        let router = node(&report, "node-3");
        assert_eq!(router.radio_duty_cycle, 1.0);
        assert!(router.energy.charge_mc > 20.0 * leaf.energy.charge_mc);
    }
}

#[test]
fn hardly_a_frame_comes_to_a_sleeping_radio() {
    for policy in ["fixed", "learned"] {
        let report = run("sleepy-3", &[("poll.policy", policy)], 1, 300);
        let asleep = node(&report, "node-4").drops.get("radio.receiver_asleep");
        assert!(
            asleep.is_none_or(|count| *count < 5),
            "{policy}: {asleep:?}"
        );
    }
}

#[test]
fn an_idle_leaf_asks_once_in_its_base_interval() {
    let idle = [("apps.readings.when", "never")];
    let report = run("sleepy-3", &idle, 1, 2_400);
    let leaf = node(&report, "node-4");
    // Ten data requests, and a few for the leaf's registration and its renewal half an hour later.
    assert!((10..=20).contains(&leaf.data_requests), "{leaf:?}");
    assert!(leaf.radio_duty_cycle < 0.000_1, "{leaf:?}");
}

#[test]
fn a_datagram_of_many_frames_costs_one_request() {
    let requests = |burst| {
        let download = [
            ("indirect.burst", burst),
            ("poll.policy", "fixed"),
            ("apps.readings.when", "never"),
            ("apps.page.type", "bulk-sink"),
            ("apps.page.on", "node-4"),
            ("apps.page.port", "5001"),
            ("apps.download.type", "bulk-sender"),
            ("apps.download.on", "node-1"),
            ("apps.download.to", "node-4:5001"),
            ("apps.download.total", "20 KiB"),
            ("poll.base_interval", "1 s"),
        ];
        let report = run("sleepy-3", &download, 1, 300);
        assert_eq!(report.flows[0].delivered_bytes, 20 * 1_024);
        node(&report, "node-4").data_requests
    };
    let (together, apart) = (requests("true"), requests("false"));
    assert!(apart > together + 4 * 40, "{together}, {apart}");
}

/// Checks that a stream to a leaf with the default base interval arrives, also after interruptions
/// that are longer than the parent keeps packets.
#[test]
fn a_stream_to_a_sleepy_leaf_does_not_wait_for_the_base_interval() {
    for out_until in ["12 s", "20 s", "40 s", "70 s"] {
        for from in ["node-1", "node-3"] {
            let download = [
                ("apps.readings.when", "never"),
                ("apps.page.type", "bulk-sink"),
                ("apps.page.on", "node-4"),
                ("apps.page.port", "5001"),
                ("apps.download.type", "bulk-sender"),
                ("apps.download.on", from),
                ("apps.download.to", "node-4:5001"),
                ("apps.download.total", "100 KiB"),
                // The leaf has just registered, and polls.
                ("apps.download.start", "150 ms"),
                ("faults.out.type", "drop-frames"),
                ("faults.out.share", "100 %"),
                ("faults.out.from", "10 s"),
                ("faults.out.until", out_until),
            ];
            let report = run("sleepy-3", &download, 1, 300);
            let delivered = report.flows[0].delivered_bytes;
            assert_eq!(delivered, 100 * 1_024, "{from}, out until {out_until}");
        }
    }
}

/// Checks that nothing is lost end to end although the leaf's parent disappears twice.
#[test]
fn a_leaf_turns_to_another_parent_and_is_found_there() {
    for seed in 1..=5 {
        let report = run("sleepy-parents", &[], seed, 300);
        let readings = report.flows[0].delivered_bytes / 82;
        assert!(readings >= 298, "seed {seed}: {readings}");
        let leaf = node(&report, "leaf");
        assert_eq!(leaf.parent_changes, 2, "seed {seed}: {leaf:?}");
        assert!(!leaf.drops.contains_key("app.readings_queue_full"));
    }
}

/// Checks that downstream packets find the leaf through its new parent, even if the host sends
/// first after the change.
#[test]
fn downstream_packets_take_the_new_parent() {
    let download = [
        ("apps.readings.when", "never"),
        ("apps.page.type", "bulk-sink"),
        ("apps.page.on", "leaf"),
        ("apps.page.port", "5002"),
        ("apps.download.type", "bulk-sender"),
        ("apps.download.on", "root"),
        ("apps.download.to", "leaf:5002"),
        ("apps.download.total", "5 KiB"),
        ("apps.download.start", "100 s"),
        ("poll.base_interval", "2 s"),
    ];
    let report = run("sleepy-parents", &download, 1, 150);
    assert_eq!(report.flows[0].delivered_bytes, 5 * 1_024);
    assert_eq!(node(&report, "leaf").parent_changes, 1);
}

/// Checks that a listening leaf waits less if a frame that its parent repeats for another node is
/// preempted (Kumar et al. 2020 §8.2.3).
#[test]
fn making_way_for_a_listening_leaf_shortens_its_wait() {
    let listening = |preempt: &str| -> f64 {
        let upload = [
            ("indirect.preempt", preempt),
            ("mac.link_retry_delay", "100 ms"),
            ("apps.noise.type", "bulk-sender"),
            ("apps.noise.on", "node-3"),
            ("apps.noise.to", "node-1:5001"),
            ("faults.loss.type", "drop-frames"),
            ("faults.loss.sender", "node-3"),
            ("faults.loss.receiver", "node-2"),
            ("faults.loss.share", "30 %"),
        ];
        let reports = (1..=3).map(|seed| run("sleepy-3", &upload, seed, 120));
        let listens = reports.map(|report| node(&report, "node-4").energy.listen_s);
        listens.sum()
    };
    let (without, with) = (listening("false"), listening("true"));
    assert!(
        with < 0.9 * without,
        "{with} s with it, {without} s without"
    );
}

/// Checks that segments are marked. Their acknowledgments cannot be marked (RFC 3168 §6.1.4) and
/// may be dropped, which costs little.
#[test]
fn red_marks_packets_of_ecn_capable_flows() {
    // The fourth segment of a window waits.
    let window = [
        ("tcp.send_buffer", "1948 B"),
        ("tcp.receive_buffer", "1948 B"),
    ];
    let report = |red| {
        run(
            "line-3",
            &[&window[..], &[("lowpan.red", red)]].concat(),
            1,
            60,
        )
    };
    let (without, with) = (report("false"), report("true"));
    let marks = |report: &Report| report.nodes.iter().map(|node| node.ecn_marks).sum::<u64>();
    assert_eq!(marks(&without), 0);
    assert!(marks(&with) > 0);
    assert!(with.flows[0].goodput_kbps > 0.7 * without.flows[0].goodput_kbps);
}

/// Checks that a parent which waits for the announced segment sends nothing that the sleeping leaf
/// cannot receive: fewer link retries and less radio time.
#[test]
fn segments_of_a_sleepy_leaf_follow_one_another() {
    let costs = |pending: &str| -> (f64, u64) {
        let alone = [
            ("apps.readings.on", "leaf-13"),
            ("tcp.send_buffer", "1884 B"),
            ("lowpan.frame_pending", pending),
        ];
        let report = run("readings", &alone, 1, 1_200);
        let leaf = node(&report, "leaf-13");
        (leaf.radio_duty_cycle, leaf.frame_retries)
    };
    let ((apart_duty, apart), (duty, retries)) = (costs("false"), costs("true"));
    assert!(10 * retries < 9 * apart, "{retries}, {apart}");
    assert!(duty < 0.98 * apart_duty, "{duty}, {apart_duty}");
}

/// Opens a connection that fails, and does not release it.
struct Keeper {
    server: Endpoint,
}

impl App for Keeper {
    fn start(&mut self, cx: &mut Context<'_>) {
        let conn = cx.node.tcp_connect(cx.now, self.server).unwrap();
        cx.node.tcp_expect(conn, true);
    }

    fn on_event(&mut self, _cx: &mut Context<'_>, event: &NodeEvent) {
        assert!(!matches!(event, NodeEvent::Tcp(_, Event::Connected)));
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }
}

#[test]
fn a_failed_connection_that_is_kept_costs_no_data_requests() {
    let idle = [("apps.readings.when".to_owned(), "never".to_owned())];
    let scenario = Scenario::load("sleepy-3", &idle).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(1_000));
    let addr = scenario.address(0).unwrap();
    let server = Endpoint { addr, port: 81 };
    world.add_app(3, Box::new(Keeper { server }));
    world.run_until(Instant::from_millis(2_400_000));
    let report = world.report();
    let leaf = node(&report, "node-4");
    assert!((10..=30).contains(&leaf.data_requests), "{leaf:?}");
}

/// Checks a border router that is away for a day less ten minutes: a leaf that registers, changes
/// its parent and reconnects without success spends at most twice the radio time of a normal day.
#[test]
fn a_days_outage_costs_at_most_twice_a_normal_day() {
    let day = |readings: &'static str, more: &[(&str, &str)]| {
        let mut overrides = vec![
            ("faults.first.until", "61 s"),
            ("faults.second.until", "201 s"),
            ("apps.readings.interval", "1 min"),
            ("apps.readings.when", readings),
        ];
        overrides.extend(more);
        let report = run("sleepy-parents", &overrides, 1, 86_400);
        let leaf = node(&report, "leaf");
        (leaf.radio_duty_cycle, leaf.parent_changes)
    };
    let outage = [
        ("faults.out.type", "node-off"),
        ("faults.out.node", "root"),
        ("faults.out.from", "10 min"),
    ];
    for readings in ["never", "always"] {
        let (normal, _) = day(readings, &[]);
        let (without, changes) = day(readings, &outage);
        let times = without / normal;
        assert!(
            times <= 2.0,
            "{readings}: {times:.1} times, {changes} changes"
        );
    }
}
