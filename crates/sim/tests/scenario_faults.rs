//! Faults of nodes and of the host's link, and slow readers, as keys of a scenario.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

const LINE: &str = "duration = \"200 s\"\n[topology]\nkind = \"line\"\nnodes = 2\n\
                    spacing = \"10 m\"\n[nodes.node-1]\nrole = \"border\"\n\
                    [nodes.node-2]\nrole = \"leaf\"\n";

fn world(text: &str) -> World {
    let scenario = Scenario::parse("faults", &format!("{LINE}{text}"), &[]).unwrap();
    World::new(&scenario, 1).unwrap()
}

fn report_at(world: &mut World, seconds: u64) -> Report {
    world.run_until(Instant::from_millis(1_000 * seconds));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    report
}

const SINK: &str = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n";
const SENDER: &str = "[apps.bulk]\ntype = \"bulk-sender\"\non = \"node-2\"\nto = \"node-1:7\"\n";

#[test]
fn a_slow_reader_limits_the_sender() {
    let text = format!("{SINK}read_rate = \"100 B\"\n{SENDER}total = \"8000 B\"\n");
    let mut world = world(&text);
    let early = report_at(&mut world, 40).flows[0].delivered_bytes;
    assert!((3_500..=4_000).contains(&early), "{early}");
    let sent = world.report().flows[0].sent_bytes.unwrap_or_default();
    assert!(sent < 8_000, "the window was never closed: {sent}");
    assert_eq!(report_at(&mut world, 90).flows[0].delivered_bytes, 8_000);
}

#[test]
fn reordered_packets_arrive_late_and_the_stream_is_complete() {
    let delivered_at = |fault: &str| {
        let text = format!(
            "{fault}[apps.sink]\ntype = \"bulk-sink\"\non = \"host\"\nport = 7\n[apps.bulk]\n\
             type = \"bulk-sender\"\non = \"node-2\"\nto = \"host:7\"\ntotal = \"30000 B\"\n"
        );
        let report = report_at(&mut world(&text), 200);
        assert_eq!(report.flows[0].delivered_bytes, 30_000);
        (
            report.flows[0].last_arrival_s.unwrap(),
            report.flows[0].segments_sent,
        )
    };
    let (usual_s, usual) = delivered_at("");
    let (late_s, late) = delivered_at(
        "[faults.late]\ntype = \"reorder-packets\"\nshare = \"30 %\"\ndelay = \"2 s\"\n",
    );
    assert!(late_s > usual_s + 1.0, "{usual_s} {late_s}");
    assert!(late >= usual, "{usual} {late}");
}

#[test]
fn apps_over_tcp_begin_again_when_their_node_restarts() {
    let fault = "[faults.reboot]\ntype = \"node-restart\"\nnode = \"node-2\"\nfrom = \"1 s\"\n\
                 until = \"2 s\"\n";
    let text = format!("{fault}{SINK}{SENDER}total = \"30000 B\"\n");
    let report = report_at(&mut world(&text), 200);
    let delivered = report.flows[0].delivered_bytes;
    assert!((30_001..60_000).contains(&delivered), "{delivered}");
}

/// Checks that a sender gets a reset from a receiver that restarted, and connects again.
#[test]
fn a_receiver_that_restarts_gets_the_stream_again() {
    let fault = "[faults.reboot]\ntype = \"node-restart\"\nnode = \"node-2\"\nfrom = \"1 s\"\n\
                 until = \"2 s\"\n";
    let text = format!(
        "{fault}[apps.sink]\ntype = \"bulk-sink\"\non = \"node-2\"\nport = 7\n[apps.bulk]\n\
         type = \"bulk-sender\"\non = \"node-1\"\nto = \"node-2:7\"\ntotal = \"30000 B\"\n\
         [apps.page]\ntype = \"http-server\"\non = \"node-2\"\nfile = \"2 KiB\"\n\
         [apps.reader]\ntype = \"http-client\"\non = \"node-1\"\nto = \"node-2:80\"\n\
         interval = \"5 s\"\n"
    );
    let report = report_at(&mut world(&text), 200);
    let delivered = report
        .flows
        .iter()
        .map(|flow| (&*flow.name, flow.delivered_bytes));
    let delivered: Vec<_> = delivered.collect();
    let bulk = delivered.iter().find(|(name, _)| *name == "bulk").unwrap();
    assert!((30_001..60_000).contains(&bulk.1), "{delivered:?}");
    let requests = report.flows.iter().find_map(|flow| flow.requests).unwrap();
    assert!(requests.answered > 30, "{requests:?}");
}

#[test]
fn a_step_of_a_clock_expires_timers() {
    let sensor = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n\
                  [apps.readings]\ntype = \"sensor\"\non = \"node-2\"\nto = \"node-1:7\"\n\
                  transport = \"tcp\"\ninterval = \"10 s\"\n";
    let made = |fault: &str| {
        let report = report_at(&mut world(&format!("{fault}{sensor}")), 199);
        let readings = report.flows[0].readings.as_ref().unwrap();
        assert!(readings.delivered + 1 >= readings.made, "{readings:?}");
        readings.made
    };
    let step = "[faults.step]\ntype = \"clock-step\"\nnode = \"node-2\"\nfrom = \"50 s\"\n\
                by = \"300 s\"\n";
    assert_eq!(made(step), made("") + 30);
}

#[test]
fn a_clock_step_has_no_end() {
    let text = format!(
        "{LINE}[faults.step]\ntype = \"clock-step\"\nnode = \"node-2\"\nby = \"1 s\"\n\
         until = \"9 s\"\n"
    );
    let error = Scenario::parse("faults", &text, &[])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("faults.step.until: has no meaning"),
        "{error}"
    );
}

/// Checks that the image arrives if the leaf's node restarts before or after the app's start.
#[test]
fn an_image_leaf_continues_after_a_restart_before_and_after_its_start() {
    for start in [1, 20] {
        let text = format!(
            "[faults.reboot]\ntype = \"node-restart\"\nnode = \"node-2\"\nfrom = \"4 s\"\n\
             until = \"6 s\"\n[apps.source]\ntype = \"image-source\"\non = \"node-1\"\nport = 5683\n\
             file = \"30001 B\"\n[apps.image]\ntype = \"image-leaf\"\non = \"node-2\"\n\
             to = \"node-1:5683\"\nstart = \"{start} s\"\nretry = \"1 s\"\n"
        );
        let report = report_at(&mut world(&text), 200);
        let image = report.flows.iter().find_map(|flow| flow.image.as_ref());
        assert!(image.unwrap().took_s.is_some(), "start after {start} s");
    }
}
