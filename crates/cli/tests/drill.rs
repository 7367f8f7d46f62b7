//! `redpoll drill`: its list, its table and its rows.

use std::process::{Command, Output};

fn drill(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.arg("drill").args(arguments);
    command.output().expect("the program runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn attacks_are_listed_with_their_rates() {
    let output = drill(&["--list"]);
    assert!(output.status.success());
    let list = text(&output);
    let line = list.lines().find(|line| line.starts_with("syn-flood"));
    assert!(line.is_some_and(|line| line.contains("/s")), "{list}");
}

#[test]
fn rows_come_as_a_table_and_as_json() {
    let few = [
        "--attack",
        "forged-resets",
        "--seeds",
        "1",
        "--seconds",
        "20",
    ];
    let output = drill(&few);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(
        text(&output).contains("In 2 of 2 rows, keeps and new are at least 80 %"),
        "{}",
        text(&output)
    );
    let output = drill(&[&few[..], &["--json", "-"]].concat());
    let rows: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("the output is one JSON array");
    let rows = rows.as_array().expect("the output is one JSON array");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["attack"], "forged-resets");
        assert_eq!(row["outcome"], "kept");
        let share = row["share"].as_f64().expect("a number");
        let floor = row["floor"].as_f64().expect("a number");
        assert!(share > 0.8 && share < 1.2 && floor < 1.0, "{row}");
        assert!(row["rest_s"].is_u64(), "{row}");
    }
}

#[test]
fn an_attack_that_there_is_not_is_refused() {
    let output = drill(&["--attack", "kindness"]);
    assert_eq!(output.status.code(), Some(2));
}
