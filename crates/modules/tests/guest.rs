//! Firmware with the interface of `redpoll_module.h`: the example, and firmware with mistakes.

mod support;

use std::path::{Path, PathBuf};

use redpoll_base::Instant;
use redpoll_sim::{BuildError, PrintedLine, Scenario, World, WorldOptions};

use support::compile_guest as compile;

fn scenario(modules: &[&Path], console: &[(usize, &str)], patience: &str) -> String {
    let mut text = format!(
        "[modules]\npatience = \"{patience}\"\n[medium]\ntransmission_range = \"50 m\"\n\
         [topology]\nkind = \"line\"\nspacing = \"40 m\"\nnodes = {}\n",
        modules.len()
    );
    for (index, module) in modules.iter().enumerate() {
        let lines = console.iter().filter(|(node, _)| *node == index);
        let lines: Vec<_> = lines.map(|(_, line)| format!("{line:?}")).collect();
        text += &format!(
            "[nodes.node-{}]\nkind = \"module\"\ninterface = \"redpoll\"\nmodule = \"{}\"\n",
            index + 1,
            module.display()
        );
        if !lines.is_empty() {
            text += &format!("console = [{}]\n", lines.join(", "));
        }
    }
    text
}

fn world(text: &str, seed: u64) -> Result<World, BuildError> {
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|it| panic!("{it}"));
    let options = WorldOptions {
        seed: Some(seed),
        guests: Some(&redpoll_modules::load_guest),
        ..WorldOptions::default()
    };
    World::with(scenario, options)
}

fn run(world: &mut World, seconds: u64) -> Vec<PrintedLine> {
    world.run_until(Instant::from_millis(seconds * 1_000));
    assert_eq!(world.report().oracle.violations, [""; 0]);
    world.take_printed()
}

fn of<'a>(lines: &'a [PrintedLine], node: usize, word: &str) -> Vec<&'a str> {
    let own = lines.iter().filter(|line| line.node == node);
    own.filter_map(|line| line.text.strip_prefix(word))
        .map(str::trim)
        .collect()
}

fn failures(world: &World) -> Vec<(usize, &str)> {
    let failed = world.failed_firmware().iter();
    failed.map(|it| (it.node, it.text.as_str())).collect()
}

/// Broadcasts reach the neighbours only. A unicast to a neighbour is acknowledged, and a unicast to
/// a missing node is not.
#[test]
fn the_example_sends_receives_and_measures() {
    let module = compile("example", &[]);
    let console = [
        (0, "5.5 s: ask 2"),
        (0, "6.5 s: ask 9"),
        (1, "7.5 s: energy"),
        (2, "8 s: set hello"),
        (2, "9 s: get"),
        (0, "9 s: get"),
    ];
    let mut world = world(&scenario(&[&*module; 3], &console, "10 s"), 1).unwrap();
    let lines = run(&mut world, 20);
    let heard = |node| of(&lines, node, "heard");
    assert!((17..=20).contains(&heard(0).len()), "{:?}", heard(0));
    assert!(heard(0).iter().all(|it| *it == "2") && heard(2).iter().all(|it| *it == "2"));
    let both = ["1", "3"].map(|it| heard(1).iter().filter(|by| **by == it).count());
    assert!(both.iter().all(|it| (17..=20).contains(it)), "{both:?}");
    assert_eq!(of(&lines, 1, "asked"), ["1"]);
    assert_eq!(
        of(&lines, 0, "outcome"),
        ["1", "3"],
        "acknowledged, then not"
    );
    assert_eq!(of(&lines, 1, "energy"), ["100"]);
    assert_eq!(of(&lines, 2, "stored"), ["5"]);
    assert_eq!(of(&lines, 0, "stored"), ["4294967295"], "not stored there");
    assert_eq!(failures(&world), []);
}

