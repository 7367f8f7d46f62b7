//! Draws the links of a capture. A node's column is its number of links from the first node.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use redpoll_experiments::page::escape;
use redpoll_wire::ieee802154::Address;

use super::super::Link;

const WIDTH: f64 = 900.0;
const MARGIN: f64 = 70.0;
/// Pixels between adjacent nodes of a column.
const ROW: f64 = 64.0;
/// Maximum number of nodes on the map; those with the most frames are shown.
const NODES: usize = 60;
/// Smallest share of the busiest link's frames for which a link is drawn.
const SHARE_MIN: f64 = 0.01;
/// A link is red if a greater share of its attempts failed.
const FAILED_MAX: f64 = 0.2;

/// Links by their two ends. Each entry is the sum of both directions.
type Edges = BTreeMap<(Address, Address), Link>;

/// Draws the links; `near` is the first node, if it is known. Returns `None` without links.
pub fn svg(links: &HashMap<(Address, Address), Link>, near: Option<Address>) -> Option<String> {
    let edges = edges(links);
    let busiest = edges.values().map(|link| link.frames).max()?;
    let places = places(&edges, near);
    let rows = places.values().map(|(_, row)| *row).fold(0.0, f64::max);
    let columns = places
        .values()
        .map(|(column, _)| *column)
        .fold(1.0, f64::max);
    let height = 2.0 * MARGIN + ROW * rows;
    let at = |node: &Address| {
        let (column, row) = places.get(node)?;
        Some((
            MARGIN + column * (WIDTH - 2.0 * MARGIN) / columns,
            MARGIN + ROW * row,
        ))
    };
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" class=\"map\" \
         role=\"img\" aria-label=\"links\">\n"
    );
    for ((a, b), link) in &edges {
        if let Some(ends) = at(a).zip(at(b)) {
            line(&mut svg, ends, *link, busiest);
        }
    }
    for node in places.keys() {
        if let Some((x, y)) = at(node) {
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"var(--blue)\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                y + 22.0,
                escape(&node.to_string())
            );
        }
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Combines the directions of links between nodes; omits multicasts and links with few frames.
fn edges(links: &HashMap<(Address, Address), Link>) -> Edges {
    let is_node = |address: &Address| !matches!(address, Address::Absent | Address::Short(0xffff));
    let mut edges = Edges::new();
    for ((a, b), link) in links {
        if is_node(a) && is_node(b) {
            let sum = edges.entry((*a.min(b), *a.max(b))).or_default();
            sum.frames += link.frames;
            sum.attempts += link.attempts;
            sum.lost += link.lost;
        }
    }
    let mut frames: HashMap<Address, u64> = HashMap::new();
    for ((a, b), link) in &edges {
        *frames.entry(*a).or_default() += link.frames;
        *frames.entry(*b).or_default() += link.frames;
    }
    let mut most: Vec<(u64, Address)> = frames
        .into_iter()
        .map(|(node, count)| (count, node))
        .collect();
    most.sort_unstable_by(|a, b| b.cmp(a));
    most.truncate(NODES);
    let busiest = edges
        .values()
        .map(|link| link.frames)
        .max()
        .unwrap_or_default() as f64;
    edges.retain(|(a, b), link| {
        let has = |node: &Address| most.iter().any(|it| it.1 == *node);
        has(a) && has(b) && link.frames as f64 >= SHARE_MIN * busiest
    });
    edges
}

/// Returns column and row of each node: the column is the number of links from the first node. In
/// a column, nodes are in the order of their neighbours in the previous column, so that few links
/// cross; columns are centred.
fn places(edges: &Edges, near: Option<Address>) -> BTreeMap<Address, (f64, f64)> {
    let columns = columns(edges, near);
    let tallest = columns.iter().map(Vec::len).max().unwrap_or_default() as f64;
    let mut places: BTreeMap<Address, (f64, f64)> = BTreeMap::new();
    for (column, nodes) in columns.into_iter().enumerate() {
        let mut ordered: Vec<(f64, Address)> = nodes
            .into_iter()
            .map(|node| {
                let rows = neighbours(edges, node).filter_map(|it| places.get(&it));
                let rows: Vec<f64> = rows.map(|(_, row)| *row).collect();
                let mean = rows.iter().sum::<f64>() / rows.len().max(1) as f64;
                (mean, node)
            })
            .collect();
        ordered.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let above = (tallest - ordered.len() as f64) / 2.0;
        for (row, (_, node)) in ordered.into_iter().enumerate() {
            places.insert(node, (column as f64, above + row as f64));
        }
    }
    places
}

