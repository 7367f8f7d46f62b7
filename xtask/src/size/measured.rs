//! All measured values, as a JSON object and as a text to compare with the snapshot.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::flash::Flash;
use super::peer::Layers;
use super::qemu::{PerSegment, Rival};
use super::security::Security;
use super::snapshot;
use super::stack::Stack;
use super::steps::{self, Step};
use super::types::{self, Size};
use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

pub(super) struct Measured {
    pub(super) types: Vec<Size>,
    pub(super) flash: Flash,
    /// Flash of the features that TCPlp has too.
    pub(super) subset: Flash,
    pub(super) node: Flash,
    pub(super) leaf: Flash,
    pub(super) leaf_panics: Vec<String>,
    pub(super) leaf_stack: Stack,
    /// Size of smoltcp with a leaf's functions.
    pub(super) smoltcp: Layers,
    /// Flash that RPL adds, by its parts.
    pub(super) routed: Vec<(&'static str, Flash)>,
    pub(super) panics: Vec<String>,
    /// Places in the code of the whole node that may panic.
    pub(super) node_panics: Vec<String>,
    /// Places in the code of a node with RPL that may panic.
    pub(super) routed_panics: Vec<String>,
    pub(super) security: Security,
    /// Instructions per segment, or why none were counted.
    pub(super) instructions: Result<PerSegment, String>,
    /// Counted steps; empty if no image could be run.
    pub(super) steps: Vec<Step>,
    /// Instructions per segment of the other TCPs, for comparison.
    pub(super) rivals: Vec<Rival>,
}

/// Returns the outcome of a comparison. With the note `unjudged`, a failure is only printed, and
/// the result is success.
fn judge(compared: Outcome, unjudged: Option<&str>) -> Outcome {
    let (Some(note), Err(failure)) = (unjudged, &compared) else {
        return compared;
    };
    println!("{note}:\n{failure}");
    Ok(())
}

impl Measured {
    /// Checks that no image is larger or slower than promised, and that no image may panic. With
    /// `unjudged`, the note on another release of Rust, a wrong count of instructions is printed
    /// and is not a failure: each release compiles to other code.
    pub(super) fn check(self, workspace: &Workspace, unjudged: Option<&str>) -> Outcome {
        let judge = |compared: Outcome| judge(compared, unjudged);
        snapshot::compare(workspace, &self.snapshot())?;
        if !self.steps.is_empty() {
            judge(steps::compare(workspace, &self.steps))?;
        }
        Failure::unless_empty(
            "size: the image with TCP may panic at these places:",
            self.panics,
        )?;
        Failure::unless_empty(
            "size: the image with a whole node may panic at these places:",
            self.node_panics,
        )?;
        Failure::unless_empty(
            "size: the image with a leaf may panic at these places:",
            self.leaf_panics,
        )?;
        self.leaf_stack.check()?;
        if let Ok(counts) = &self.instructions {
            judge(counts.check())?;
        }
        Failure::unless_empty(
            "size: the images with a node that routes by RPL may panic at these places:",
            self.routed_panics,
        )?;
        Failure::unless_empty(
            "size: the image with link-layer security may panic at these places:",
            self.security.panics,
        )?;
        Ok(())
    }

    pub(super) fn size(&self, name: &str) -> Option<u64> {
        let found = self.types.iter().find(|(path, _)| *path == name);
        found.map(|(_, size)| *size)
    }

    /// Returns the size of Redpoll's leaf without its services.
    pub(super) fn leaf_layers(&self) -> Layers {
        Layers {
            flash: self.leaf.bytes(),
            memory: self.leaf_stack.static_bytes(),
        }
    }

    pub(super) fn json(&self) -> Value {
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

    pub(super) fn rivals_json(&self) -> Value {
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

    /// Returns the values to compare with the snapshot. It has no instructions per segment, because
    /// the next compiler version changes them.
    pub(super) fn snapshot(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::flash::DRIVER;

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
    fn uncounted_values_are_reported_as_skipped() {
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
    fn a_difference_fails_only_with_the_judged_release() {
        let different = || Err(Failure::new("more instructions"));
        assert!(judge(different(), None).is_err());
        assert!(judge(different(), Some("only shown")).is_ok());
        assert!(judge(Ok(()), None).is_ok() && judge(Ok(()), Some("only shown")).is_ok());
    }

    #[test]
    fn the_snapshot_has_a_line_for_each_size() {
        let text = measured().snapshot();
        assert!(
            text.contains(
                "\n  900  flash: TCP\n  800  flash: TCP with TCPlp's features\n 2000  flash: a \
                 leaf\n"
            ) && text
                .ends_with("\n  150  flash: RPL, all of it\n  400  flash: link-layer security\n"),
            "{text}"
        );
        assert!(text.contains("\n   18  redpoll_tcp::Listener\n"), "{text}");
    }
}