/// Two hundred nodes of one file keep separate globals and random numbers, and a run is repeatable.
#[test]
fn two_hundred_nodes_of_one_file_share_no_state() {
    let module = compile("many", &[]);
    let digest = |nodes: usize, seed| {
        let console: Vec<_> = (0..nodes).map(|node| (node, "4 s: sent")).collect();
        let text = scenario(&vec![&*module; nodes], &console, "10 s");
        let mut world = world(&text, seed).unwrap();
        let lines = run(&mut world, 5);
        for node in 0..nodes {
            let sent: u32 = of(&lines, node, "sent")[0].parse().unwrap();
            assert!((2..=4).contains(&sent), "node {node} counted {sent}");
        }
        let begins: Vec<_> = (0..3).map(|it| of(&lines, it, "begins").concat()).collect();
        (world.digest(), begins)
    };
    let (first, again) = (digest(200, 7), digest(200, 7));
    assert_eq!(first, again);
    assert_eq!(first.1, digest(3, 7).1, "independent of other nodes");
    assert_ne!(first.0, digest(200, 8).0);
}

/// A run reports firmware that fails, and the other nodes continue.
#[test]
fn firmware_that_fails_leaves_the_others_alone() {
    let module = compile("fails", &[]);
    for (line, expected) in [
        ("4 s: crash", "crashed (SIGABRT"),
        ("4 s: hang", "hangs: a call has not returned for 0.5 s"),
        ("4 s: nonsense", "unknown console line"),
    ] {
        let text = scenario(&[&*module; 3], &[(1, line), (0, "9.5 s: sent")], "500 ms");
        let mut world = world(&text, 1).unwrap();
        let lines = run(&mut world, 10);
        let failed = failures(&world);
        assert!(
            matches!(failed[..], [(1, told)] if told.contains(expected) && !told.contains('\n')),
            "{failed:?}"
        );
        let sent: u32 = of(&lines, 0, "sent")[0].parse().unwrap();
        assert!(sent >= 7, "node-1 continued: {sent}");
        let late = lines.iter().filter(|it| it.node == 1);
        assert!(late.map(|it| it.at).max() <= Some(Instant::from_millis(4_000)));
    }
}

/// Each problem during loading is reported in one line, which says what to do.
#[test]
fn a_file_that_cannot_be_used_is_named_with_the_remedy() {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let hangs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/hangs.h");
    let cases: [(PathBuf, &str); 6] = [
        (
            compile("version", &["-DREDPOLL_MODULE_VERSION=7"]),
            "was built with version 7 of redpoll_module.h; allowed: version 2; build it with",
        ),
        (
            compile("symbol", &["-Dredpoll_module=another"]),
            "has no symbol redpoll_module; allowed:",
        ),
        (
            compile("unresolved", &["-Dcalloc=nowhere_defined"]),
            "undefined symbol: nowhere_defined",
        ),
        (
            compile("hangs-on-load", &["-include", hangs]),
            "hangs: a call has not returned for 0.5 s",
        ),
        (text, "is not a module ("),
        ("/nowhere/node.so".into(), "cannot be read (No such file"),
    ];
    for (file, expected) in cases {
        let error = world(&scenario(&[&*file], &[], "500 ms"), 1).unwrap_err();
        let told = error.to_string();
        assert!(told.starts_with("nodes.node-1.module: got "), "{told}");
        assert!(told.contains(expected) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn console_lines_and_interfaces_are_checked() {
    let base = scenario(&[Path::new("node.so")], &[], "1 s");
    for (change, expected) in [
        (
            "console = [\"soon: state\"]",
            "got \"soon: state\"; allowed: a time and a line",
        ),
        ("console = [\"1 s:\"]", "allowed: a time and a line"),
        (
            "console = \"1 s: state\"",
            "allowed: a list of lines, each after its time",
        ),
    ] {
        let text = format!("{base}{change}\n");
        let error = Scenario::parse("test.toml", &text, &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let cooja = base.replace("interface = \"redpoll\"\n", "console = [\"1 s: state\"]\n");
    let error = Scenario::parse("test.toml", &cooja, &[]).unwrap_err();
    assert!(
        error.to_string().contains("has no console; allowed"),
        "{error}"
    );
}