fn neighbours(edges: &Edges, node: Address) -> impl Iterator<Item = Address> + '_ {
    edges.keys().filter_map(move |(a, b)| match node {
        it if it == *a => Some(*b),
        it if it == *b => Some(*a),
        _ => None,
    })
}

/// Returns the nodes of each column. Nodes without a path to the first node follow in more columns.
fn columns(edges: &Edges, near: Option<Address>) -> Vec<Vec<Address>> {
    let mut rest: BTreeSet<Address> = edges.keys().flat_map(|(a, b)| [*a, *b]).collect();
    let mut columns = Vec::new();
    let mut level: Vec<Address> = near.filter(|it| rest.contains(it)).into_iter().collect();
    loop {
        if level.is_empty() {
            level.extend(rest.first());
        }
        if level.is_empty() {
            return columns;
        }
        for node in &level {
            rest.remove(node);
        }
        let mut next: Vec<Address> = level
            .iter()
            .flat_map(|node| neighbours(edges, *node))
            .filter(|node| rest.contains(node))
            .collect();
        next.sort_unstable();
        next.dedup();
        columns.push(std::mem::replace(&mut level, next));
    }
}

fn line(svg: &mut String, ends: ((f64, f64), (f64, f64)), link: Link, busiest: u64) {
    let ((x1, y1), (x2, y2)) = ends;
    let failed = 1.0 - link.frames.saturating_sub(link.lost) as f64 / link.attempts.max(1) as f64;
    let width = 1.0 + 5.0 * link.frames as f64 / busiest.max(1) as f64;
    let colour = if failed > FAILED_MAX {
        "var(--bad)"
    } else {
        "var(--grey)"
    };
    // A link within a column bends around the nodes between its ends.
    let is_upright = (x1 - x2).abs() < 1.0;
    let bend = if is_upright {
        0.5 * (y2 - y1).abs()
    } else {
        0.0
    };
    let (x, y) = ((x1 + x2) / 2.0, (y1 + y2) / 2.0);
    let _ = writeln!(
        svg,
        "<path d=\"M{x1:.1} {y1:.1}Q{:.1} {y:.1} {x2:.1} {y2:.1}\" stroke=\"{colour}\" \
         stroke-opacity=\"0.7\" stroke-width=\"{width:.1}\" fill=\"none\"/>\
         <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0} %</text>",
        x + bend,
        x + bend / 2.0 + if is_upright { 14.0 } else { 0.0 },
        y - if is_upright { 0.0 } else { 8.0 },
        100.0 * failed
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_placed_by_their_links_from_the_first_one() {
        let node = Address::Short;
        let link = |frames: u64| Link {
            frames,
            attempts: 2 * frames,
            lost: 0,
        };
        let links = HashMap::from([
            ((node(3), node(2)), link(100)),
            ((node(2), node(3)), link(50)),
            ((node(2), node(1)), link(100)),
            ((node(2), node(4)), link(100)),
            // These links do not affect nodes 1 to 4: a multicast, few frames, and other nodes.
            ((node(2), node(0xffff)), link(900)),
            ((node(1), node(4)), link(1)),
            ((node(8), node(9)), link(30)),
        ]);
        let places = places(&edges(&links), Some(node(3)));
        let column = |at: u16| places[&node(at)].0 as u32;
        assert_eq!([3, 2, 1, 4, 8, 9].map(column), [0, 1, 2, 2, 3, 4]);
        // A column of one node is centred beside a column of two.
        let rows = [3, 2, 1, 4, 8, 9].map(|at| places[&node(at)].1);
        assert_eq!(rows, [0.5, 0.5, 0.0, 1.0, 0.5, 0.5]);
        let svg = svg(&links, Some(node(3))).unwrap();
        // On each of the four links, half of the attempts failed.
        assert_eq!(svg.matches("stroke=\"var(--bad)\"").count(), 4, "{svg}");
        assert_eq!(svg.matches(">50 %</text>").count(), 4);
        assert_eq!(super::svg(&HashMap::new(), None), None);
    }

    #[test]
    fn links_between_columns_do_not_cross_if_they_need_not() {
        let node = Address::Short;
        // Two branches. Nodes 9 and 8 must have the order of nodes 2 and 3, their neighbours.
        let pairs = [(1, 2), (1, 3), (2, 9), (3, 8), (9, 6), (8, 7)];
        let link = |(a, b)| {
            (
                (node(a), node(b)),
                Link {
                    frames: 10,
                    attempts: 10,
                    lost: 0,
                },
            )
        };
        let links = HashMap::from(pairs.map(link));
        let places = places(&edges(&links), Some(node(1)));
        let row = |at: u16| places[&node(at)].1;
        assert!(
            row(2) < row(3) && row(9) < row(8) && row(6) < row(7),
            "{places:?}"
        );
    }
}
