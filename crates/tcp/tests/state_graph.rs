//! The transitions between the synchronised states, as a text to look at.

use redpoll_tcp::State;
use redpoll_tcp::state::TRANSITIONS;

#[test]
fn the_graph_is_as_written_down() {
    let mut graph = String::new();
    for (from, cause, to) in TRANSITIONS {
        let to = to.map_or(State::Closed, State::from);
        graph += &format!("{} --{cause:?}--> {to}\n", State::from(*from));
    }
    assert_eq!(graph, include_str!("snapshots/state_graph.txt"));
}
