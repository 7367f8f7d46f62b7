//! What the engines cost on a microcontroller: `cargo xtask size`.
//!
//! - sizes of types on 32-bit ARM, as the compiler says them;
//! - flash: an image of `firmware/` with the whole TCP engine, less the same
//!   image without it; linked, unused code dropped; by crate;
//! - panics that the linker could not drop, by the line that may panic;
//! - instructions a data segment, on QEMU's Cortex-M0;
//! - instructions of the steps of a whole node;
//! - flash and memory of another stack's leaf, beside ours.
//!
//! With `--check`, sizes are compared with the snapshot `firmware/size.txt` and
//! with what was promised, as is a leaf's memory and stack and what a segment
//! takes; steps with the simulator's table; and a place that may panic is a
//! failure.

pub mod firmware;
mod image;
mod peer;
mod profile;
mod qemu;
mod security;
mod snapshot;
mod stack;
mod steps;
mod thumb;
mod types;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::purity::{Toolchain, Way};
use crate::report::{self, Failure, Outcome};
use crate::workspace::Workspace;
use image::Image;
use peer::Layers;
use qemu::{PerSegment, Rival};
use security::Security;
use stack::Stack;
use steps::Step;
use types::Size;

/// What to do besides measuring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Write an object there instead of tables here; `-` is here.
    json: Option<String>,
    /// Compare with the snapshot.
    check: bool,
    /// Write the snapshot.
    accept: bool,
    /// Print the functions that cost most instructions.
    profile: bool,
    /// Build so, else in the first way that is possible.
    with: Option<Way>,
}

impl Options {
    /// For the continuous integration.
    pub fn check(way: Way) -> Options {
        Options {
            check: true,
            with: Some(way),
            ..Options::default()
        }
    }

    /// From the command line; the words it does not know are the error.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = args;
        loop {
            rest = match rest {
                [] => return Ok(options),
                ["--json", file, rest @ ..] => {
                    options.json = Some((*file).to_owned());
                    rest
                }
                ["--check", rest @ ..] => {
                    options.check = true;
                    rest
                }
                ["--accept", rest @ ..] => {
                    options.accept = true;
                    rest
                }
                ["--profile", rest @ ..] => {
                    options.profile = true;
                    rest
                }
                ["--with", "rustup", rest @ ..] => {
                    options.with = Some(Way::Installed);
                    rest
                }
                ["--with", "build-std", rest @ ..] => {
                    options.with = Some(Way::BuildStd);
                    rest
                }
                unknown => return Err(unknown.join(" ")),
            };
        }
    }
}

/// Everything that was measured.
struct Measured {
    types: Vec<Size>,
    flash: Flash,
    /// Of what TCPlp has too.
    subset: Flash,
    /// Of the whole node.
    node: Flash,
    leaf: Flash,
    leaf_panics: Vec<String>,
    leaf_stack: Stack,
    /// Of smoltcp with a leaf's abilities.
    smoltcp: Layers,
    /// What RPL adds to it, by what of RPL is there.
    routed: Vec<(&'static str, Flash)>,
    panics: Vec<String>,
    /// In the whole node.
    node_panics: Vec<String>,
    /// In one that routes by RPL, too.
    routed_panics: Vec<String>,
    security: Security,
    /// Or why not.
    instructions: Result<PerSegment, String>,
    /// Nothing where nothing could be run.
    steps: Vec<Step>,
    /// Instructions a segment of the TCPs to compare with.
    rivals: Vec<Rival>,
}

/// Bytes of flash.
struct Flash {
    /// Image with the engine less image without it.
    difference: u64,
    /// That difference by crate.
    by_crate: BTreeMap<String, i64>,
}

impl Flash {
    fn between(with: &Image, without: &Image) -> Flash {
        let mut by_crate = BTreeMap::new();
        for (image, sign) in [(with, 1), (without, -1)] {
            let sums = image.flash_by_crate();
            for (name, bytes) in sums {
                // The image itself is a crate named as it is.
                let name = match name.as_str() {
                    "tcp" | "subset" | "node" | "bare" | "redpoll_firmware" => DRIVER.to_owned(),
                    // What runs on a leaf, and what carries its frames.
                    "leaf_microbit" | "redpoll_leaf" | "redpoll_uart" => DRIVER.to_owned(),
                    _ => name,
                };
                *by_crate.entry(name).or_insert(0) += sign * bytes as i64;
            }
        }
        by_crate.retain(|_, bytes| *bytes != 0);
        Flash {
            difference: with.flash.saturating_sub(without.flash),
            by_crate,
        }
    }

