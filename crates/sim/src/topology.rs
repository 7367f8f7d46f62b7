//! Paths of least cost over the medium's links.
//!
//! Every node has a default route towards a root (the border router, if there is one) and a host
//! route to each node behind it, so that all pairs of nodes can communicate. If an app's two ends
//! have a shorter path than along the tree, the nodes on it get host routes for both ends.
//!
//! Among neighbours with an equal distance to the root, a node prefers the best link, then the
//! neighbour with the least traffic around it by the choices of farther nodes, and then the lowest
//! index. A mesh whose relays share the load has a higher capacity than one in which a single relay
//! carries all. The same scenario always has the same routes.
//!
//! If this needs more than `HOST_ROUTES_MAX` host routes, as in a line of ten thousand nodes, there
//! are only host routes to the ends of apps' flows, along the paths of these flows. The unused
//! routes would take gigabytes and minutes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::scenario::{Role, Scenario, TargetHost};

/// Maximum number of host routes outside of the paths of apps' flows.
const HOST_ROUTES_MAX: usize = 1_000_000;

/// A neighbour with a link in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour {
    pub node: usize,
    pub cost: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    /// Index of the node at which the default routes end.
    pub root: usize,
    pub nodes: Vec<NodeRoutes>,
}

/// The routes of one node. Nodes are indices into the scenario's list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeRoutes {
    /// Next hop without a host route; `None` at the root, and at a node without a path to it.
    pub default: Option<usize>,
    pub hosts: Vec<HostRoute>,
    /// Alternative parents of a sleepy node, nearest to the root first.
    pub parents: Vec<usize>,
    /// Hops to the root; `None` without a path.
    pub hops_to_root: Option<usize>,
    pub cost_to_root: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRoute {
    pub dest: usize,
    pub next_hop: usize,
}

impl NodeRoutes {
    pub fn next_hop(&self, dest: usize) -> Option<usize> {
        match self.hosts.binary_search_by_key(&dest, |route| route.dest) {
            Ok(at) => Some(self.hosts[at].next_hop),
            Err(_) => self.default,
        }
    }

    fn set(&mut self, dest: usize, next_hop: usize) {
        let route = HostRoute { dest, next_hop };
        match self.hosts.binary_search_by_key(&dest, |route| route.dest) {
            Ok(at) => self.hosts[at] = route,
            Err(at) => self.hosts.insert(at, route),
        }
    }
}

impl Routes {
    /// Returns the path from `from` to `to`, including both; `None` if there is none.
    pub(crate) fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut path = vec![from];
        let mut here = from;
        while here != to {
            here = self.nodes.get(here)?.next_hop(to)?;
            path.push(here);
            if path.len() > self.nodes.len() {
                return None;
            }
        }
        Some(path)
    }
}

/// Plans the routes of `scenario`, whose nodes have the neighbours that `neighbours` lists by
/// index.
///
/// A sleepy node has only one neighbour, its parent: the next hop on its way to the root.
pub fn plan(scenario: &Scenario, neighbours: &[Vec<Neighbour>]) -> Routes {
    let routes = plan_over(scenario, neighbours);
    let parent = |node: usize| routes.nodes.get(node).and_then(|routes| routes.default);
    let sleepy = |node: usize| scenario.nodes.get(node).is_some_and(|node| node.sleepy);
    if !scenario.nodes.iter().any(|node| node.sleepy) {
        return routes;
    }
    let kept = |a: usize, b: usize| !sleepy(a) || parent(a) == Some(b);
    let links = neighbours.iter().enumerate().map(|(node, neighbours)| {
        let mut neighbours = neighbours.clone();
        neighbours.retain(|other| kept(node, other.node) && kept(other.node, node));
        neighbours
    });
    let mut planned = plan_over(scenario, &links.collect::<Vec<_>>());
    for (node, neighbours) in neighbours
        .iter()
        .enumerate()
        .filter(|(node, _)| sleepy(*node))
    {
        let forwards = |other: &Neighbour| scenario.nodes[other.node].role != Role::Leaf;
        let others = neighbours.iter().filter(|other| forwards(other));
        let mut others: Vec<(u32, usize)> = others
            .filter(|other| parent(node) != Some(other.node))
            .filter_map(|other| {
                let beyond = planned.nodes[other.node].cost_to_root?;
                Some((beyond + other.cost, other.node))
            })
            .collect();
        others.sort_unstable();
        planned.nodes[node].parents = others.into_iter().map(|(_, other)| other).collect();
    }
    planned
}

