//! Small graphs. Node 0 is the root.

use std::collections::BTreeSet;

/// An undirected graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Graph {
    nodes: usize,
    /// Set of links, with one bit for each pair of nodes, see [`Graph::bit`].
    links: u16,
}

impl Graph {
    /// Returns all connected graphs with this number of nodes.
    #[must_use]
    pub fn all(nodes: usize) -> Vec<Graph> {
        let pairs = nodes * (nodes - 1) / 2;
        let graphs = (0..1 << pairs).map(|links| Graph { nodes, links });
        graphs
            .filter(|graph| graph.reached().len() == nodes)
            .collect()
    }

    /// Returns one representative of each class of connected graphs that differ only in the names
    /// of nodes other than the root.
    #[must_use]
    pub fn different(nodes: usize) -> Vec<Graph> {
        let orders = permutations(nodes);
        let first = |graph: &Graph| orders.iter().map(|order| graph.renamed(order)).min();
        let mut graphs = Graph::all(nodes);
        graphs.retain(|graph| first(graph) == Some(*graph));
        graphs
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    fn bit(a: usize, b: usize) -> u16 {
        let (low, high) = (a.min(b), a.max(b));
        1 << (high * (high - 1) / 2 + low)
    }

    /// Returns whether two nodes have a link.
    #[must_use]
    pub fn has(&self, a: usize, b: usize) -> bool {
        a != b && self.links & Graph::bit(a, b) != 0
    }

    pub(super) fn toggle(&mut self, a: usize, b: usize) {
        self.links ^= Graph::bit(a, b);
    }

    /// Returns the nodes with a path to the root.
    #[must_use]
    pub fn reached(&self) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([0]);
        loop {
            let is_new = |node: &usize| {
                !reached.contains(node) && reached.iter().any(|from| self.has(*from, *node))
            };
            let Some(node) = (0..self.nodes).find(is_new) else {
                return reached;
            };
            reached.insert(node);
        }
    }

    fn renamed(&self, order: &[usize]) -> Graph {
        let mut graph = Graph { links: 0, ..*self };
        for a in 0..self.nodes {
            for b in (0..a).filter(|b| self.has(a, *b)) {
                graph.toggle(order[a], order[b]);
            }
        }
        graph
    }
}

/// Returns all orders of the nodes in which the root stays first.
fn permutations(nodes: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![vec![0]];
    for node in 1..nodes {
        let longer = orders.iter().flat_map(|order| {
            (1..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, node);
                order
            })
        });
        orders = longer.collect();
    }
    orders
}
