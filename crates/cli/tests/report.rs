//! The output of `--json`, compared with `docs/report.md`.

use std::process::Command;

use redpoll_sweep::Table;

#[test]
fn every_key_of_a_report_is_documented_and_every_number_has_a_unit() {
    fn missing(value: &serde_json::Value, page: &str, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    if !page.contains(&format!("`{key}`")) {
                        found.push(key.clone());
                    }
                    // The page does not list all reasons in `drops`, and `set` may have any key.
                    if key != "drops" && key != "set" {
                        missing(value, page, found);
                    }
                }
            }
            serde_json::Value::Array(items) => {
                for item in items {
                    missing(item, page, found);
                }
            }
            _ => {}
        }
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.md");
    let page = std::fs::read_to_string(page).unwrap();
    let client = r#"apps.get={type="http-client", on="node-4", to="node-1:80"}"#;
    let server = r#"apps.http={type="http-server", on="node-1"}"#;
    for more in [
        &["testbed-3"][..],
        &["readings"],
        &["duty-cycled"],
        &["sleepy-rpl"],
        &["office", "--set", "border.taim=true"],
        &["sleepy-3", "--set", server, "--set", client],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.args(["run", "--duration", "20 s", "--json", "-"]);
        let report = command.args(more).output().unwrap();
        assert!(report.status.success(), "{report:?}");
        let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
        let mut found = Vec::new();
        missing(&report, &page, &mut found);
        assert!(found.is_empty(), "{more:?}: {found:?}");
        for part in ["flows", "nodes"] {
            let columns = Table::of_items(report[part].as_array().unwrap()).schema();
            let numbers = columns.iter().filter(|it| it.kind.is_number());
            let lacking = numbers.filter(|it| it.unit.is_none());
            let lacking: Vec<_> = lacking.map(|it| &it.name).collect();
            assert!(
                lacking.is_empty(),
                "{more:?}: {part} without unit: {lacking:?}"
            );
        }
    }
}

#[test]
fn the_report_contains_the_settings_without_the_keys() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.args([
        "run",
        "pair",
        "--duration",
        "1 s",
        "--seed",
        "3",
        "--json",
        "-",
    ]);
    for set in [
        "mac.max_frame_retries=2",
        "mac.max_frame_retries=4",
        "security.level=mic-64",
        "security.key=000102030405060708090a0b0c0d0e0f",
        "nodes.node-1.key=000102030405060708090a0b0c0d0e0f",
        " nodes.node-2.key = 000102030405060708090a0b0c0d0e0f",
    ] {
        command.args(["--set", set]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let set = serde_json::json!({
        "duration": "1 s",
        "mac.max_frame_retries": "4",
        "security.level": "mic-64",
    });
    assert_eq!(report["set"], set);
    assert_eq!(report["seed"], 3);
}
