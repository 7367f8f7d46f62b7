//! Positions for the topologies that a scenario describes in a few numbers.

/// Returns the positions of `columns` × `rows` nodes, numbered row by row, `spacing_m` metres
/// apart. The first is at the origin.
pub fn grid(columns: usize, rows: usize, spacing_m: f64) -> Vec<(f64, f64)> {
    let place = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        (column as f64 * spacing_m, row as f64 * spacing_m)
    };
    (0..columns * rows).map(place).collect()
}

pub fn line(nodes: usize, spacing_m: f64) -> Vec<(f64, f64)> {
    (0..nodes)
        .map(|index| (index as f64 * spacing_m, 0.0))
        .collect()
}

#[derive(Clone, PartialEq, Debug)]
pub struct Tree {
    /// Positions: children below their parent, `spacing_m` metres per generation, siblings side by
    /// side.
    pub positions: Vec<(f64, f64)>,
    pub links: Vec<(usize, usize)>,
}

/// Returns the number of nodes of a tree; `None` if it is too large to count.
pub(crate) fn tree_size(depth: usize, children: usize) -> Option<usize> {
    let mut generation: usize = 1;
    let mut sum: usize = 1;
    for _ in 0..depth {
        generation = generation.checked_mul(children)?;
        sum = sum.checked_add(generation)?;
    }
    Some(sum)
}

/// Returns a tree of `depth` hops; every node above the last generation has `children` children.
pub fn tree(depth: usize, children: usize, spacing_m: f64) -> Tree {
    let widest = children.pow(depth as u32) as f64 * spacing_m;
    let mut tree = Tree {
        positions: Vec::new(),
        links: Vec::new(),
    };
    let mut first_of_parents = 0;
    let mut generation = 1;
    for level in 0..=depth {
        let first = tree.positions.len();
        for index in 0..generation {
            // Each node is in the middle of its share of the width.
            let x = (index as f64 + 0.5) / generation as f64 * widest;
            tree.positions.push((x, level as f64 * spacing_m));
            if level > 0 {
                tree.links
                    .push((first_of_parents + index / children, first + index));
            }
        }
        first_of_parents = first;
        generation *= children;
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_numbered_along_its_columns() {
        let grid = grid(3, 2, 10.0);
        assert_eq!(grid.len(), 6);
        assert_eq!(grid[2], (20.0, 0.0));
        assert_eq!(grid[3], (0.0, 10.0));
    }

    #[test]
    fn every_node_of_a_tree_but_the_root_has_one_parent() {
        let tree = tree(3, 2, 40.0);
        assert_eq!(tree.positions.len(), 15);
        assert_eq!(tree_size(3, 2), Some(15));
        assert_eq!(tree.links.len(), 14);
        for (child, link) in (1..).zip(&tree.links) {
            assert_eq!(*link, ((child - 1) / 2, child));
        }
        assert_eq!(tree_size(1_000, 8), None);
    }
}
