//! Scenarios of the points.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use redpoll_base::Rng;

use super::point::{Load, Point, Routing, Topology};

/// Measurements of a corridor of ten nodes, in the K7 format.
const CORRIDOR: &str = include_str!("../../../../scenarios/k7-corridor.k7");
const CHANNEL: &str = "26";
/// Number of nodes of the corridor.
const TILE: usize = 10;
/// Least share of delivered frames with which a link of the corridor is part of a scenario; worse
/// links are left out.
const LEAST_SHARE: f64 = 0.1;
/// Distance of adjacent nodes in a grid, in metres. Nodes at random places have the same density:
/// one node in a square of this side. With a range of 50 m a node has about 20 neighbours.
const SPACING_M: f64 = 20.0;
const SEED: u64 = 1;

pub fn scene(point: &Point) -> String {
    let routing = match point.routing {
        Routing::Fixed => "fixed",
        Routing::Rpl => "rpl",
    };
    let mut text = format!("name = \"scale\"\nduration = \"60 s\"\nrouting = \"{routing}\"\n");
    let pairs = match point.topology {
        Topology::Line => {
            let nodes = point.nodes;
            let _ = write!(
                text,
                "[topology]\nkind = \"line\"\nnodes = {nodes}\nspacing = \"40 m\"\n"
            );
            numbered(nodes, &mut text)
        }
        Topology::Grid => {
            let (columns, rows) = sides(point.nodes);
            let _ = write!(
                text,
                "[topology]\nkind = \"grid\"\ncolumns = {columns}\nrows = {rows}\nspacing = \
                 \"{SPACING_M} m\"\n"
            );
            numbered(columns * rows, &mut text)
        }
        Topology::Geometric => geometric(point.nodes, &mut text),
        Topology::Tiles => tiles(point.nodes, &mut text),
    };
    text.push_str(
        "[medium]\nmodel = \"unit-disk\"\ntransmission_range = \"50 m\"\ninterference_range = \
         \"50 m\"\ncarrier_sense_range = \"50 m\"\n[radio]\nmodel = \"ideal\"\n",
    );
    if point.load == Load::Busy {
        for (from, to) in pairs {
            let _ = write!(
                text,
                "[apps.{from}]\ntype = \"sensor\"\non = \"{from}\"\nto = \"{to}:5000\"\ntransport \
                 = \"udp\"\nreading = \"50 B\"\ninterval = \"2 s\"\n"
            );
        }
    }
    text
}

/// Returns the sides of a grid with about `nodes` nodes.
fn sides(nodes: usize) -> (usize, usize) {
    let columns = (nodes as f64).sqrt().ceil() as usize;
    (columns, nodes.div_ceil(columns))
}

/// Names of two neighbours: sender and receiver.
type Pair = (String, String);

/// Makes node-1 the border router. Pairs node-2 with node-1, node-4 with node-3, and so on.
fn numbered(nodes: usize, text: &mut String) -> Vec<Pair> {
    text.push_str("[nodes.node-1]\nrole = \"border\"\n");
    let pair = |at: usize| (format!("node-{at}"), format!("node-{}", at - 1));
    (1..=nodes / 2).map(|half| pair(2 * half)).collect()
}

/// Places nodes at random in a square. Each sender is paired with the nearest node that is in no
/// pair yet.
fn geometric(nodes: usize, text: &mut String) -> Vec<Pair> {
    let side_m = SPACING_M * (nodes as f64).sqrt();
    let mut rng = Rng::new(SEED);
    let mut place = || side_m * (rng.next_u32() as f64 / f64::from(u32::MAX));
    let places: Vec<(f64, f64)> = (0..nodes).map(|_| (place(), place())).collect();
    text.push_str("[topology]\nkind = \"positions\"\n");
    for (index, (x, y)) in places.iter().enumerate() {
        let role = match index {
            0 => "border",
            _ => "router",
        };
        let _ = write!(
            text,
            "[nodes.node-{}]\nrole = \"{role}\"\nposition = [\"{x:.2} m\", \"{y:.2} m\"]\n",
            index + 1
        );
    }
    let mut is_free = vec![true; nodes];
    let mut pairs = Vec::new();
    for from in 0..nodes {
        if !std::mem::replace(&mut is_free[from], false) {
            continue;
        }
        let (x, y) = places[from];
        let distance = |to: &usize| (places[*to].0 - x).hypot(places[*to].1 - y);
        let free = (0..nodes).filter(|to| is_free[*to]);
        let Some(to) = free.min_by(|a, b| distance(a).total_cmp(&distance(b))) else {
            break;
        };
        is_free[to] = false;
        pairs.push((format!("node-{}", from + 1), format!("node-{}", to + 1)));
    }
    pairs
}

