//! Shortest paths in the graph of links, and the choice among paths of equal cost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Neighbour;

pub(super) struct Graph<'a> {
    pub(super) neighbours: &'a [Vec<Neighbour>],
    pub(super) forwards: &'a [bool],
}

pub(super) struct Distances {
    goal: usize,
    /// Cost of the best path from each node to the goal; `None` without a path.
    pub(super) cost: Vec<Option<u32>>,
    /// Nodes with a path to the goal, the nearest to the goal first.
    pub(super) order: Vec<usize>,
}

impl Graph<'_> {
    /// Returns the distances to `goal` over forwarding nodes. With `until`, the search stops at
    /// this node, so farther nodes have no distance.
    pub(super) fn distances(&self, goal: usize, until: Option<usize>) -> Distances {
        let mut cost = vec![None; self.neighbours.len()];
        let mut order = Vec::new();
        let mut queue = BinaryHeap::from([Reverse((0, goal))]);
        while let Some(Reverse((distance, here))) = queue.pop() {
            if cost[here].is_some() {
                continue;
            }
            cost[here] = Some(distance);
            order.push(here);
            if Some(here) == until {
                break;
            }
            if here != goal && !self.forwards[here] {
                continue;
            }
            let others = self.neighbours[here].iter();
            queue.extend(others.map(|other| Reverse((distance + other.cost, other.node))));
        }
        Distances { goal, cost, order }
    }

    pub(super) fn nearer(
        &self,
        distances: &Distances,
        node: usize,
    ) -> impl Iterator<Item = Neighbour> {
        let is_on_path = move |other: &Neighbour| {
            let beyond = distances.cost[other.node];
            beyond.is_some() && beyond.map(|cost| cost + other.cost) == distances.cost[node]
        };
        let carries = |other: &Neighbour| other.node == distances.goal || self.forwards[other.node];
        self.neighbours[node]
            .iter()
            .copied()
            .filter(move |other| is_on_path(other) && carries(other))
    }

    pub(super) fn cost(&self, path: &[usize]) -> u32 {
        let link = |pair: &[usize]| {
            let mut others = self.neighbours[pair[0]].iter();
            let next = others.find(|other| other.node == pair[1]);
            next.map_or(u32::MAX, |other| other.cost)
        };
        path.windows(2).map(link).fold(0, u32::saturating_add)
    }

    /// Returns every node's next hop to the goal, such that traffic is spread over nodes and areas.
    pub(super) fn spread(&self, distances: &Distances) -> Vec<Option<usize>> {
        let mut next_hop = vec![None; self.neighbours.len()];
        // If every node sends one packet to the goal: `behind` counts the packets that a node
        // forwards, and `around` the transmissions to the node or to one of its neighbours, because
        // neighbours share the channel.
        let mut behind = vec![0usize; self.neighbours.len()];
        let mut around = vec![0usize; self.neighbours.len()];
        let near_to_far = distances
            .order
            .chunk_by(|a, b| distances.cost[*a] == distances.cost[*b]);
        // The farthest generation chooses first, so `behind` of a node is complete before the node
        // chooses. Within a generation, the nodes with the most nodes behind them choose first.
        for generation in near_to_far.rev() {
            let mut generation = generation.to_vec();
            generation.sort_by_key(|node| Reverse(behind[*node]));
            for node in generation {
                let rank = |Neighbour { node, cost }: &Neighbour| {
                    (*cost, around[*node] + behind[*node], *node)
                };
                let Some(parent) = self.nearer(distances, node).min_by_key(rank) else {
                    continue;
                };
                let parent = parent.node;
                next_hop[node] = Some(parent);
                let weight = behind[node] + 1;
                behind[parent] += weight;
                around[parent] += weight;
                for other in &self.neighbours[parent] {
                    around[other.node] += weight;
                }
            }
        }
        next_hop
    }
}
