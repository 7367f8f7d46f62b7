//! `redpoll bench`, with and without the other stacks built in.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.arg("bench").args(arguments);
    command.output().expect("the program runs")
}

#[test]
#[cfg(not(feature = "bench"))]
fn without_them_it_says_how_to_get_them() {
    let output = bench(&["--json", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("make bench"), "{message}");
}

/// Checks the saving by a kept connection, in any build.
#[test]
fn readings_are_dearer_the_more_is_opened_anew() {
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
        assert_eq!(of("kept", "frames"), of("frozen", "frames"));
        let dearer = [
            "frozen",
            "new connection by Fast Open",
            "new connection",
            "new TLS connection, resumed or with a pre-shared key",
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
