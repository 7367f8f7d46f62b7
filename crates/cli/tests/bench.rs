//! `redpoll bench`, with and without the other stacks built in.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.arg("bench").args(arguments);
    command.output().expect("the program runs")
}

#[test]
#[cfg(not(feature = "bench"))]
fn without_peers_bench_names_make_bench() {
    let output = bench(&["--json", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("make bench"), "{message}");
}

#[test]
fn a_kept_connection_makes_readings_cheaper() {
    let output = bench(&["readings", "--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let ways: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    for hops in [1, 3] {
        let of = |way: &str, what: &str| {
            let mut found = ways.iter().filter(|it| it["hops"] == hops);
            let found = found.find(|it| it["way"] == way).expect(way);
            found[what].as_f64().expect(what)
        };
        assert_eq!(
            of("connection kept open", "frames"),
            of("connection frozen", "frames")
        );
        let dearer = [
            "connection frozen",
            "new connection by Fast Open",
            "new connection",
            "new TLS connection with a pre-shared key or a resumed session",
            "new TLS connection with a server certificate",
        ];
        for pair in dearer.windows(2) {
            for what in ["frames", "bytes", "charge_mc"] {
                let (less, more) = (of(pair[0], what), of(pair[1], what));
                assert!(less < more, "{hops} hops, {pair:?}, {what}: {less}, {more}");
            }
        }
        for way in &ways {
            assert_eq!(way["wakes"], 1.0, "{way}");
        }
    }
}

fn rows(text: &[u8]) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(text);
    let rows = text.lines().map(serde_json::from_str);
    rows.map(|row| row.expect("an object a line")).collect()
}

/// The short form of `make scale`: 10 and 100 nodes.
#[test]
fn the_cost_by_size_is_measured_in_every_kind_of_mesh() {
    let folder = std::env::temp_dir().join(format!("redpoll-scale-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("scale.html");
    let path = page.to_str().unwrap();
    let output = bench(&["scale", "--nodes", "10,100", "--json", "-", "--page", path]);
    assert!(output.status.success(), "{output:?}");
    let rows = rows(&output.stdout);
    assert_eq!(rows.len(), 32);
    for row in &rows {
        assert_eq!(row["finished"], true, "{row}");
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        let nodes = number("nodes");
        assert!(
            (nodes..=1.2 * nodes).contains(&number("built_nodes")),
            "{row}"
        );
        assert!(
            number("setup_s") > 0.0 && number("simulated_s_per_s") > 0.0,
            "{row}"
        );
        // For 10 nodes the allocator often has enough free memory, so the process does not grow.
        let bytes = number("bytes_per_node");
        assert!(
            nodes < 100.0 || (8_192.0..=40_960.0).contains(&bytes),
            "{row}"
        );
        let is_silent = row["routing"] == "fixed" && row["load"] == "idle";
        assert_eq!(number("events") == 0.0, is_silent, "{row}");
        assert_eq!(row["ns_per_event"].is_null(), is_silent, "{row}");
    }
    let events = |load: &str| -> f64 {
        let own = rows
            .iter()
            .filter(|row| row["load"] == load && row["routing"] == "rpl");
        own.map(|row| row["events"].as_f64().unwrap() / row["simulated_s"].as_f64().unwrap())
            .sum()
    };
    assert!(events("busy") > events("idle"));
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_point_that_reaches_the_time_limit_is_unfinished() {
    let output = bench(&["scale", "--nodes", "1000", "--limit", "0", "--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    let rows = rows(&output.stdout);
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert_eq!(
            (&row["finished"], &row["limit_s"]),
            (&false.into(), &0.into()),
            "{row}"
        );
    }
    let output = bench(&["scale", "--nodes", "1000", "--limit", "0"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(table.matches("unfinished after 0 s").count(), 16, "{table}");
}

#[test]
fn ctrl_c_keeps_the_finished_rows() {
    let file = std::env::temp_dir().join(format!("redpoll-scale-{}.json", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.args(["bench", "scale", "--nodes", "10,10000", "--json"]);
    command.arg(&file).stdout(std::process::Stdio::piped());
    let child = command.spawn().expect("the program runs");
    let finished = || std::fs::read(&file).unwrap_or_default();
    let begun = std::time::Instant::now();
    while finished().iter().filter(|byte| **byte == b'\n').count() < 3 {
        assert!(begun.elapsed().as_secs() < 120, "no row is finished");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let rows = rows(&finished());
    assert!((3..32).contains(&rows.len()), "{}", rows.len());
    assert!(rows.iter().all(|row| row["finished"] == true));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.lines().count() > rows.len(), "{table}");
    std::fs::remove_file(file).unwrap();
}

#[test]
#[cfg(feature = "bench")]
fn figures_are_objects_or_a_table() {
    let few = ["--subject", "redpoll", "--loss", "0,5", "--seeds", "1"];
    let output = bench(&[&few[..], &["--json", "-"]].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut completions = 0;
    for line in text.lines() {
        let figure: serde_json::Value = serde_json::from_str(line).expect("an object a line");
        assert_eq!(figure["bench"], "loss");
        assert_eq!(figure["subject"], "redpoll");
        assert!(figure["x"].is_u64() && figure["unit"].is_string(), "{line}");
        if figure["metric"] == "completion_s" {
            completions += 1;
            assert!(
                figure["value"].as_f64().expect("a number") > 126.0,
                "{line}"
            );
        }
    }
    assert_eq!(completions, 2);

    let output = bench(&few);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("completion_s") && text.contains("5 %"),
        "{text}"
    );
}

#[test]
#[cfg(feature = "bench")]
fn two_flows_share_a_short_queue() {
    let few = [
        "fairness",
        "--subject",
        "redpoll",
        "--queue",
        "7",
        "--seeds",
        "1",
    ];
    let output = bench(&[&few[..], &["--json", "-"]].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = text.lines().map(|line| {
        let figure: serde_json::Value = serde_json::from_str(line).expect("an object a line");
        figure
    });
    let jain = figures.find(|figure| figure["metric"] == "jain");
    let jain = jain.expect("the index is there");
    assert_eq!(
        (&jain["bench"], &jain["x"]),
        (&"fairness".into(), &7.into())
    );
    assert!(jain["value"].as_f64() > Some(0.95), "{jain}");
}

#[test]
#[cfg(feature = "bench")]
fn a_stack_that_does_not_exist_is_named() {
    let output = bench(&["--subject", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("nonsense") && message.contains("tcplp"),
        "{message}"
    );
}

#[test]
#[cfg(feature = "bench")]
fn an_option_of_the_other_bench_is_refused() {
    for arguments in [&["--queue", "7"][..], &["fairness", "--loss", "5"]] {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("means nothing to"), "{message}");
    }
}
