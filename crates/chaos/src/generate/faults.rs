//! Draws the faults. Each fault ends before the calm begins.

use super::{CALM_BEFORE, Draft, millis, percent};
use crate::draw::Draw;

impl Draft {
    pub(super) fn faults(&mut self, draw: &mut Draw) {
        for number in 0..draw.between(0, 6) {
            let name = format!("faults.f{number}");
            match draw.index(12) {
                0 => self.link(draw, &name, "drop-frames"),
                1 => self.link(draw, &name, "lose-frames"),
                2 => self.link(draw, &name, "duplicate-frames"),
                3 => self.share(draw, &name, "drop-packets", 60),
                4 => self.share(draw, &name, "duplicate-packets", 100),
                5 => self.off(draw, &name),
                6 => self.restart(draw, &name),
                7 => self.link(draw, &name, "corrupt-frames"),
                8 => self.flaps(draw, &name),
                9 => self.reordering(draw, &name),
                10 => self.clock_step(draw, &name),
                _ => self.interferer(draw, number),
            }
        }
    }

    /// Sets the beginning and the end of a fault within the storm.
    fn window(&mut self, draw: &mut Draw, name: &str) -> (u64, u64) {
        let end_ms = 1_000 * (CALM_BEFORE + self.storm_s);
        let from = draw.between(1_000 * CALM_BEFORE, end_ms - 1_000);
        let longest = if draw.one_in(2) { 5_000 } else { end_ms };
        let until = draw.between(from + 100, end_ms.min(from + longest));
        self.set(&format!("{name}.from"), millis(from));
        self.set(&format!("{name}.until"), millis(until));
        (from, until)
    }

    fn share(&mut self, draw: &mut Draw, name: &str, kind: &str, most: u64) {
        self.set(&format!("{name}.type"), kind);
        self.window(draw, name);
        self.set(&format!("{name}.share"), percent(draw.between(1, most)));
    }

    /// Adds a fault that affects frames on all links, at one node, or in one direction of a link.
    fn link(&mut self, draw: &mut Draw, name: &str, kind: &str) {
        self.share(draw, name, kind, 100);
        for end in ["sender", "receiver"] {
            if draw.one_in(2) {
                let node = self.any_node(draw);
                self.set(&format!("{name}.{end}"), node);
            }
        }
        if kind == "drop-frames" {
            self.maybe(draw, 2, &format!("{name}.frames"), |draw| {
                *draw.pick(&["data", "ack"])
            });
        }
    }

    fn off(&mut self, draw: &mut Draw, name: &str) {
        self.set(&format!("{name}.type"), "node-off");
        self.window(draw, name);
        let node = self.any_node(draw);
        self.set(&format!("{name}.node"), node);
    }

    fn reordering(&mut self, draw: &mut Draw, name: &str) {
        self.share(draw, name, "reorder-packets", 100);
        self.set(&format!("{name}.delay"), millis(draw.between(10, 5_000)));
    }

    fn clock_step(&mut self, draw: &mut Draw, name: &str) {
        self.set(&format!("{name}.type"), "clock-step");
        let storm_ms = 1_000 * self.storm_s;
        let at = draw.between(1_000 * CALM_BEFORE, 1_000 * CALM_BEFORE + storm_ms - 1_000);
        self.set(&format!("{name}.from"), millis(at));
        let longest = if draw.one_in(2) { 1_000 } else { 120_000 };
        self.set(&format!("{name}.by"), millis(draw.between(1, longest)));
        let node = self.any_node(draw);
        self.set(&format!("{name}.node"), node);
    }

    /// Restarts a node without datagram apps; without RPL only a leaf. If no node qualifies,
    /// switches a node off.
    fn restart(&mut self, draw: &mut Draw, name: &str) {
        let able =
            |node: &&super::Node| !node.has_datagrams && (self.is_rpl || node.role == "leaf");
        let able: Vec<String> = self
            .nodes
            .iter()
            .filter(able)
            .map(|it| it.name.clone())
            .collect();
        if able.is_empty() {
            return self.off(draw, name);
        }
        self.set(&format!("{name}.type"), "node-restart");
        self.window(draw, name);
        let node = draw.pick(&able).clone();
        self.set(&format!("{name}.node"), node);
    }

    /// Drops the frames from one random node to another several times.
    fn flaps(&mut self, draw: &mut Draw, name: &str) {
        let (a, b) = (self.any_node(draw), self.any_node(draw));
        for flap in 0..draw.between(2, 5) {
            let name = format!("{name}-{flap}");
            self.set(&format!("{name}.type"), "drop-frames");
            self.window(draw, &name);
            self.set(&format!("{name}.sender"), a.clone());
            self.set(&format!("{name}.receiver"), b.clone());
        }
    }

    fn interferer(&mut self, draw: &mut Draw, number: u64) {
        let name = format!("interferers.i{number}");
        let place: Vec<toml::Value> = vec!["0 m".into(), "0 m".into()];
        self.set(&format!("{name}.position"), place);
        self.window(draw, &name);
        self.set(&format!("{name}.busy"), percent(draw.between(5, 99)));
        self.set(&format!("{name}.burst"), millis(draw.between(1, 500)));
        self.maybe(draw, 3, &format!("{name}.lengths"), |draw| {
            *draw.pick(&["constant", "pareto"])
        });
    }
}