fn plan_over(scenario: &Scenario, neighbours: &[Vec<Neighbour>]) -> Routes {
    let forwards: Vec<bool> = scenario
        .nodes
        .iter()
        .map(|node| node.role != Role::Leaf)
        .collect();
    let flows = flows(scenario);
    let root = scenario
        .border_router()
        .unwrap_or_else(|| busiest_end(&flows));
    let root = waking(scenario, neighbours, root);
    let graph = Graph {
        neighbours,
        forwards: &forwards,
    };
    let mut routes = tree_routes(&graph, root, &flows);
    for (from, to) in flows {
        // To and from the root, the paths of the tree are the shortest.
        if from != root && to != root {
            shorten(&graph, &mut routes, from, to);
        }
    }
    routes
}

/// Returns `root`, or a forwarding neighbour of it if it is sleepy, because a sleepy node needs a
/// parent.
fn waking(scenario: &Scenario, neighbours: &[Vec<Neighbour>], root: usize) -> usize {
    if !scenario.nodes.get(root).is_some_and(|node| node.sleepy) {
        return root;
    }
    let mut around = neighbours.get(root).into_iter().flatten();
    let forwarding = around.find(|other| scenario.nodes[other.node].role != Role::Leaf);
    forwarding.map_or(root, |other| other.node)
}

/// Returns the pairs of nodes between which apps send although `routes` contains no path.
pub fn unconnected(scenario: &Scenario, routes: &Routes) -> Vec<(usize, usize)> {
    let mut pairs = flows(scenario);
    pairs.retain(|(from, to)| routes.path(*from, *to).is_none());
    pairs
}

