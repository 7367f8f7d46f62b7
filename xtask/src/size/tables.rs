//! The tables that are printed.

use super::measured::Measured;
use super::qemu::PerSegment;
use super::{peer, row, snapshot, steps, types};
use crate::report;

/// Payload of the counted segments of Redpoll.
const OUR_PAYLOAD: u32 = 462;

impl Measured {
    pub(super) fn print(&self) {
        let mut rows = vec![row(["figure", "measured", "limit", "goal", "other TCPs"])];
        rows.extend(self.figures());
        report::print_table(&rows);

        println!();
        self.flash.print("flash of TCP by crate");
        println!();
        self.node.print("flash of a whole node by crate");
        println!();
        self.leaf.print("flash of a leaf by crate");
        println!();
        self.leaf_stack.print();
        println!();
        peer::print(&self.leaf_layers(), &self.smoltcp);
        println!();
        let mut rows = vec![row(["flash that RPL adds to a whole node", "bytes"])];
        for (name, flash) in &self.routed {
            rows.push(vec![(*name).to_owned(), flash.bytes().to_string()]);
        }
        report::print_table(&rows);
        if let Some((name, flash)) = self.routed.last() {
            println!();
            flash.print(&format!("flash of RPL by crate, {name}"));
        }
        println!();
        self.security.print();

        println!();
        let mut rows = vec![row(["type on 32-bit ARM", "bytes"])];
        for (name, bytes) in &self.types {
            rows.push(vec![(*name).to_owned(), bytes.to_string()]);
        }
        report::print_table(&rows);

        println!();
        for (what, panics) in [
            ("TCP", &self.panics),
            ("a node", &self.node_panics),
            ("a leaf", &self.leaf_panics),
            ("a node that routes by RPL", &self.routed_panics),
        ] {
            if panics.is_empty() {
                println!("the image with {what} holds no code that panics");
            } else {
                println!("the image with {what} may panic at these places:");
            }
            panics.iter().for_each(|panic| println!("  {panic}"));
        }
        match &self.instructions {
            Ok(ours) => {
                println!();
                self.print_rivals(ours);
                println!();
                steps::print(&self.steps);
            }
            Err(reason) => println!("{reason}"),
        }
    }

    /// Prints the TCPs for comparison, next to Redpoll.
    pub(super) fn print_rivals(&self, ours: &PerSegment) {
        let heads = [
            "TCP",
            "payload",
            "connection",
            "instructions",
            "a byte",
            "ACKs",
        ];
        let mut rows = vec![row(heads)];
        let mut add = |name: &str, payload: u32, bytes: u64, instructions: f64, acks: f64| {
            rows.push(vec![
                name.to_owned(),
                payload.to_string(),
                bytes.to_string(),
                format!("{instructions:.0}"),
                format!("{:.0}", instructions / f64::from(payload)),
                format!("{acks:.1}"),
            ]);
        };
        for rival in &self.rivals {
            let (bytes, each) = (rival.slot_bytes, rival.instructions);
            add(rival.name, rival.payload, bytes, each, rival.acks);
        }
        let slot = self.size(types::SLOT).unwrap_or(0);
        add("redpoll", OUR_PAYLOAD, slot, ours.all, ours.acks);
        report::print_table(&rows);
    }

    /// Returns the figures with promised limits, and the limits.
    pub(super) fn figures(&self) -> Vec<Vec<String>> {
        let shown = |size: Option<u64>| size.map_or("-".to_owned(), |size| size.to_string());
        let counted = |of: fn(&PerSegment) -> f64| match &self.instructions {
            Ok(counts) => format!("{:.0}", of(counts)),
            Err(_) => "-".to_owned(),
        };
        let sized = |name| shown(self.size(name));
        let limit = |name| shown(snapshot::limit(name));
        let (whole, subset) = (limit(snapshot::TCP), limit(snapshot::SUBSET));
        let (connection, listener) = (limit(types::CONNECTION), limit(types::LISTENER));
        // The values of other stacks were measured once, before November 2026 (docs/size.md).
        [
            (
                "flash of TCP, bytes",
                self.flash.bytes().to_string(),
                [
                    &whole,
                    "18 KB",
                    "TCPlp 18.0 KB, lwIP 16.0 KB, smoltcp 13.8 KB",
                ],
            ),
            (
                "flash of TCP with only TCPlp's features, bytes",
                self.subset.bytes().to_string(),
                [&subset, "", "TCPlp 18.0 KB"],
            ),
            (
                "a connection without its buffers, bytes",
                sized(types::CONNECTION),
                [
                    &connection,
                    "320",
                    "TCPlp 767, lwIP 228 + 32 per segment, smoltcp 352",
                ],
            ),
            (
                "a listener, bytes",
                sized(types::LISTENER),
                [&listener, "", "TCPlp 28, lwIP 60, smoltcp 352"],
            ),
            (
                "a half-open connection, bytes",
                sized(types::HALF_OPEN),
                [
                    "48",
                    "",
                    "TCPlp, lwIP and smoltcp have no type for a half-open connection",
                ],
            ),
            (
                "instructions per data segment, sum of both ends and of ACKs",
                counted(PerSegment::without_bytes),
                ["6000", "4400", "lwIP 4406, TCPlp 7739, smoltcp 16750"],
            ),
            (
                "  not included: instructions for four copies of the payload",
                counted(|counts| counts.copy),
                ["", "", ""],
            ),
            (
                "  not included: instructions that compute and verify checksums",
                counted(|counts| counts.checksum),
                ["", "", ""],
            ),
            (
                "  ACKs for 100 segments",
                counted(|counts| counts.acks * 100.0),
                ["", "", ""],
            ),
        ]
        .into_iter()
        .map(|(name, measured, [must, goal, others])| row([name, &measured, must, goal, others]))
        .collect()
    }
}