/// Arranges copies of the corridor in a grid. A copy is linked to those at its right and below it.
fn tiles(nodes: usize, text: &mut String) -> Vec<Pair> {
    let links = corridor();
    let (columns, rows) = sides(nodes.div_ceil(TILE));
    let name = |tile: usize, node: usize| format!("t{tile}-{node}");
    text.push_str("[topology]\nkind = \"links\"\nlinks = [\n");
    let all = 0..(columns * rows).min(nodes.div_ceil(TILE));
    for tile in all.clone() {
        for ((a, b), share) in &links {
            let _ = writeln!(
                text,
                "  \"{} <-> {}, {:.0} %\",",
                name(tile, *a),
                name(tile, *b),
                100.0 * share
            );
        }
        if tile % columns > 0 {
            let _ = writeln!(text, "  \"{} <-> {}\",", name(tile, 0), name(tile - 1, 9));
        }
        if tile >= columns {
            let above = name(tile - columns, 5);
            let _ = writeln!(text, "  \"{} <-> {above}\",", name(tile, 4));
        }
    }
    text.push_str("]\n");
    let mut pairs = Vec::new();
    for tile in all {
        for node in 0..TILE {
            let role = match (tile, node) {
                (0, 0) => "border",
                _ => "router",
            };
            let _ = write!(text, "[nodes.{}]\nrole = \"{role}\"\n", name(tile, node));
        }
        let of_tile = (0..TILE / 2).map(|half| (name(tile, 2 * half + 1), name(tile, 2 * half)));
        pairs.extend(of_tile);
    }
    pairs
}

/// Returns the links of the corridor with their mean shares of delivered frames.
fn corridor() -> BTreeMap<(usize, usize), f64> {
    let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for line in CORRIDOR.lines().skip(2) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, src, dst, CHANNEL, _, pdr, _] = fields[..] else {
            continue;
        };
        let (Ok(src), Ok(dst), Ok(pdr)) = (src.parse(), dst.parse(), pdr.parse::<f64>()) else {
            continue;
        };
        let pair: (usize, usize) = if src < dst { (src, dst) } else { (dst, src) };
        let (sum, count) = sums.entry(pair).or_default();
        *sum += pdr;
        *count += 1.0;
    }
    let means = sums
        .into_iter()
        .map(|(pair, (sum, count))| (pair, sum / count));
    means.filter(|(_, share)| *share >= LEAST_SHARE).collect()
}

#[cfg(test)]
mod tests {
    use redpoll_sim::{Scenario, World};

    use super::*;

    /// Checks that each scenario loads with about the wanted nodes, and that routes connect all
    /// pairs.
    #[test]
    fn scenarios_load_and_their_pairs_are_connected() {
        for &topology in Topology::ALL {
            for nodes in [10, 100] {
                let point = Point {
                    topology,
                    nodes,
                    routing: Routing::Fixed,
                    load: Load::Busy,
                };
                let scenario = Scenario::parse("scale.toml", &scene(&point), &[]).unwrap();
                let count = scenario.nodes.len();
                assert!((nodes..=nodes + nodes / 5).contains(&count), "{count}");
                let apps: usize = scenario.nodes.iter().map(|node| node.apps.len()).sum();
                assert!(apps * 5 >= nodes * 2, "{point:?}: {apps} apps");
                let world = World::new(&scenario, 1).unwrap();
                assert_eq!(world.unconnected(), [], "{point:?}");
            }
        }
    }
}
