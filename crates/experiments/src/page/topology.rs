//! Maps of a scene's nodes, with their routes to the border router.

use std::fmt::Write as _;

use redpoll_sim::{Routes, Scenario, World};

use super::frame::Fit;
use super::html::escape;
use crate::case::Case;

const MARGIN: f64 = 46.0;
/// Least and greatest height of a map, in pixels.
const HEIGHTS: (f64, f64) = (120.0, 460.0);

pub struct Picture {
    pub scenes: Vec<String>,
    pub nodes: usize,
    pub svg: String,
}

pub fn pictures<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<Picture> {
    let mut seen: Vec<&str> = Vec::new();
    let mut pictures: Vec<Picture> = Vec::new();
    for case in cases {
        let name = &*case.scene().name;
        // One case per scene suffices, because cases do not move nodes.
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let Ok(scenario) = case.scenario() else {
            continue;
        };
        let svg = Mesh::of(&scenario).svg(Fit::Page);
        match pictures.iter_mut().find(|it| it.svg == svg) {
            Some(picture) => picture.scenes.push(name.to_owned()),
            None => pictures.push(Picture {
                scenes: vec![name.to_owned()],
                nodes: scenario.nodes.len(),
                svg,
            }),
        }
    }
    pictures.sort_by_key(|picture| std::cmp::Reverse(picture.nodes));
    pictures
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mesh {
    pub nodes: Vec<Place>,
    /// Names and positions of the interferers, in metres.
    pub interferers: Vec<(String, (f64, f64))>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    pub name: String,
    /// `border`, `router` or `leaf`.
    pub role: String,
    pub position_m: (f64, f64),
    /// Index of the next node on the route to the root.
    pub parent: Option<usize>,
}

impl Mesh {
    /// Makes the map of a scenario, with the routes that its nodes have at the start.
    pub fn of(scenario: &Scenario) -> Mesh {
        let routes = routes(scenario);
        let parent = |index: usize| routes.as_ref()?.nodes.get(index)?.default;
        let nodes = scenario.nodes.iter().enumerate();
        let nodes = nodes.map(|(index, node)| Place {
            name: node.name.clone(),
            role: node.role.to_string(),
            position_m: node.position_m,
            parent: parent(index),
        });
        let interferers = scenario.interferers.iter();
        Mesh {
            nodes: nodes.collect(),
            interferers: interferers
                .map(|it| (it.name.clone(), it.position_m))
                .collect(),
        }
    }

    pub fn svg(&self, fit: Fit) -> String {
        let nodes = self.nodes.iter().map(|node| node.position_m);
        let others = self.interferers.iter().map(|it| it.1);
        let all: Vec<(f64, f64)> = nodes.chain(others).collect();
        draw(self, &all, fit.map_px())
    }
}

fn routes(scenario: &Scenario) -> Option<Routes> {
    let world = World::new(scenario, 1).ok()?;
    Some(world.routes())
}

/// Pixels between the centre of a node and the tip of an arrow that points to it.
const CLEAR: f64 = 10.0;

/// Draws an arrow from a node to its parent that ends outside the parent's mark. If the nodes are
/// too close, draws a line without a head.
fn arrow(from: (f64, f64), to: (f64, f64)) -> String {
    const LENGTH: f64 = 9.0;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let distance = dx.hypot(dy);
    let ((x1, y1), (x2, y2)) = (from, to);
    if distance < 2.0 * (CLEAR + LENGTH) {
        return format!("<path class=\"route\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
    }
    let (ux, uy) = (dx / distance, dy / distance);
    let along = |back: f64| (x2 - ux * back, y2 - uy * back);
    let ((x, y), (foot_x, foot_y)) = (along(CLEAR), along(CLEAR + LENGTH));
    let wing = |side: f64| (foot_x - side * uy * 3.5, foot_y + side * ux * 3.5);
    let ((ax, ay), (bx, by)) = (wing(1.0), wing(-1.0));
    format!(
        "<path class=\"route\" d=\"M{x1:.1} {y1:.1}L{foot_x:.1} {foot_y:.1}\"/>\
         <path class=\"arrow\" d=\"M{ax:.1} {ay:.1}L{x:.1} {y:.1}L{bx:.1} {by:.1}Z\"/>"
    )
}

fn draw(mesh: &Mesh, all: &[(f64, f64)], width: f64) -> String {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = all.iter().map(of);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let ((left, right), (bottom, top)) = (range(|it| it.0), range(|it| it.1));
    let scale = ((width - 2.0 * MARGIN) / (right - left).max(1.0))
        .min((HEIGHTS.1 - 2.0 * MARGIN) / (top - bottom).max(1.0));
    let height = (2.0 * MARGIN + scale * (top - bottom)).max(HEIGHTS.0);
    let x = |metres: f64| MARGIN + scale * (metres - left);
    // y grows upwards, as in the live view.
    let y = |metres: f64| height / 2.0 - scale * (metres - (top + bottom) / 2.0);
    let at = |(a, b): (f64, f64)| (x(a), y(b));
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height:.0}\" viewBox=\"0 0 {width} {height:.0}\" \
         class=\"map\" role=\"img\" aria-label=\"topology\">\n"
    );
    for node in &mesh.nodes {
        let parent = node.parent.and_then(|parent| mesh.nodes.get(parent));
        if let Some(parent) = parent {
            let arrow = arrow(at(node.position_m), at(parent.position_m));
            let _ = writeln!(svg, "{arrow}");
        }
    }
    for node in &mesh.nodes {
        let (x, y) = at(node.position_m);
        let mark = match node.role.as_str() {
            "border" => format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"14\" height=\"14\" fill=\"var(--vermilion)\"/>",
                x - 7.0,
                y - 7.0
            ),
            "router" => {
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"var(--blue)\"/>")
            }
            _ => format!(
                "<circle class=\"hollow\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" \
                 stroke=\"var(--blue)\" stroke-width=\"2\"/>"
            ),
        };
        let name = escape(&node.name);
        let _ = writeln!(
            svg,
            "{mark}<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            y + 20.0
        );
    }
    for (name, place) in &mesh.interferers {
        let (x, y) = at(*place);
        let name = escape(name);
        let _ = writeln!(
            svg,
            "<path class=\"ink\" d=\"M{:.1} {:.1}l12 12m0 -12l-12 12\"/>\
             <text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            x - 6.0,
            y - 6.0,
            y - 10.0
        );
    }
    let (from, until) = (MARGIN, MARGIN + 10.0 * scale);
    let line = height - 8.0;
    let _ = writeln!(
        svg,
        "<path class=\"axis\" d=\"M{from} {line}H{until:.1}\"/>\
         <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\">10 m</text></svg>",
        until + 6.0,
        line + 4.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, position_m: (f64, f64), parent: Option<usize>) -> Place {
        Place {
            name: name.to_owned(),
            role: "router".to_owned(),
            position_m,
            parent,
        }
    }

    fn circle(svg: &str, nth: usize) -> (f64, f64) {
        let tag = svg.split("<circle ").nth(nth + 1).unwrap();
        let number = |name: &str| {
            let (_, after) = tag.split_once(&format!("{name}=\"")).unwrap();
            after.split('"').next().unwrap().parse().unwrap()
        };
        (number("cx"), number("cy"))
    }

    /// As in the live view (`web/src/map/view.ts`), y grows upwards and x to the right.
    #[test]
    fn a_map_has_the_orientation_of_the_live_view() {
        let mesh = Mesh {
            nodes: vec![
                node("low", (0.0, 0.0), None),
                node("high", (30.0, 40.0), Some(0)),
            ],
            interferers: Vec::new(),
        };
        let svg = mesh.svg(Fit::Page);
        let (low, high) = (circle(&svg, 0), circle(&svg, 1));
        assert!(high.0 > low.0 && high.1 < low.1, "{svg}");
        assert_eq!(svg.matches("class=\"route\"").count(), 1);
        assert_eq!(svg.matches("class=\"arrow\"").count(), 1);
    }

    #[test]
    fn an_arrow_points_to_the_parent_and_ends_outside_of_its_mark() {
        let svg = arrow((100.0, 50.0), (20.0, 50.0));
        // The tip of the arrow is 10 pixels before the parent.
        assert!(
            svg.ends_with("d=\"M39.0 46.5L30.0 50.0L39.0 53.5Z\"/>"),
            "{svg}"
        );
        assert!(!arrow((30.0, 50.0), (20.0, 50.0)).contains("arrow"));
    }
}
