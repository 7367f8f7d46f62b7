//! Paths of least cost over the medium's links.
//!
//! Every node has a default route towards a root: the border router, if there is one. It also has a
//! host route to each node behind it, so that all pairs of nodes can communicate. If an app's two
//! ends have a shorter path than along the tree, the nodes on that path get host routes for both
//! ends.
//!
//! Among neighbours with an equal distance to the root, a node prefers the best link. Among equal
//! links it prefers the neighbour with the least traffic around it, and then the lowest index. This
//! traffic follows from the next hops of the nodes farther from the root, which choose first. A
//! mesh whose relays share the load has a higher capacity than one in which a single relay carries
//! all. The same scenario always has the same routes.
//!
//! The host routes to all nodes may be more than `HOST_ROUTES_MAX`, for example in a line of ten
//! thousand nodes. Host routes then lead only to the ends of apps' flows, along the paths of
//! these flows. The omitted routes would take gigabytes of memory and minutes of time.

mod graph;

use self::graph::Graph;
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
    /// Next hop of packets to destinations without a host route; `None` at the root, and at a node
    /// without a path to the root.
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
/// index. A sleepy node has only one neighbour, its parent: the next hop on its way to the root.
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
        // For a pair with the root, the path in the tree already is the shortest.
        if from != root && to != root {
            shorten(&graph, &mut routes, from, to);
        }
    }
    routes
}

/// Returns `root`, or a forwarding neighbour of a sleepy root: a sleepy node needs a parent.
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

/// Returns the destination of the most flows, the lowest index at a tie; 0 if there are no flows.
fn busiest_end(flows: &[(usize, usize)]) -> usize {
    let ends = || flows.iter().map(|(_, to)| *to);
    let count = |end| ends().filter(|to| *to == end).count();
    ends()
        .max_by_key(|end| (count(*end), std::cmp::Reverse(*end)))
        .unwrap_or(0)
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
    // Adds a route to `dest` by way of `below` at the parent of `below`; returns the parent.
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
            // Climb from both ends to the node at which their paths to the root meet.
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

/// Adds routes along a best path between `from` and `to`, if it costs less than the current one.
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
mod tests;
