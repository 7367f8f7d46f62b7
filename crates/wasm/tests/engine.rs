//! The engine as the page's worker uses it.

use std::cell::Cell;
use std::time::Duration;

use redpoll_base::Instant;
use redpoll_sim::{Scenario, When, World};
use redpoll_wasm::{Engine, NODES_MAX};
use serde_json::{Value, json};

/// Carries out a request; returns whether it succeeded, and the answer's text.
fn ask(engine: &mut Engine, ask: &Value) -> (bool, String) {
    engine.handle(&json!({ "id": 7, "ask": ask }).to_string());
    let answer: Value = serde_json::from_str(engine.lines().last().unwrap()).unwrap();
    assert_eq!(answer["id"], 7);
    let text = answer["text"].as_str().unwrap().to_owned();
    (answer["ok"] == true, text)
}

fn open(name: &str, text: Option<&str>) -> Value {
    json!({ "open": { "name": name, "text": text, "set": [["duration", "4 s"]] } })
}

#[test]
fn the_page_knows_the_clock_before_the_greeting() {
    let mut engine = Engine::default();
    engine.handle(&json!({ "id": 7, "ask": open("line-3", None) }).to_string());
    let lines = engine.lines();
    let kinds = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone());
    let kinds = kinds.take(2).collect::<Vec<_>>();
    assert_eq!(kinds, ["clock", "hello"]);
}

#[test]
fn a_run_that_is_watched_has_the_digest_of_one_that_is_not() {
    let mut engine = Engine::default();
    assert!(ask(&mut engine, &open("line-3", None)).0);
    assert!(ask(&mut engine, &json!({ "clock": { "speed": 0.0 } })).0);
    // Each look at the clock takes 1 ms.
    let now = Cell::new(0);
    let clock = || {
        now.set(now.get() + 1);
        Duration::from_millis(now.get())
    };
    let mut frames = 0;
    while engine.turn(clock).is_some() {
        for line in engine.lines() {
            let line: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["skipped"], Value::Null);
            frames += line["frames"].as_array().map_or(0, Vec::len);
        }
    }
    assert!(frames > 200, "{frames}");
    let set = [("duration".to_owned(), "4 s".to_owned())];
    let mut scenario = Scenario::load("line-3", &set).unwrap();
    scenario.retain_apps_of(When::Run);
    let mut world = World::new(&scenario, scenario.seed).unwrap();
    world.run_until(Instant::from_millis(4_000));
    let expected = world.digest().to_string();
    let digest = ask(&mut engine, &json!("digest"));
    assert_eq!(digest, (true, expected.clone()));

    // After a jump back, the same run has the same end.
    assert!(ask(&mut engine, &json!({ "clock": { "seek": 1_000_000 } })).0);
    assert!(ask(&mut engine, &json!({ "clock": { "seek": 9_000_000 } })).0);
    while engine.turn(clock).is_some() {}
    assert_eq!(ask(&mut engine, &json!("digest")).1, expected);
}

#[test]
fn a_wrong_scenario_has_the_message_of_the_program() {
    let text = "duration = \"4 s\"\n[topology]\nkind = \"grid\"\ncolums = 3\n";
    let expected = Scenario::parse("mine.toml", text, &[]).unwrap_err();
    let mut engine = Engine::default();
    let (ok, said) = ask(&mut engine, &open("mine.toml", Some(text)));
    assert!(!ok && said.contains("mine.toml:4"), "{said}");
    assert!(said == expected.to_string(), "{said}");
    // The refused scenario replaces no run, and requests without a run have an answer.
    let (ok, said) = ask(&mut engine, &json!("digest"));
    assert!(!ok && said.contains("open one"), "{said}");
    for wrong in ["", "{", "{\"id\":1}", "{\"id\":1,\"ask\":\"nothing\"}"] {
        engine.handle(wrong);
        assert!(engine.lines().pop().unwrap().contains("invalid message"));
    }
}

#[test]
fn too_large_a_mesh_is_refused_with_the_limit() {
    let grid = |columns: usize| {
        format!(
            "[topology]\nkind = \"grid\"\ncolumns = {columns}\nrows = 2\nspacing = \"20 m\"\n\
             [medium]\nmodel = \"unit-disk\"\ntransmission_range = \"25 m\"\n\
             interference_range = \"25 m\"\ncarrier_sense_range = \"25 m\"\n"
        )
    };
    let mut engine = Engine::default();
    let (ok, said) = ask(&mut engine, &open("g", Some(&grid(NODES_MAX / 2 + 1))));
    assert!(!ok && said.contains("at most 1000 nodes"), "{said}");
    let (ok, said) = ask(&mut engine, &open("g", Some(&"#".repeat(2 << 20))));
    assert!(!ok && said.contains("at most 1048576 bytes"), "{said}");
    assert_eq!(
        ask(&mut engine, &open("g", Some(&grid(20)))),
        (true, String::new())
    );
}
