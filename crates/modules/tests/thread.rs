//! Nodes with OpenThread in the simulator: leader, router, end devices, and packets between them.
//!
//! `make thread-test` builds the module and sets `REDPOLL_THREAD` to its path. Without this
//! variable, each test is listed as ignored.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_base::Instant;
use redpoll_experiments::{Case, Guests, Outcome, Results, Row, X, conduct, jobs, select};
use redpoll_sim::foreign::ForeignSpec;
use redpoll_sim::{PrintedLine, Scenario, World, WorldOptions};

/// A test that runs the module at the given path.
type Test = fn(&Path);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let module = std::env::var_os("REDPOLL_THREAD").map(PathBuf::from);
    let is_there = module.as_ref().is_some_and(|it| it.is_file());
    let file = module.unwrap_or_default();
    let tests: [(&str, Test); 13] = [
        ("a_line_has_a_leader_routers_and_children", line),
        ("a_sleepy_child_polls_for_its_packets", sleepy),
        ("an_end_device_gets_answers", end_device),
        ("runs_are_repeatable", repeatable),
        ("a_crash_leaves_a_partition_that_works", crash),
        ("both_tcps_transfer_streams_over_hops", both_tcps),
        ("goodput_of_both_tcps_over_hops", goodput),
        ("children_receive_over_all_transports", children),
        (
            "commands_reach_a_sleepy_device_over_all_transports",
            commands,
        ),
        ("eight_devices_and_a_lost_router_in_the_study", meshes),
        ("the_study_compares_the_transports", study),
        ("tcplp_transfers_a_stream_over_two_hops", tcp),
        ("routers_with_sleepy_children_form_a_partition", many),
    ];
    let trials = tests.map(|(name, test)| {
        let file = file.clone();
        let run = move || -> Result<(), Failed> {
            test(&file);
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(!is_there)
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Builds the world of a line of nodes, each with its scenario keys and console lines.
fn world(file: &Path, nodes: &[(&str, &[&str])], seed: u64) -> World {
    build(&text(file, nodes), seed)
}

fn text(file: &Path, nodes: &[(&str, &[&str])]) -> String {
    let mut text = format!(
        "[medium]\ntransmission_range = \"50 m\"\n[topology]\nkind = \"line\"\nspacing = \"40 m\"\n\
         nodes = {}\n[thread]\nmodule = \"{}\"\npoll_period = \"500 ms\"\n",
        nodes.len(),
        file.display()
    );
    for (index, (role, console)) in nodes.iter().enumerate() {
        text += &format!(
            "[nodes.node-{}]\nkind = \"openthread\"\n{role}\n",
            index + 1
        );
        if !console.is_empty() {
            text += &format!("console = {console:?}\n");
        }
    }
    text
}

fn build(text: &str, seed: u64) -> World {
    let scenario = Scenario::parse("thread.toml", text, &[]).unwrap_or_else(|it| panic!("{it}"));
    let options = WorldOptions {
        seed: Some(seed),
        guests: Some(&redpoll_modules::load_guest),
        ..WorldOptions::default()
    };
    World::with(scenario, options).unwrap_or_else(|it| panic!("{it}"))
}

fn run(world: &mut World, seconds: u64) -> Vec<PrintedLine> {
    world.run_until(Instant::from_millis(seconds * 1_000));
    assert_eq!(world.report().oracle.violations, [""; 0]);
    let lines = world.take_printed();
    let refused = lines.iter().find(|it| it.text.starts_with("Error"));
    assert_eq!(refused, None, "each console line is accepted");
    lines
}

fn after(lines: &[PrintedLine], node: usize, seconds: u64) -> Vec<&str> {
    let from = Instant::from_millis(seconds * 1_000);
    let own = lines.iter().filter(|it| it.node == node && it.at >= from);
    own.map(|it| it.text.as_str()).collect()
}

/// Address of the current leader (Thread's leader anycast locator).
const LEADER: &str = "fd72:6564:7468:0:0:ff:fe00:fc00";
const ROUTER: &str = "";
const END_DEVICE: &str = "role = \"leaf\"";
const SLEEPY: &str = "role = \"leaf\"\nsleepy = true";

fn line(file: &Path) {
    let state: &[&str] = &["300 s: state"];
    let pings: &[&str] = &["300 s: state", "310 s: ping ff03::1 64 1 1 5"];
    let nodes = [
        (ROUTER, pings),
        (ROUTER, state),
        (ROUTER, state),
        (END_DEVICE, state),
    ];
    let lines = run(&mut world(file, &nodes, 1), 330);
    let states: Vec<_> = (0..4).map(|node| after(&lines, node, 300)[0]).collect();
    let of = |role| states.iter().filter(|it| **it == role).count();
    assert_eq!((of("leader"), states[3]), (1, "child"), "{states:?}");
    assert!(of("router") >= 1, "{states:?}");
    let answers = after(&lines, 0, 310);
    let answers = answers.iter().filter_map(|it| round_trip_ms(it));
    assert_eq!(answers.count(), 3, "{:?}", after(&lines, 0, 300));
}

/// A non-sleepy end device sends from an address that its parent knows.
fn end_device(file: &Path) {
    let ping = format!("300 s: ping {LEADER} 64 5 10");
    let nodes: [(&str, &[&str]); 2] = [(ROUTER, &[]), (END_DEVICE, &["299 s: state", &ping])];
    let lines = run(&mut world(file, &nodes, 1), 360);
    let told = after(&lines, 1, 299);
    assert_eq!(told[0], "child", "{told:?}");
    let answers = told.iter().filter_map(|it| round_trip_ms(it));
    assert_eq!(answers.count(), 5, "{told:?}");
}

/// The answer to a sleepy child waits at the parent for the child's next data request.
fn sleepy(file: &Path) {
    let ping = format!("300 s: ping {LEADER} 64 5 10");
    let nodes: [(&str, &[&str]); 2] = [(ROUTER, &[]), (SLEEPY, &["299 s: state", &ping])];
    let mut world = world(file, &nodes, 1);
    let lines = run(&mut world, 360);
    let told = after(&lines, 1, 299);
    assert_eq!(told[0], "child", "{told:?}");
    let times: Vec<u64> = told.iter().filter_map(|it| round_trip_ms(it)).collect();
    assert_eq!(times.len(), 5, "{told:?}");
    assert!(times.iter().all(|it| *it <= 550), "{times:?}");
    assert!(times.iter().any(|it| *it > 50), "{times:?}");
    let duty = world.air().stations()[1].times.duty_cycle(world.now());
    assert!(duty < 0.1, "{duty}");
}

fn repeatable(file: &Path) {
    let nodes: [(&str, &[&str]); 5] = [
        (ROUTER, &["100 s: state"]),
        (ROUTER, &["100 s: state"]),
        (ROUTER, &["100 s: rloc16"]),
        (END_DEVICE, &["100 s: state"]),
        (SLEEPY, &["100 s: state"]),
    ];
    let one = |seed| {
        let mut world = world(file, &nodes, seed);
        let lines = run(&mut world, 150);
        (world.digest(), lines)
    };
    let first = one(7);
    assert_eq!(first, one(7));
    assert_ne!(first.0, one(8).0);
}

/// A failed node stays silent. After the leader timeout, the other nodes have one leader.
fn crash(file: &Path) {
    for failing in [0, 3] {
        let nodes: Vec<(&str, &[&str])> = (0..4)
            .map(|node| match node == failing {
                true => (ROUTER, &["250 s: state", "251 s: reset"] as &[&str]),
                false => (ROUTER, &["250 s: state", "900 s: state"] as &[&str]),
            })
            .collect();
        let mut world = world(file, &nodes, 2);
        let lines = run(&mut world, 901);
        let failed = world.failed_firmware();
        assert!(failed.len() == 1 && failed[0].node == failing, "{failed:?}");
        let left = (0..4).filter(|node| *node != failing);
        let states: Vec<_> = left.map(|node| after(&lines, node, 900)[0]).collect();
        let leaders = states.iter().filter(|it| **it == "leader").count();
        assert_eq!(leaders, 1, "{states:?}");
        assert!(!states.contains(&"detached"), "{states:?}");
    }
}

/// OpenThread's own TCP, controlled by its console commands.
fn tcp(file: &Path) {
    const BYTES: usize = 20_000;
    let listens = ["200 s: tcp init", "201 s: tcp listen :: 30000"];
    let connect = format!("210 s: tcp connect {LEADER} 30000");
    let run_it = format!("220 s: tcp benchmark run {BYTES}");
    let sends = ["200 s: tcp init", &connect, &run_it];
    // Find a seed with which node 0 leads, because the other end of the line sends.
    for seed in 1..10 {
        let asked: (&str, &[&str]) = (ROUTER, &["100 s: state"]);
        let found = run(&mut world(file, &[asked; 3], seed), 101);
        if after(&found, 0, 100)[0] != "leader" {
            continue;
        }
        let nodes: [(&str, &[&str]); 3] = [(ROUTER, &listens), (ROUTER, &[]), (ROUTER, &sends)];
        let lines = run(&mut world(file, &nodes, seed), 400);
        let told = after(&lines, 2, 210);
        let end = format!("TCP Benchmark Complete: Transferred {BYTES} bytes");
        assert!(told.iter().any(|it| it.starts_with(&end)), "{told:?}");
        let goodput = told.iter().find(|it| it.starts_with("TCP Goodput"));
        println!("TCPlp, two hops, {BYTES} bytes: {goodput:?}");
        let received = after(&lines, 0, 210).into_iter().filter_map(|it| {
            let (count, bytes) = it.strip_prefix("TCP: Received ")?.split_once(" bytes: ")?;
            let count: usize = count.parse().ok()?;
            assert!(
                bytes.len() == count && bytes.bytes().all(|it| it == b'a'),
                "{it}"
            );
            Some(count)
        });
        assert_eq!(received.sum::<usize>(), BYTES);
        return;
    }
    panic!("node-1 is the leader with none of nine seeds");
}

/// A transfer between apps at the two ends of a line.
struct Transfer {
    tcp: &'static str,
    hops: usize,
    is_upwards: bool,
    /// Size of the buffers of both ends in bytes.
    buffer: u32,
    /// Probability of losing a frame or a link-layer acknowledgment.
    loss: f64,
    seed: u64,
}

impl Transfer {
    /// Returns the goodput in kb/s. The oracle compares every byte.
    ///
    /// # Errors
    /// The transfer did not end within 400 s, a byte is wrong, or the firmware of a node failed.
    fn run(&self, file: &Path) -> Result<f64, String> {
        const BYTES: u64 = 40_000;
        let nodes = self.hops + 1;
        let (from, to) = match self.is_upwards {
            true => (nodes, 1),
            false => (1, nodes),
        };
        let Transfer {
            tcp, buffer, loss, ..
        } = self;
        let keys = format!(
            "[tcp]\nsend_buffer = \"{buffer} B\"\nreceive_buffer = \"{buffer} B\"\n\
             [apps.sink]\ntype = \"bulk-sink\"\non = [\"node-{to}\"]\nport = 5001\n\
             [apps.bulk]\ntype = \"bulk-sender\"\non = [\"node-{from}\"]\n\
             to = \"node-{to}:5001\"\ntotal = \"{BYTES} B\"\nstart = \"200 s\"\n"
        );
        let text = text(file, &vec![(ROUTER, &[] as &[&str]); nodes]) + &keys;
        let text = text.replace("[thread]", &format!("[thread]\ntcp = \"{tcp}\""));
        let share = 100.0 * (1.0 - loss);
        let medium = format!("[medium]\nsuccess_ratio_tx = \"{share} %\"");
        let text = text.replace("[medium]", &medium);
        let mut world = build(&text, self.seed);
        world.run_until(Instant::from_millis(600_000));
        let report = world.report();
        let failed = world.failed_firmware().iter().map(|it| &it.text);
        if let Some(problem) = report.oracle.violations.iter().chain(failed).next() {
            return Err(problem.clone());
        }
        let bulk = report.flows.iter().find(|it| it.name == "bulk");
        match bulk.map_or(0, |it| it.delivered_bytes) {
            BYTES => Ok(bulk.map_or(0.0, |it| it.goodput_kbps)),
            bytes => Err(format!("stopped after {bytes} bytes")),
        }
    }
}

/// Both TCPs transfer in both directions over two hops.
fn both_tcps(file: &Path) {
    for is_upwards in [true, false] {
        for tcp in ["tcplp", "redpoll"] {
            let transfer = Transfer {
                tcp,
                hops: 2,
                is_upwards,
                buffer: 1_848,
                loss: 0.0,
                seed: 1,
            };
            println!("{tcp}: {:.1} kb/s", transfer.run(file).unwrap());
        }
    }
}

/// Prints the goodput of both TCPs under the same conditions. All transfers of Redpoll must
/// succeed. Without `REDPOLL_THREAD_LONG`, each TCP runs one transfer.
fn goodput(file: &Path) {
    let is_long = std::env::var_os("REDPOLL_THREAD_LONG").is_some();
    let (buffers, most): (&[u32], _) = match is_long {
        true => (&[1_848, 2_309, 3_695], 4),
        false => (&[2_309], 1),
    };
    let seeds = 1..=if is_long { 3 } else { 1 };
    println!("loss, buffers, hops: kb/s of TCPlp and Redpoll, one value for each seed");
    for loss in [0.0, 0.1] {
        for buffer in buffers.iter().copied() {
            for hops in 1..=most {
                let [tcplp, redpoll] = ["tcplp", "redpoll"].map(|tcp| {
                    let run = |seed| {
                        let transfer = Transfer {
                            tcp,
                            hops,
                            is_upwards: true,
                            buffer,
                            loss,
                            seed,
                        };
                        transfer.run(file)
                    };
                    seeds.clone().map(run).collect::<Vec<_>>()
                });
                assert!(redpoll.iter().all(Result::is_ok), "{redpoll:?}");
                let show = |all: &[Result<f64, String>]| {
                    let one = |it: &Result<f64, String>| match it {
                        Ok(kbps) => format!("{kbps:.1}"),
                        Err(problem) => format!("({problem})"),
                    };
                    all.iter().map(one).collect::<Vec<_>>().join(" ")
                };
                println!(
                    "{loss}, {buffer} B, {hops}: {} | {}",
                    show(&tcplp),
                    show(&redpoll)
                );
            }
        }
    }
}

/// Each kind of end device receives from a router, and sends to it, over each transport. The oracle
/// compares every byte.
fn children(file: &Path) {
    for transport in ["redpoll", "tcplp", "coap"] {
        for leaf in [END_DEVICE, SLEEPY] {
            for (from, to) in [(1, 3), (3, 1)] {
                let nodes: [(&str, &[&str]); 3] = [(ROUTER, &[]), (ROUTER, &[]), (leaf, &[])];
                let keys = format!(
                    "[apps.sink]\ntype = \"bulk-sink\"\non = [\"node-{to}\"]\nport = 5001\n\
                     [apps.bulk]\ntype = \"bulk-sender\"\non = [\"node-{from}\"]\n\
                     to = \"node-{to}:5001\"\ntotal = \"10000 B\"\nstart = \"200 s\"\n"
                );
                let text = text(file, &nodes) + &keys;
                let text = text.replace("[thread]", &format!("[thread]\ntcp = \"{transport}\""));
                let mut world = build(&text, 1);
                world.run_until(Instant::from_millis(260_000));
                let place = format!("{transport}, {leaf:?}, from node-{from}");
                assert_eq!(world.failed_firmware(), [], "{place}");
                let report = world.report();
                assert_eq!(report.oracle.violations, [""; 0], "{place}");
                let bulk = report.flows.iter().find(|it| it.name == "bulk");
                let delivered = bulk.map_or(0, |it| it.delivered_bytes);
                assert_eq!(delivered, 10_000, "{place}: {:?}", world.take_printed());
            }
        }
    }
}

/// A short form of the study: 100,000 bytes over one hop with each transport and one seed.
fn study(file: &Path) {
    let is_one_hop = |case: &Case| case.scene().name == "thread-1-ftd";
    let rows = figure(file, "hops", 5, is_one_hop, |x| *x == X::Number(1.0));
    assert_eq!(rows.len(), 15);
    for row in &rows {
        let (least, most) = match row.metric {
            "goodput" => (20.0, 250.0),
            "complete transfers" => (1.0, 1.0),
            _ => (0.0, 0.0),
        };
        let value = row.value.unwrap();
        assert!(value >= least && value <= most, "{row:?}");
    }
}

/// The study's figures with several paths and several receivers, without additional loss: each
/// transfer completes, and only CoAP may begin one again.
fn meshes(file: &Path) {
    let is_lossless = |case: &Case| !case.changes().iter().any(|(key, _)| key.contains("loss"));
    for name in ["fleet", "router-lost"] {
        let rows = figure(file, name, 5, is_lossless, |x| *x == X::Number(0.0));
        assert_eq!(rows.len(), 20);
        for row in &rows {
            let (least, most) = match row.metric {
                "complete transfers" => (1.0, 1.0),
                "aborts" if row.series == "CoAP" => (0.0, 1_000.0),
                "aborts" => (0.0, 0.0),
                // Eight equal transfers have at least 1/8.
                "Jain's index" => (0.125, 1.0),
                // The lost router interrupts each transfer.
                "longest pause" => (2.0, 60.0),
                _ => (60.0, 1_000.0),
            };
            let value = row.value.unwrap();
            assert!(value >= least && value <= most, "{row:?}");
        }
    }
}

/// Commands to a sleepy device that polls every second arrive with the next poll, over each
/// transport.
fn commands(file: &Path) {
    let has_period = |case: &Case| {
        let mut changes = case.changes().iter();
        changes.any(|(key, value)| key == "thread.poll_period" && value == "1000 ms")
    };
    let rows = figure(file, "lock", 4, has_period, |x| *x == X::Number(1_000.0));
    let rows = rows
        .iter()
        .filter(|row| row.series != "TCPlp, best settings");
    for row in rows.clone() {
        let (least, most) = match row.metric {
            "median latency" => (350.0, 650.0),
            "95th percentile of latency" => (800.0, 1_100.0),
            "idle charge" => (100.0, 400.0),
            _ => (0.0, 0.0),
        };
        let value = row.value.unwrap();
        assert!(value >= least && value <= most, "{row:?}");
    }
    assert_eq!(rows.count(), 16);
}

/// Runs the `count` cases of a figure of the study that `keep` selects, with one seed. Prints and
/// returns the rows at the positions that `at` selects.
fn figure(
    file: &Path,
    name: &str,
    count: usize,
    keep: impl Fn(&Case) -> bool,
    at: impl Fn(&X) -> bool,
) -> Vec<Row> {
    let study = redpoll_studies::find("thread").unwrap();
    let figures = select(study.load().unwrap(), &[name.to_owned()]).unwrap();
    let results = format!("redpoll-{}-{name}.sqlite", std::process::id());
    let results = std::env::temp_dir().join(results);
    let _ = std::fs::remove_file(&results);
    let stored = Results::open(&results, "sources").unwrap();
    let mut jobs = jobs(&figures, 1, &stored).unwrap();
    jobs.retain(|job| keep(&job.case));
    assert_eq!(jobs.len(), count, "{name}");
    let module = file.to_owned();
    let guests = Guests::new(move |spec: &ForeignSpec<'_>| {
        let module = &module;
        redpoll_modules::load_guest(&ForeignSpec { module, ..*spec })
    });
    for job in &mut jobs {
        job.case = job.case.clone().with_guests(guests.clone());
    }
    let outcome = conduct(&jobs, 2, &stored, &mut |_, _| true).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    let rows = figures[0].rows(study.name, &stored, 1).unwrap();
    let rows: Vec<Row> = rows.into_iter().filter(|row| at(&row.x)).collect();
    for row in &rows {
        println!(
            "{name}: {}: {} {:?} {}",
            row.series, row.metric, row.value, row.unit
        );
        assert_eq!(row.violation, None, "{row:?}");
    }
    drop(stored);
    std::fs::remove_file(&results).unwrap();
    rows
}

/// With 32 routers and 64 sleepy children, all nodes form one partition. Each child sends an echo
/// request to the leader every minute, at its own offset.
///
/// Without `REDPOLL_THREAD_LONG` the test has a quarter of the nodes and takes a tenth of the time.
fn many(file: &Path) {
    let is_long = std::env::var_os("REDPOLL_THREAD_LONG").is_some();
    let (columns, rows) = if is_long { (12, 8) } else { (6, 4) };
    let count = columns * rows;
    let sleepy = count * 2 / 3;
    let pings: Vec<String> = (0..count)
        .map(|node| format!("{} ms: ping {LEADER} 32 5 60", 600_000 + node * 600))
        .collect();
    let lines: Vec<[&str; 2]> = (pings.iter().map(|ping| ["599 s: state", ping])).collect();
    let nodes: Vec<(&str, &[&str])> = (lines.iter().enumerate())
        .map(|(node, lines)| match node % 3 {
            1 => (ROUTER, &lines[..1]),
            _ => (SLEEPY, &lines[..]),
        })
        .collect();
    let text = text(file, &nodes).replace(
        &format!("kind = \"line\"\nspacing = \"40 m\"\nnodes = {count}\n"),
        &format!("kind = \"grid\"\nspacing = \"15 m\"\ncolumns = {columns}\nrows = {rows}\n"),
    );
    let mut world = build(&text, 1);
    let began = std::time::Instant::now();
    let lines = run(&mut world, 960);
    let speed = 960.0 / began.elapsed().as_secs_f64();
    let routers = count - sleepy;
    println!(
        "{routers} routers, {sleepy} sleepy children: {speed:.0} simulated seconds per second"
    );
    let states: Vec<_> = (0..count).map(|node| after(&lines, node, 599)[0]).collect();
    let of = |role| states.iter().filter(|it| **it == role).count();
    assert_eq!((of("leader"), of("detached")), (1, 0), "{states:?}");
    let children = (0..count).filter(|node| node % 3 != 1);
    let answers: usize = children
        .map(|node| {
            let told = after(&lines, node, 600);
            told.iter().filter_map(|it| round_trip_ms(it)).count()
        })
        .sum();
    println!("answers: {answers} of {}", sleepy * 5);
    assert!(answers >= sleepy * 5 * 95 / 100, "{answers}");
}

/// Parses the time of a reply such as `40 bytes from fd00::1: icmp_seq=1 hlim=64 time=12ms`.
fn round_trip_ms(line: &str) -> Option<u64> {
    let (_, time) = line.split_once("bytes from")?.1.split_once("time=")?;
    time.strip_suffix("ms")?.parse().ok()
}
