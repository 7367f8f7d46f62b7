//! Losses at a node, by layer and reason.

use std::collections::BTreeMap;
use std::fmt::Display;

use redpoll_border::{Gate, each_drop};

use crate::air::{Counts, Outcome};
use crate::node::SimNode;

pub(crate) struct HostSide<'a> {
    pub(crate) gate: &'a Gate,
    /// Packets for the mesh that found the queue full.
    pub(crate) to_mesh: u64,
    /// Packets for the host that found the queue full.
    pub(crate) to_host: u64,
    /// Packets lost on the serial line: those for the mesh, and those for the host.
    pub(crate) serial: (u64, u64),
}

/// Returns all losses at a node, by layer and reason; `node` is `None` if another stack runs there.
pub(crate) fn drops(
    node: Option<&SimNode>,
    lost: &Counts,
    host: Option<&HostSide<'_>>,
    losses: &[(&'static str, u64)],
) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    let mut add = |layer: &str, reason: &dyn Display, count: u64| {
        if count > 0 {
            *drops.entry(format!("{layer}.{reason}")).or_insert(0) += count;
        }
    };
    for (outcome, count) in Outcome::ALL.into_iter().zip(lost) {
        if outcome != Outcome::Delivered {
            add("radio", &outcome, u64::from(*count));
        }
    }
    if let Some(node) = node {
        if let Some(security) = node.security() {
            for (reason, count) in security.counters().refusals() {
                add("security", &reason, count.into());
            }
        }
        each_drop(node, |layer, reason, count| {
            add(layer, reason, count.into())
        });
        if let Some(groups) = node.assistant().groups() {
            let counters = groups.counters();
            for (reason, count) in [
                ("limited", counters.limited),
                ("foreign_group", counters.foreign),
                ("no_slot", counters.without_room),
                ("seeds_full", counters.without_seed),
                ("malformed", counters.malformed),
                ("hop_limit", counters.expired),
            ] {
                add("multicast", &reason, count.into());
            }
        }
    }
    if let Some(host) = host {
        for (reason, count) in host.gate.counters().drops() {
            add("host", &reason, count.into());
        }
        add("host", &"to_mesh_full", host.to_mesh);
        add("host", &"queue_full", host.to_host);
        let (busy, full) = host.serial;
        add("host", &"serial_busy", busy);
        add("host", &"serial_full", full);
    }
    for (reason, count) in losses {
        add("app", reason, *count);
    }
    drops
}