    /// Without the calls by which the image uses the engine.
    fn bytes(&self) -> u64 {
        let driver = self.by_crate.get(DRIVER).copied().unwrap_or(0);
        self.difference.saturating_add_signed(-driver)
    }
}

impl Flash {
    fn print(&self, title: &str) {
        let mut rows = vec![row([title, "bytes"])];
        for (name, bytes) in &self.by_crate {
            rows.push(vec![name.clone(), bytes.to_string()]);
        }
        rows.push(vec![
            "image less the one without it".to_owned(),
            self.difference.to_string(),
        ]);
        report::print_table(&rows);
    }
}

/// Payload of the segments that are counted of ours.
const OUR_PAYLOAD: u32 = 462;

const DRIVER: &str = "the image's own calls";

/// Whether images can be linked here; compilers for them are asked for by
/// another check.
pub fn possible(toolchain: &Toolchain) -> Outcome {
    firmware::linker(toolchain).map(|_| ())
}

/// Why no instructions can be counted, if none can.
pub fn uncounted() -> Option<String> {
    let missing = || {
        format!(
            "instructions alone: no {} (scripts/setup.sh size)",
            qemu::EMULATOR
        )
    };
    (!firmware::on_path(qemu::EMULATOR)).then(missing)
}

/// Prints what link-layer security costs in flash and instructions, or why that cannot be
/// measured here.
pub fn print_security(workspace: &Workspace) -> Outcome {
    println!();
    let toolchain = Toolchain::find(None).and_then(|found| possible(&found).map(|()| found));
    let toolchain = match toolchain {
        Ok(toolchain) => toolchain,
        Err(reason) => {
            println!("left out: flash and instructions of link-layer security: {reason}");
            return Ok(());
        }
    };
    let images = firmware::build(workspace, &toolchain)?;
    let reason = uncounted();
    security::measure(workspace, &images, reason.is_none())?.print();
    if let Some(reason) = reason {
        println!("left out: {reason}");
    }
    Ok(())
}

pub fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let toolchain = Toolchain::find(options.with)?;
    eprintln!("size: {toolchain}");
    let types = types::sizes(workspace, &toolchain)?;
    let images = firmware::build(workspace, &toolchain)?;
    let (instructions, steps, rivals) = match uncounted() {
        None => {
            let counts = qemu::count(&images.pair.path)?;
            let rivals = qemu::count_rivals(&images.rivals.path)?;
            (Ok(counts), steps::count(&images.mesh.path)?, rivals)
        }
        Some(reason) => (Err(format!("skipped {reason}")), Vec::new(), Vec::new()),
    };
    let measured = Measured {
        types,
        flash: Flash::between(&images.tcp, &images.bare),
        subset: Flash::between(&images.subset, &images.bare),
        node: Flash::between(&images.node, &images.bare),
        leaf: Flash::between(&images.leaf, &images.bare),
        leaf_panics: images.leaf.panics(&workspace.root),
        leaf_stack: Stack::of(&images.leaf),
        smoltcp: Layers::of(&images.smoltcp, &images.bare),
        routed: (images.routed.iter())
            .map(|(name, image)| (*name, Flash::between(image, &images.node)))
            .collect(),
        panics: images.tcp.panics(&workspace.root),
        node_panics: images.node.panics(&workspace.root),
        routed_panics: (images.routed.iter())
            .flat_map(|(_, image)| image.panics(&workspace.root))
            .collect(),
        security: security::measure(workspace, &images, instructions.is_ok())?,
        instructions,
        steps,
        rivals,
    };
    match options.json.as_deref() {
        None => measured.print(),
        Some("-") => println!("{}", measured.json()),
        Some(file) => std::fs::write(file, format!("{}\n", measured.json()))
            .map_err(|e| Failure::new(format!("cannot write {file}: {e}")))?,
    }
    if options.profile {
        println!();
        profile::print(workspace, &images.pair)?;
    }
    if options.accept {
        snapshot::write(workspace, &measured.snapshot())?;
        if !measured.steps.is_empty() {
            steps::write(workspace, &measured.steps)?;
        }
    }
    match options.check {
        true => measured.check(workspace),
        false => Ok(()),
    }
}

