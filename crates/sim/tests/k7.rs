//! Measured links, tested by their deliveries.

use redpoll_base::Instant;
use redpoll_sim::live::{FrameClass, Outcome};
use redpoll_sim::{Role, Scenario, World};

const HEAD: &str = "{\"node_count\": 3, \"channels\": [11, 26]}\n\
                    datetime,src,dst,channel,mean_rssi,pdr,tx_count\n";

/// Creates a scenario and a file of the measurements `rows` in a new folder. `node-1` sends 20
/// readings a second to `node-0`, without retries.
fn scenario(name: &str, rows: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("links.k7"), format!("{HEAD}{rows}")).unwrap();
    let text = "duration = \"500 s\"\n[topology]\nkind = \"k7\"\nfile = \"links.k7\"\n\
                [medium]\nmodel = \"sinr\"\n[radio]\nmodel = \"ideal\"\n\
                [mac]\nmax_frame_retries = 0\n[nodes.node-0]\nrole = \"border\"\n\
                [apps.readings]\ntype = \"sensor\"\non = \"node-1\"\nto = \"node-0:7\"\n\
                transport = \"udp\"\nreading = \"60 B\"\ninterval = \"50 ms\"\n";
    let file = folder.join("s.toml");
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    Scenario::parse(file.to_str().unwrap(), text, &overrides).map_err(|error| error.to_string())
}

fn share(world: &World, kind: FrameClass) -> f64 {
    let ledger = world.air().ledger();
    ledger.count(kind, Outcome::Delivered) as f64 / ledger.opened(kind) as f64
}

/// Checks that the share of delivered frames is within 2 % (four standard deviations).
#[test]
fn of_the_frames_over_a_link_as_many_arrive_as_were_measured_each_way() {
    let rows = "2018-01-11T16:00:00.0,1,0,26,-60,0.63,100\n\
                2018-01-11T16:00:11.0,0,1,26,-61,0.91,100\n";
    for (model, seed) in [("sinr", 1), ("unit-disk", 2)] {
        let scenario = scenario("shares", rows, &[("medium.model", model)]).unwrap();
        let mut world = World::new(&scenario, seed).unwrap();
        world.run_until(Instant::from_millis(500_000));
        assert!(world.air().ledger().opened(FrameClass::Unicast) > 9_900);
        let (frames, acks) = (
            share(&world, FrameClass::Unicast),
            share(&world, FrameClass::Ack),
        );
        assert!((frames - 0.63).abs() < 0.02, "{model}: {frames}");
        assert!((acks - 0.91).abs() < 0.02, "{model}: {acks}");
    }
}

/// Checks measurements at 0 s, 200 s and 400 s of the file; at 200 s `node-0` received nothing from
/// `node-1`.
#[test]
fn links_change_at_their_next_measurement() {
    let rows = "2018-01-11T16:00:00.0,1,0,26,-60,1.0,100\n\
                2018-01-11T16:00:00.0,0,1,26,-60,1.0,100\n\
                2018-01-11T16:00:00.0,1,2,26,-60,1.0,100\n\
                2018-01-11T16:03:20.0,1,2,26,-60,1.0,100\n\
                2018-01-11T16:06:40.0,1,0,26,-60,0.5,100\n";
    let delivered = |from: &str, until_s: u64| {
        let scenario = scenario("replay", rows, &[("topology.from", from)]).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        let mut before = (0, 0);
        let mut shares = Vec::new();
        for at in (100..=until_s).step_by(100) {
            world.run_until(Instant::from_millis(at * 1_000));
            let ledger = world.air().ledger();
            let now = (
                ledger.count(FrameClass::Unicast, Outcome::Delivered),
                ledger.opened(FrameClass::Unicast),
            );
            shares.push((now.0 - before.0) as f64 / (now.1 - before.1) as f64);
            before = now;
        }
        shares
    };
    let shares = delivered("0 s", 500);
    assert_eq!(&shares[..4], [1.0, 1.0, 0.0, 0.0]);
    assert!((shares[4] - 0.5).abs() < 0.05, "{shares:?}");
    assert!((delivered("400 s", 100)[0] - 0.5).abs() < 0.05);
}