/// Returns the pairs of nodes between which apps send, without repetition.
fn flows(scenario: &Scenario) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (from, node) in scenario.nodes.iter().enumerate() {
        for target in node.apps.iter().filter_map(|app| app.kind.target()) {
            if let TargetHost::Node(to) = target.host
                && from != to
            {
                pairs.push((from, to));
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Returns the destination of most flows: the first of several, and node 0 without flows.
fn busiest_end(flows: &[(usize, usize)]) -> usize {
    let ends = || flows.iter().map(|(_, to)| *to);
    let count = |end| ends().filter(|to| *to == end).count();
    ends()
        .max_by_key(|end| (count(*end), std::cmp::Reverse(*end)))
        .unwrap_or(0)
}

struct Graph<'a> {
    neighbours: &'a [Vec<Neighbour>],
    forwards: &'a [bool],
}

struct Distances {
    goal: usize,
    /// Cost of the best path of each node; `None` without a path.
    cost: Vec<Option<u32>>,
    /// Nodes with a path, nearest first.
    order: Vec<usize>,
}

impl Graph<'_> {
    /// Returns the distances to `goal` over forwarding nodes. With `until`, only those of the nodes
    /// up to this one, nearest first.
    fn distances(&self, goal: usize, until: Option<usize>) -> Distances {
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

    fn nearer(&self, distances: &Distances, node: usize) -> impl Iterator<Item = Neighbour> {
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

    fn cost(&self, path: &[usize]) -> u32 {
        let link = |pair: &[usize]| {
            let mut others = self.neighbours[pair[0]].iter();
            let next = others.find(|other| other.node == pair[1]);
            next.map_or(u32::MAX, |other| other.cost)
        };
        path.windows(2).map(link).fold(0, u32::saturating_add)
    }

    /// Returns every node's next hop to the goal, chosen so that traffic is spread over nodes and
    /// areas.
    fn spread(&self, distances: &Distances) -> Vec<Option<usize>> {
        let mut next_hop = vec![None; self.neighbours.len()];
        // Nodes whose path contains each node, and traffic around it: neighbours share the channel,
        // but not the forwarding.
        let mut behind = vec![0usize; self.neighbours.len()];
        let mut around = vec![0usize; self.neighbours.len()];
        let near_to_far = distances
            .order
            .chunk_by(|a, b| distances.cost[*a] == distances.cost[*b]);
        // The nodes whose path contains a node are known when its turn comes. The heaviest nodes of
        // a generation choose first, and the light nodes fill the gaps.
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

fn tree_routes(graph: &Graph<'_>, root: usize, flows: &[(usize, usize)]) -> Routes {
    let distances = graph.distances(root, None);
    let parent = graph.spread(&distances);
    let mut nodes = vec![NodeRoutes::default(); graph.neighbours.len()];
    let mut all = 0;
    for &node in &distances.order {
        nodes[node].default = parent[node];
        nodes[node].cost_to_root = distances.cost[node];
        nodes[node].hops_to_root = match parent[node] {
            Some(above) => nodes[above].hops_to_root.map(|hops| hops + 1),
            None => Some(0),
        };
        all += nodes[node].hops_to_root.unwrap_or(0);
    }
    let hops: Vec<usize> = nodes
        .iter()
        .map(|node| node.hops_to_root.unwrap_or(0))
        .collect();
    // Adds a route to `dest` above `below`; returns the node above.
    let mut climb = |dest: usize, below: usize| {
        let above = parent[below]?;
        let next_hop = below;
        nodes[above].hosts.push(HostRoute { dest, next_hop });
        Some(above)
    };
    if all <= HOST_ROUTES_MAX {
        for &node in &distances.order {
            let mut at = Some(node);
            while let Some(below) = at {
                at = climb(node, below);
            }
        }
    } else {
        for &(from, to) in flows {
            // From both ends up to the node at which their paths to the root meet.
            let (mut a, mut b) = (from, to);
            while a != b {
                let is_farther = hops[a] > hops[b];
                let (end, below) = match is_farther {
                    true => (from, &mut a),
                    false => (to, &mut b),
                };
                let Some(above) = climb(end, *below) else {
                    break;
                };
                *below = above;
            }
        }
    }
    for node in &mut nodes {
        node.hosts.sort_unstable_by_key(|route| route.dest);
        node.hosts.dedup();
    }
    Routes { root, nodes }
}

/// Adds routes to both ends along a best path between `from` and `to`, if it is better than the
/// present one.
fn shorten(graph: &Graph<'_>, routes: &mut Routes, from: usize, to: usize) {
    let distances = graph.distances(to, Some(from));
    let mut path = vec![from];
    let next = |here: &usize| {
        let nearer = graph.nearer(&distances, *here);
        nearer.min_by_key(|other| (other.cost, other.node))
    };
    while let Some(next) = path.last().and_then(next) {
        path.push(next.node);
    }
    let arrives = path.last() == Some(&to);
    let shorter = routes
        .path(from, to)
        .is_none_or(|tree| graph.cost(&path) < graph.cost(&tree));
    if !(arrives && shorter) {
        return;
    }
    for pair in path.windows(2) {
        if let [here, next] = *pair {
            routes.nodes[here].set(to, next);
            routes.nodes[next].set(from, here);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_routes(graph: &Graph<'_>, root: usize) -> Routes {
        super::tree_routes(graph, root, &[])
    }

    /// Checks that of two million possible host routes, only the two thousand useful ones exist.
    #[test]
    fn a_long_line_has_the_routes_that_its_flows_take() {
        const NODES: usize = 2_000;
        let link = |node| Neighbour { node, cost: 1 };
        let around = |node: usize| {
            let before = node.checked_sub(1);
            let after = Some(node + 1).filter(|node| *node < NODES);
            before.into_iter().chain(after).map(link).collect()
        };
        let neighbours: Vec<Vec<_>> = (0..NODES).map(around).collect();
        let graph = Graph {
            neighbours: &neighbours,
            forwards: &[true; NODES],
        };
        let routes = super::tree_routes(&graph, 0, &[(NODES - 1, 0)]);
        let all: usize = routes.nodes.iter().map(|node| node.hosts.len()).sum();
        assert_eq!(all, NODES - 1);
        for (from, to) in [(NODES - 1, 0), (0, NODES - 1)] {
            assert_eq!(routes.path(from, to).map(|path| path.len()), Some(NODES));
        }
        // Every node reaches the root, but a node without a flow has no route from there.
        assert!(routes.path(777, 0).is_some() && routes.path(0, 777).is_none());
    }

    /// Checks that flows between neighbours in a long line need no routes at other nodes.
    #[test]
    fn flows_of_a_long_line_have_routes_along_their_paths_only() {
        const NODES: usize = 2_000;
        let around = |node: usize| [node.wrapping_sub(1), node + 1].map(|it| it.min(NODES - 1));
        let neighbours: Vec<Vec<_>> = (0..NODES)
            .map(|node| {
                let mut of: Vec<_> = around(node).into_iter().filter(|it| *it != node).collect();
                if node == 0 {
                    of = vec![1];
                }
                of
            })
            .collect();
        let neighbours = alike(&neighbours);
        let graph = Graph {
            neighbours: &neighbours,
            forwards: &[true; NODES],
        };
        let flows: Vec<_> = (0..NODES / 2).map(|k| (2 * k + 1, 2 * k)).collect();
        let routes = super::tree_routes(&graph, 0, &flows);
        let all: usize = routes.nodes.iter().map(|node| node.hosts.len()).sum();
        assert_eq!(all, NODES / 2);
        for (from, to) in flows {
            assert_eq!(routes.path(from, to), Some(vec![from, to]));
            assert_eq!(routes.path(to, from), Some(vec![to, from]));
        }
        // The paths of several flows through one node.
        let flows = [(1_999, 1_000), (1_500, 1_400), (1_450, 1_999)];
        let routes = super::tree_routes(&graph, 0, &flows);
        for (from, to) in flows {
            assert_eq!(length(&routes, from, to), Some(from.abs_diff(to)));
            assert_eq!(length(&routes, to, from), Some(from.abs_diff(to)));
        }
    }

    /// Checks on random graphs that distances up to a node are those of all nodes before it.
    #[test]
    fn a_search_that_stops_at_a_node_finds_the_same_distances() {
        let mut rng = redpoll_base::Rng::new(3);
        for _ in 0..200 {
            let count = 2 + rng.below_u64(30) as usize;
            let mut neighbours = vec![Vec::new(); count];
            for _ in 0..3 * count {
                let [a, b] = [(); 2].map(|()| rng.below_u64(count as u64) as usize);
                let cost = 1 + rng.below_u64(4) as u32;
                neighbours[a].push(Neighbour { node: b, cost });
                neighbours[b].push(Neighbour { node: a, cost });
            }
            let graph = Graph {
                neighbours: &neighbours,
                forwards: &vec![true; count],
            };
            let all = graph.distances(0, None);
            for (place, node) in all.order.iter().enumerate() {
                let some = graph.distances(0, Some(*node));
                assert_eq!(some.order, all.order[..=place]);
                assert_eq!(some.cost[*node], all.cost[*node]);
                let nearer = |distances| graph.nearer(distances, *node).collect::<Vec<_>>();
                assert_eq!(nearer(&some), nearer(&all));
            }
        }
    }

    /// 0 - 1 - 2 - 3
    ///     |       |
    ///     4 ----- 5
    fn graph() -> Vec<Vec<Neighbour>> {
        alike(&[
            vec![1],
            vec![4, 0, 2],
            vec![1, 3],
            vec![2, 5],
            vec![1, 5],
            vec![4, 3],
        ])
    }

    /// Returns links of equal cost.
    fn alike(neighbours: &[Vec<usize>]) -> Vec<Vec<Neighbour>> {
        let link = |node: &usize| Neighbour {
            node: *node,
            cost: 1,
        };
        let links = neighbours.iter().map(|of| of.iter().map(link).collect());
        links.collect()
    }

    fn length(routes: &Routes, from: usize, to: usize) -> Option<usize> {
        routes.path(from, to).map(|path| path.len() - 1)
    }

    #[test]
    fn tree_routes_connect_every_pair_of_nodes() {
        let neighbours = graph();
        let forwards = [true; 6];
        let routes = tree_routes(
            &Graph {
                neighbours: &neighbours,
                forwards: &forwards,
            },
            0,
        );
        for from in 0..6 {
            for to in 0..6 {
                assert!(routes.path(from, to).is_some(), "{from} to {to}");
            }
        }
        assert_eq!(length(&routes, 3, 0), Some(3));
        assert_eq!(routes.nodes[3].hops_to_root, Some(3));
        assert_eq!(
            routes.nodes[3].default,
            Some(2),
            "the lowest index of equals"
        );
    }

    #[test]
    fn a_flow_gets_its_shorter_path_both_ways() {
        let neighbours = graph();
        let forwards = [true; 6];
        let graph = Graph {
            neighbours: &neighbours,
            forwards: &forwards,
        };
        let mut routes = tree_routes(&graph, 0);
        assert_eq!(length(&routes, 3, 5), Some(4));
        shorten(&graph, &mut routes, 3, 5);
        assert_eq!(routes.path(3, 5), Some(vec![3, 5]));
        assert_eq!(routes.path(5, 3), Some(vec![5, 3]));
        assert_eq!(length(&routes, 0, 3), Some(3), "others keep their way");
    }

    #[test]
    fn leaves_do_not_forward() {
        let neighbours = graph();
        let mut forwards = [true; 6];
        forwards[2] = false;
        let graph = Graph {
            neighbours: &neighbours,
            forwards: &forwards,
        };
        let routes = tree_routes(&graph, 0);
        assert_eq!(routes.path(3, 0), Some(vec![3, 5, 4, 1, 0]));
        assert_eq!(routes.path(2, 0), Some(vec![2, 1, 0]));
    }

    #[test]
    fn equal_ways_share_the_load() {
        // All of 4 to 9 reach 0 through 1, 2 or 3.
        let mut neighbours = vec![vec![1, 2, 3]];
        neighbours.extend((1..4).map(|_| vec![0, 4, 5, 6, 7, 8, 9]));
        neighbours.extend((4..10).map(|_| vec![1, 2, 3]));
        let neighbours = alike(&neighbours);
        let forwards = [true; 10];
        let routes = tree_routes(
            &Graph {
                neighbours: &neighbours,
                forwards: &forwards,
            },
            0,
        );
        let behind = |via| {
            (4..10usize)
                .filter(|at| routes.nodes[*at].default == Some(via))
                .count()
        };
        for via in 1..4 {
            assert_eq!(behind(via), 2, "{via}");
        }
    }

    #[test]
    fn two_good_links_are_better_than_a_poor_one() {
        // 0 - 1 - 2, and 0 - 2 over a link that costs the same or more.
        for (poor, hops) in [(1, 1), (4, 2), (5, 2)] {
            let mut neighbours = alike(&[vec![1, 2], vec![0, 2], vec![0, 1]]);
            for links in &mut neighbours {
                links.iter_mut().for_each(|link| link.cost = 2);
            }
            neighbours[0][1].cost = poor;
            neighbours[2][0].cost = poor;
            let forwards = [true; 3];
            let graph = Graph {
                neighbours: &neighbours,
                forwards: &forwards,
            };
            let routes = tree_routes(&graph, 0);
            assert_eq!(length(&routes, 2, 0), Some(hops), "{poor}");
            assert_eq!(routes.nodes[2].hops_to_root, Some(hops), "{poor}");
            assert_eq!(routes.nodes[2].cost_to_root, Some(poor.min(4)), "{poor}");
        }
    }

    #[test]
    fn a_disconnected_node_has_no_path() {
        let neighbours = alike(&[vec![1], vec![0], vec![]]);
        let forwards = [true; 3];
        let routes = tree_routes(
            &Graph {
                neighbours: &neighbours,
                forwards: &forwards,
            },
            0,
        );
        assert_eq!(routes.path(0, 2), None);
        assert_eq!(routes.path(2, 0), None);
        assert_eq!(routes.nodes[2].hops_to_root, None);
    }

    #[test]
    fn the_busiest_end_is_the_root() {
        assert_eq!(busiest_end(&[(0, 3), (1, 3), (2, 5)]), 3);
        assert_eq!(busiest_end(&[(0, 5), (1, 3)]), 3);
        assert_eq!(busiest_end(&[]), 0);
    }
}