impl Measured {
    /// Nothing is larger or slower than was promised, or may panic.
    fn check(self, workspace: &Workspace) -> Outcome {
        snapshot::compare(workspace, &self.snapshot())?;
        if !self.steps.is_empty() {
            steps::compare(workspace, &self.steps)?;
        }
        Failure::unless_empty("size: in the image with TCP these may panic:", self.panics)?;
        Failure::unless_empty(
            "size: in the image with a whole node these may panic:",
            self.node_panics,
        )?;
        Failure::unless_empty(
            "size: in the image with a leaf these may panic:",
            self.leaf_panics,
        )?;
        self.leaf_stack.check()?;
        if let Ok(counts) = &self.instructions {
            counts.check()?;
        }
        Failure::unless_empty(
            "size: in the images with a node that routes by RPL these may panic:",
            self.routed_panics,
        )?;
        Failure::unless_empty(
            "size: in the image with link-layer security these may panic:",
            self.security.panics,
        )?;
        Ok(())
    }

    fn size(&self, name: &str) -> Option<u64> {
        let found = self.types.iter().find(|(path, _)| *path == name);
        found.map(|(_, size)| *size)
    }

    /// What a leaf of ours takes, its services left out.
    fn leaf_layers(&self) -> Layers {
        Layers {
            flash: self.leaf.bytes(),
            memory: self.leaf_stack.static_bytes(),
        }
    }

    fn json(&self) -> Value {
        let counts = self.instructions.as_ref().ok();
        let whole = |number: f64| number.round() as u64;
        let types: BTreeMap<_, _> = self.types.iter().copied().collect();
        let steps: BTreeMap<&str, Value> = (self.steps.iter())
            .map(|step| {
                let counts = json!({ "base": step.base, "per_byte": step.per_byte });
                (step.name.as_str(), counts)
            })
            .collect();
        let routed: BTreeMap<&str, u64> = (self.routed.iter())
            .map(|(name, flash)| (*name, flash.bytes()))
            .collect();
        json!({
            "tcp_flash_bytes": self.flash.bytes(),
            "tcp_subset_flash_bytes": self.subset.bytes(),
            "connection_bytes": self.size(types::CONNECTION),
            "listener_bytes": self.size(types::LISTENER),
            "half_open_bytes": self.size(types::HALF_OPEN),
            "instructions_per_segment": counts.map(|c| whole(c.without_bytes())),
            "copy_instructions_per_segment": counts.map(|c| whole(c.copy)),
            "checksum_instructions_per_segment": counts.map(|c| whole(c.checksum)),
            "all_instructions_per_segment": counts.map(|c| whole(c.all)),
            "acks_per_segment": counts.map(|c| c.acks),
            "counted_segments": counts.map(|c| c.segments),
            "tcp_flash_with_calls_bytes": self.flash.difference,
            "tcp_flash_by_crate_bytes": self.flash.by_crate,
            "types_bytes": types,
            "step_instructions": steps,
            "rivals": self.rivals_json(),
            "panics": self.panics,
            "node_flash_bytes": self.node.bytes(),
            "node_flash_by_crate_bytes": self.node.by_crate,
            "node_panics": self.node_panics,
            "leaf_flash_bytes": self.leaf.bytes(),
            "leaf_flash_by_crate_bytes": self.leaf.by_crate,
            "leaf_panics": self.leaf_panics,
            "leaf_static_bytes": self.leaf_stack.static_bytes(),
            "leaf_stack_bytes": self.leaf_stack.serving_bytes(),
            "leaf_stack_with_making_bytes": self.leaf_stack.whole_bytes(),
            "smoltcp_leaf": self.smoltcp.json(),
            "rpl_flash_bytes": routed,
            "rpl_flash_by_crate_bytes": self.routed.last().map(|(_, flash)| &flash.by_crate),
            "rpl_panics": self.routed_panics,
            "security": self.security.json(),
            "skipped": self.instructions.as_ref().err(),
        })
    }

