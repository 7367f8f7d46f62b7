//! RPL on small graphs.

use redpoll_proofs::is_deep;
use redpoll_proofs::rpl::{Change, Defect, Graph, Longest, Trial, changes, run};

fn trial(graph: Graph) -> Trial {
    Trial {
        graph,
        storing: false,
        seed: 1,
        lost: 0,
        defect: None,
    }
}

/// Runs all trials of a graph, and returns the longest times.
fn examine(graph: Graph) -> Longest {
    let mut longest = Longest::default();
    let patterns = match is_deep() && graph.nodes() < 5 {
        true => vec![0, 1, 2, 3, 4, 5, 6, 7],
        false => vec![0, 7],
    };
    for change in changes(&graph) {
        for storing in [false, true] {
            for &lost in &patterns {
                let trial = Trial {
                    storing,
                    lost,
                    ..trial(graph)
                };
                let times = run(&trial, change)
                    .unwrap_or_else(|why| panic!("{trial:?}, {change:?}: {why}"));
                longest.add(times);
            }
        }
    }
    longest
}

/// The short form has graphs of up to four nodes, one of each class that differs only in names. The
/// long form has all graphs of up to five nodes, and more choices of lost DIOs.
#[test]
fn routes_recover_from_every_change_of_a_small_graph() {
    for nodes in 2..=if is_deep() { 5 } else { 4 } {
        let graphs = match is_deep() {
            true => Graph::all(nodes),
            false => Graph::different(nodes),
        };
        let mut longest = Longest::default();
        for graph in &graphs {
            longest.add(examine(*graph));
        }
        println!("RPL, {} graphs of {nodes} nodes: {longest:?}", graphs.len());
    }
}

#[test]
fn defects_of_a_mesh_are_found() {
    let square = Graph::all(4)
        .into_iter()
        .find(|graph| graph.has(0, 1) && graph.has(1, 2) && graph.has(2, 3) && graph.has(3, 0))
        .expect("a square is connected");
    for (defect, change) in [
        (Defect::NoMulticast, Change::Restart(1)),
        (Defect::RootForgets, Change::Restart(0)),
        (Defect::FalseAcks, Change::Toggle(0, 1)),
    ] {
        let trial = Trial {
            defect: Some(defect),
            ..trial(square)
        };
        let why = run(&trial, change).expect_err("the planted defect");
        println!("RPL, {defect:?}: {why}");
    }
}
