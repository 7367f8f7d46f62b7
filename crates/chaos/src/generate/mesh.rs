//! Draws the nodes and their links.

use toml::Value;

use super::{Draft, Node, percent};
use crate::draw::Draw;

impl Draft {
    pub(super) fn mesh(&mut self, draw: &mut Draw) {
        let count = match draw.index(6) {
            0 => draw.between(7, 14),
            _ => draw.between(2, 6),
        } as usize;
        let sleeps = draw.one_in(3);
        // Each node is linked to an earlier one, so that all are connected.
        let parents: Vec<usize> = (1..count).map(|node| draw.index(node)).collect();
        for index in 0..count {
            let has_children = parents.contains(&index);
            let role = match index {
                0 => "border",
                _ if !has_children && draw.one_in(2) => "leaf",
                _ => "router",
            };
            let name = match index {
                0 => "root".to_owned(),
                _ => format!("n{}", index + 1),
            };
            self.set(&format!("nodes.{name}.role"), role);
            let is_sleepy = role == "leaf" && sleeps && !draw.one_in(3);
            if is_sleepy {
                self.set(&format!("nodes.{name}.sleepy"), true);
            }
            self.nodes.push(Node {
                name,
                role,
                is_sleepy,
                has_datagrams: false,
            });
        }
        if draw.one_in(4) {
            self.positions(draw, &parents)
        } else {
            self.links(draw, &parents)
        }
    }

    fn links(&mut self, draw: &mut Draw, parents: &[usize]) {
        let count = self.nodes.len();
        let mut pairs: Vec<(usize, usize)> = parents.iter().copied().zip(1..).collect();
        for _ in 0..draw.index(count) {
            let (a, b) = (draw.index(count), draw.index(count));
            if a != b && !pairs.contains(&(a, b)) && !pairs.contains(&(b, a)) {
                pairs.push((a, b));
            }
        }
        let loses = draw.one_in(2);
        let links = pairs.iter().map(|(a, b)| {
            let ends = format!("{} <-> {}", self.nodes[*a].name, self.nodes[*b].name);
            if loses && draw.one_in(2) {
                format!("{ends}, {}", percent(draw.between(60, 99)))
            } else {
                ends
            }
        });
        let links: Vec<Value> = links.map(Value::from).collect();
        self.set("topology.kind", "links");
        self.set("topology.links", links);
    }

    /// Places each node within range of its parent, and draws the medium.
    fn positions(&mut self, draw: &mut Draw, parents: &[usize]) {
        let mut places = vec![(0, 0)];
        for parent in parents {
            let (x, y): (i64, i64) = places[*parent];
            let step = |draw: &mut Draw| draw.between(0, 60) as i64 - 30;
            places.push((x + step(draw), y + step(draw)));
        }
        self.set("topology.kind", "positions");
        for (index, (x, y)) in places.into_iter().enumerate() {
            let place: Vec<Value> = [x, y].map(|m| Value::from(format!("{m} m"))).to_vec();
            let path = format!("nodes.{}.position", self.nodes[index].name);
            self.set(&path, place);
        }
        if draw.one_in(2) {
            self.set("medium.model", "sinr");
            self.maybe(draw, 2, "medium.asymmetry_sigma", |draw| {
                format!("{} dB", draw.between(1, 4))
            });
            self.maybe(draw, 3, "medium.fading", |draw| {
                *draw.pick(&["rayleigh", "rician", "lognormal"])
            });
        }
    }
}
