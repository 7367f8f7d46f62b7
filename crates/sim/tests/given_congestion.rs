//! Congestion control that the caller provides.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_replay::{CongestionUpdate, CongestionWindow};
use redpoll_sim::congestion::Controller;
use redpoll_sim::{BuildError, Scenario, World, WorldOptions};

/// Keeps every connection's window at one segment for the name `one`, otherwise at four.
struct Fixed(Rc<RefCell<BTreeMap<String, u32>>>);

struct Segments {
    count: u32,
    key: String,
    calls: Rc<RefCell<BTreeMap<String, u32>>>,
}

impl Fixed {
    fn begin(&self, name: &str, node: &str) -> Option<Box<dyn Controller>> {
        Some(Box::new(Segments {
            count: if name == "one" { 1 } else { 4 },
            key: format!("{name} of {node}"),
            calls: self.0.clone(),
        }))
    }
}

impl Controller for Segments {
    fn on(&mut self, update: &CongestionUpdate) -> Option<CongestionWindow> {
        *self.calls.borrow_mut().entry(self.key.clone()).or_default() += 1;
        Some(CongestionWindow {
            cwnd: self.count * update.mss,
            ssthresh: self.count * update.mss,
        })
    }
}

fn scenario(changes: &[(&str, &str)]) -> Scenario {
    let changes: Vec<(String, String)> = (changes.iter())
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let names = ["one".to_owned(), "four".to_owned()];
    let line = include_str!("../../../scenarios/line-2.toml");
    Scenario::parse_with("line-2", line, &changes, &names).unwrap()
}

fn goodput(scenario: &Scenario, calls: &Rc<RefCell<BTreeMap<String, u32>>>) -> f64 {
    let fixed = Fixed(calls.clone());
    let options = WorldOptions {
        seed: Some(1),
        controllers: Some(Rc::new(move |name: &str, node: &str| {
            fixed.begin(name, node)
        })),
        ..WorldOptions::default()
    };
    let mut world = World::with(scenario.clone(), options).unwrap();
    world.run_until(Instant::from_millis(20_000));
    let report = world.report();
    assert!(report.oracle.ok);
    report.flows[0].goodput_kbps
}

#[test]
fn a_scenario_names_it_for_all_nodes_or_for_one() {
    let calls = Rc::new(RefCell::new(BTreeMap::new()));
    let one = goodput(&scenario(&[("tcp.congestion", "one")]), &calls);
    assert!(calls.borrow().keys().all(|key| key.starts_with("one of ")));
    assert!(calls.borrow()["one of node-3"] > 20, "{calls:?}");
    calls.borrow_mut().clear();
    let four = goodput(&scenario(&[("nodes.node-3.congestion", "four")]), &calls);
    assert_eq!(
        calls.borrow().keys().collect::<Vec<_>>(),
        ["four of node-3"]
    );
    assert!(four > 1.2 * one, "{four} {one}");
    // The world is dropped, with all of its controllers.
    assert_eq!(Rc::strong_count(&calls), 1);
}

#[test]
fn an_unknown_congestion_control_is_a_build_error() {
    let built = World::new(&scenario(&[("tcp.congestion", "one")]), 1);
    let Err(BuildError::Congestion { node, name }) = built else {
        panic!("nobody knows it");
    };
    assert_eq!((node.as_str(), name.as_str()), ("node-1", "one"));
    let line = include_str!("../../../scenarios/line-2.toml");
    let set = |value: &str| [("tcp.congestion".to_owned(), value.to_owned())];
    let names = ["mine".to_owned()];
    let refused = Scenario::parse_with("a", line, &set("yours"), &names).unwrap_err();
    assert_eq!(refused.key(), "tcp.congestion");
    assert!(
        refused
            .to_string()
            .ends_with("allowed: newreno, cubic, off, mine"),
        "{refused}"
    );
    for name in ["cubic", "", "a b"] {
        let names = [name.to_owned()];
        let refused = Scenario::parse_with("a", line, &set("off"), &names).unwrap_err();
        assert!(
            refused.to_string().contains("got the congestion control"),
            "{refused}"
        );
    }
}
