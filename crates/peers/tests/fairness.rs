//! Two flows of Redpoll share a short queue evenly.

use redpoll_base::Duration;
use redpoll_peers::Subject;
use redpoll_peers::fairness::{Plan, QUEUES};

/// The flows run for ten minutes. (The bench `fairness` runs more seeds, and the test `fairness` of
/// `redpoll-linux` compares with the kernel's Reno.)
#[test]
fn two_flows_of_ours_get_the_same() {
    let plan = Plan {
        subjects: vec![Subject::Redpoll],
        queues: QUEUES.to_vec(),
        seeds: 1,
        time: Duration::from_secs(600),
    };
    for figure in plan.run(|_, _| ()) {
        if figure.metric == "jain_worst" {
            assert!(figure.value >= 0.95, "{figure:?}");
        }
    }
}

/// A flow that begins later reaches a fair share (Jain's index of at least 0.8) within a minute.
#[test]
fn a_minute_is_enough() {
    let plan = Plan {
        subjects: vec![Subject::Redpoll],
        queues: vec![6, 10],
        seeds: 3,
        time: Duration::from_secs(60),
    };
    for figure in plan.run(|_, _| ()) {
        if figure.metric == "jain_worst" {
            assert!(figure.value >= 0.8, "{figure:?}");
        }
    }
}