    fn print(&self) {
        let mut rows = vec![row(["figure", "measured", "must", "goal", "others"])];
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
        let mut rows = vec![row(["flash of RPL beside a whole node", "bytes"])];
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
                println!("in the image with {what} these places may panic:");
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

    fn rivals_json(&self) -> Value {
        let one = |rival: &Rival| {
            json!({
                "name": rival.name,
                "payload_bytes": rival.payload,
                "connection_bytes": rival.slot_bytes,
                "instructions_per_segment": rival.instructions.round() as u64,
                "acks_per_segment": rival.acks,
            })
        };
        self.rivals.iter().map(one).collect()
    }

    /// The TCPs to compare with, and ours beside them.
    fn print_rivals(&self, ours: &PerSegment) {
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

    /// The figures that were promised, with what was promised.
    fn figures(&self) -> Vec<Vec<String>> {
        let shown = |size: Option<u64>| size.map_or("-".to_owned(), |size| size.to_string());
        let counted = |of: fn(&PerSegment) -> f64| match &self.instructions {
            Ok(counts) => format!("{:.0}", of(counts)),
            Err(_) => "-".to_owned(),
        };
        let sized = |name| shown(self.size(name));
        let limit = |name| shown(snapshot::limit(name));
        let (whole, subset) = (limit(snapshot::TCP), limit(snapshot::SUBSET));
        let (connection, listener) = (limit(types::CONNECTION), limit(types::LISTENER));
        // What other stacks need was measured once, before November 2026 (docs/size.md).
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
                "  of it, with TCPlp's features",
                self.subset.bytes().to_string(),
                [&subset, "", "TCPlp 18.0 KB"],
            ),
            (
                "a connection, all but its buffers, bytes",
                sized(types::CONNECTION),
                [
                    &connection,
                    "320",
                    "TCPlp 767, lwIP 228 + 32 a segment, smoltcp 352",
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
                ["48", "", "none has them"],
            ),
            (
                "instructions a data segment, both ends and ACKs",
                counted(PerSegment::without_bytes),
                ["6000", "4400", "lwIP 4406, TCPlp 7739, smoltcp 16750"],
            ),
            (
                "  not in it: four copies of the payload",
                counted(|counts| counts.copy),
                ["", "", ""],
            ),
            (
                "  not in it: checksums, made and verified",
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

    /// What is compared. Instructions a segment are not: a compiler's next version
    /// changes them.
    fn snapshot(&self) -> String {
        let mut text = String::from(snapshot::HEAD);
        let compared = self.types.iter().filter(|(name, _)| snapshot::holds(name));
        for (name, bytes) in compared {
            text.push_str(&format!("{bytes:>5}  {name}\n"));
        }
        for (flash, name) in [
            (&self.flash, snapshot::TCP),
            (&self.subset, snapshot::SUBSET),
            (&self.leaf, snapshot::LEAF),
            (&self.node, snapshot::NODE),
        ] {
            let bytes = flash.bytes();
            text.push_str(&format!("{bytes:>5}  {}{name}\n", snapshot::FLASH));
        }
        for (name, flash) in &self.routed {
            let bytes = flash.bytes();
            text.push_str(&format!("{bytes:>5}  {}RPL, {name}\n", snapshot::FLASH));
        }
        text.push_str(&self.security.snapshot());
        text
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            types: vec![(types::CONNECTION, 496), (types::LISTENER, 18)],
            flash: Flash {
                difference: 1000,
                by_crate: [(DRIVER.to_owned(), 100), ("redpoll_tcp".to_owned(), 900)].into(),
            },
            subset: Flash {
                difference: 800,
                by_crate: BTreeMap::new(),
            },
            node: Flash {
                difference: 3000,
                by_crate: BTreeMap::new(),
            },
            leaf: Flash {
                difference: 2000,
                by_crate: BTreeMap::new(),
            },
            leaf_panics: Vec::new(),
            leaf_stack: Stack::default(),
            smoltcp: Layers {
                flash: 1500,
                memory: 120,
            },
            routed: vec![(
                "all of it",
                Flash {
                    difference: 200,
                    by_crate: [(DRIVER.to_owned(), 50)].into(),
                },
            )],
            panics: vec!["a.rs:1: f: g".to_owned()],
            node_panics: Vec::new(),
            routed_panics: Vec::new(),
            security: Security::of(Flash {
                difference: 400,
                by_crate: BTreeMap::new(),
            }),
            instructions: Ok(PerSegment {
                all: 10.4,
                copy: 2.0,
                checksum: 3.0,
                acks: 0.5,
                segments: 4,
            }),
            rivals: Vec::new(),
            steps: Vec::new(),
        }
    }

    #[test]
    fn the_object_has_the_promised_keys() {
        let object = measured().json();
        assert_eq!(object["tcp_flash_bytes"], 900);
        assert_eq!(object["connection_bytes"], 496);
        assert_eq!(object["listener_bytes"], 18);
        assert_eq!(object["half_open_bytes"], Value::Null);
        assert_eq!(object["instructions_per_segment"], 5);
        assert_eq!(object["node_flash_bytes"], 3000);
        assert_eq!(object["rpl_flash_bytes"]["all of it"], 150);
        assert_eq!(object["smoltcp_leaf"]["flash_bytes"], 1500);
        assert_eq!(object["security"]["flash_bytes"], 400);
        assert_eq!(object["skipped"], Value::Null);
    }

    #[test]
    fn what_was_not_counted_is_said_to_be_skipped() {
        let without = Measured {
            instructions: Err("skipped: no emulator".to_owned()),
            ..measured()
        };
        let object = without.json();
        assert_eq!(object["instructions_per_segment"], Value::Null);
        assert_eq!(object["skipped"], "skipped: no emulator");
        assert!(without.figures().iter().any(|row| row[1] == "-"));
    }

    #[test]
    fn the_command_line_is_read() {
        let options = Options::parse(&["--check", "--json", "-"]).unwrap();
        assert_eq!(options.json.as_deref(), Some("-"));
        assert!(options.check && !options.accept && !options.profile);
        assert_eq!(options.with, None);
        let way = Options::parse(&["--check", "--with", "build-std"]);
        assert_eq!(way, Ok(Options::check(Way::BuildStd)));
        assert!(Options::parse(&["--with", "gcc"]).is_err());
        assert_eq!(Options::parse(&["--json"]), Err("--json".to_owned()));
        assert_eq!(Options::parse(&["--no", "x"]), Err("--no x".to_owned()));
    }

    #[test]
    fn the_snapshot_has_a_line_for_each_size() {
        let text = measured().snapshot();
        assert!(
            text.contains(
                "\n  900  flash: TCP\n  800  flash: TCP with what TCPlp has\n 2000  flash: a leaf\n"
            ) && text
                .ends_with("\n  150  flash: RPL, all of it\n  400  flash: link-layer security\n"),
            "{text}"
        );
        assert!(text.contains("\n   18  redpoll_tcp::Listener\n"), "{text}");
    }
}