#[test]
fn power_and_border_router_are_the_files() {
    let rows = "2018-01-11T16:00:00.0,1,0,26,-60.4,1.0,100\n\
                2018-01-11T16:00:00.0,0,1,26,-72.6,0.5,100\n\
                2018-01-11T16:00:00.0,2,0,26,-80,1.0,100\n\
                2018-01-11T16:00:00.0,0,2,26,-80,1.0,100\n\
                2018-01-11T16:00:00.0,1,2,11,-50,1.0,100\n\
                2018-01-11T16:00:00.0,2,1,11,-50,1.0,100\n\
                2018-01-11T16:00:00.0,1,0,11,-50,1.0,100\n\
                2018-01-11T16:00:00.0,0,1,11,-50,1.0,100\n";
    let of_channel = scenario("border", rows, &[]).unwrap();
    let world = World::new(&of_channel, 1).unwrap();
    let links = world.air().medium().links();
    let rssi = |from, to| links.find(from, to).map(|link| link.rssi_dbm);
    assert_eq!([rssi(1, 0), rssi(0, 1)], [Some(-60), Some(-73)]);
    assert_eq!(rssi(1, 2), None, "not on this channel");
    // Without a border router, the root is the node with the best links.
    let border = |channel: &str| {
        let overrides = [
            ("topology.channel", channel),
            ("nodes.node-0.role", "router"),
        ];
        let scenario = scenario("border", rows, &overrides).unwrap();
        let is_border = |node: &redpoll_sim::NodeSpec| node.role == Role::Border;
        scenario.nodes.iter().position(is_border)
    };
    assert_eq!((border("26"), border("11")), (Some(0), Some(1)));
}

/// Checks that two hops with 0.9 in each direction are preferred to one with 0.3.
#[test]
fn paths_need_the_fewest_transmissions() {
    let row = |from: u8, to: u8, pdr: f64| {
        format!("2018-01-11T16:00:00.0,{from},{to},26,-70,{pdr},100\n")
    };
    for (direct, hops) in [(0.3, 2), (0.9, 1)] {
        let mut rows = row(0, 1, direct) + &row(1, 0, direct);
        for (a, b) in [(0, 2), (2, 0), (1, 2), (2, 1)] {
            rows += &row(a, b, 0.9);
        }
        let scenario = scenario(&format!("paths-{hops}"), &rows, &[]).unwrap();
        let world = World::new(&scenario, 1).unwrap();
        assert_eq!(world.routes().nodes[1].hops_to_root, Some(hops), "{direct}");
    }
}

#[test]
fn a_wrong_file_is_reported_by_line_and_column() {
    let row = "2018-01-11T16:00:00.0,1,0,26,-60,1.0,100\n";
    let error = scenario(
        "wrong",
        &format!("{row}2018-01-11T16:00:00.0,1,0,26,-60,1.5,100\n"),
        &[],
    );
    let error = error.unwrap_err();
    assert!(
        error.contains("links.k7:4:34: pdr: got \"1.5\"; allowed: a number from 0 to 1"),
        "{error}"
    );
    let error = scenario("wrong", row, &[("topology.channel", "15")]).unwrap_err();
    assert!(
        error.contains("links.k7:1:1: the file has no channel 15; allowed: 11, 26"),
        "{error}"
    );
    let error = scenario("wrong", row, &[("topology.file", "no-such.k7")]).unwrap_err();
    assert!(
        error.starts_with("--set topology.file=no-such.k7: topology.file: got the file"),
        "{error}"
    );
    let error = scenario("wrong", row, &[("nodes.node-9.role", "leaf")]).unwrap_err();
    assert!(
        error.contains("nodes.node-9: got the unknown node"),
        "{error}"
    );
    let error = scenario("wrong", row, &[("topology.from", "1 h")]).unwrap_err();
    assert!(
        error.contains(
            "topology.from: got 1 h; allowed: at most 0 us, the time of the file's last row"
        ),
        "{error}"
    );
    let error = scenario("wrong", row, &[("medium.tx_power", "4 dBm")]).unwrap_err();
    assert!(
        error.contains("medium.tx_power: has no meaning where topology.kind is k7"),
        "{error}"
    );
    let error = scenario("wrong", row, &[("medium.fading", "rayleigh")]).unwrap_err();
    assert!(
        error.contains("medium.fading: has no meaning where topology.kind is k7"),
        "{error}"
    );
}

#[test]
fn the_corridor_carries_data() {
    for channel in ["26", "15"] {
        let overrides = [("topology.channel".to_owned(), channel.to_owned())];
        let scenario = Scenario::load("k7-corridor", &overrides).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(30_000));
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
        assert!(report.flows[0].goodput_kbps > 5.0, "{:?}", report.flows[0]);
    }
}
