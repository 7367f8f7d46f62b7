//! What a world has to report.

use std::collections::BTreeMap;

use redpoll_stack::wire::rpl::INFINITE_RANK;

use super::World;
use crate::air::Kind;
use crate::energy;
use crate::node::SimNode;
use crate::report::{self, Report};

impl World {
    /// What there is to report by now. Checks the frame ledger first.
    pub fn report(&mut self) -> Report {
        self.check_ledger();
        let above = self.parents();
        let specs = 0..self.scenario.nodes.len();
        let nodes = specs
            .map(|index| self.node_figures(index, &above))
            .collect();
        Report {
            version: report::VERSION,
            scenario: self.scenario.name.clone(),
            seed: self.seed.0,
            set: self.scenario.set.clone(),
            medium: report::medium(&self.scenario),
            simulated_s: self.simulated_until().as_micros() as f64 / 1e6,
            wall_s: self.wall.as_secs_f64(),
            events: self.events,
            peak_memory_bytes: report::peak_memory_bytes(),
            oracle: report::OracleReport {
                ok: self.oracle.is_satisfied(),
                violations: self.oracle.violations().to_vec(),
            },
            flows: self.oracle.figures(self.now),
            taim: self.taim(),
            fair_queue: self.fair_queue(),
            spare: self.spare_figures(),
            nodes,
            interferers: report::interferers(self.air.medium(), self.now),
        }
    }

    /// What there is to report of node `index`; `above` are the parents of all.
    fn node_figures(&self, index: usize, above: &[Option<usize>]) -> report::NodeFigures {
        let spec = &self.scenario.nodes[index];
        let inhabitant = &self.inhabitants[index];
        let node = &inhabitant.node;
        let station = &self.air.stations()[index];
        let (mac, ip) = (node.mac_counters(), node.counters());
        let currents = self.scenario.radio.model.currents();
        let name_of = |node: usize| self.scenario.nodes[node].name.clone();
        report::NodeFigures {
            name: spec.name.clone(),
            role: spec.role.word(),
            position_m: spec.position_m,
            parent: self.parent_of(index).map(name_of),
            hops: self.hops.get(index).copied().flatten(),
            frames_sent: mac.frames_sent.into(),
            frame_retries: mac.frame_retries.into(),
            drops: self.drops(index),
            radio_duty_cycle: match self.scenario.mac.duty {
                Some(_) => station.times.on_share(self.now),
                None => station.times.duty_cycle(self.now),
            },
            energy: energy::Figures::of(
                &self.scenario.energy,
                &currents,
                station,
                &inhabitant.labour,
                self.now,
            ),
            data_requests: mac.data_requests.into(),
            parent_changes: ip.parent_changes.into(),
            addresses_refused: ip.duplicate_addresses.into(),
            recovery: (self.scenario.lowpan.recovery.is_some())
                .then(|| report::RecoveryFigures::of(&node.lowpan().recovery_counters())),
            ecn_marks: node.lowpan_counters().marked.into(),
            cache: (node.assistant().cache())
                .map(|cache| report::CacheFigures::of(cache.counters())),
            rpl: self.rpl_figures(index, above),
            duty: (node.mac().access().duty_counters())
                .map(|counters| report::DutyFigures::of(counters, station)),
            memory_bytes: inhabitant.memory_bytes as u64,
        }
    }

    /// What was lost at node `index`, by its cause.
    fn drops(&self, index: usize) -> BTreeMap<String, u64> {
        let host = (Some(index) == self.border).then(|| report::HostSide {
            gate: &self.gate,
            to_mesh: self.from_host.overflow(),
            to_host: self.host_overflow,
            serial: self.serial_losses(),
        });
        let inhabitant = &self.inhabitants[index];
        let losses = inhabitant.apps.iter().flat_map(|app| app.losses());
        let losses: Vec<_> = losses.collect();
        report::drops(
            &inhabitant.node,
            self.air.ledger().lost_at(index),
            host.as_ref(),
            &losses,
        )
    }

    /// Of each node that routes by RPL, which one is its preferred parent.
    fn parents(&self) -> Vec<Option<usize>> {
        let parent = |node: &SimNode| self.by_link.get(&node.rpl_place()?.1?).copied();
        let nodes = self.inhabitants.iter();
        nodes.map(|inhabitant| parent(&inhabitant.node)).collect()
    }

    /// What RPL has done at node `index`, if it routes there; `above` are the parents of
    /// all.
    fn rpl_figures(&self, index: usize, above: &[Option<usize>]) -> Option<report::RplFigures> {
        let node = &self.inhabitants.get(index)?.node;
        let (rank, _) = node.rpl_place()?;
        let is_root = |at: usize| {
            let place = self.inhabitants.get(at).and_then(|it| it.node.rpl_place());
            place.is_some_and(|(rank, parent)| parent.is_none() && rank != INFINITE_RANK)
        };
        let mut at = index;
        // Longer than there are nodes: a loop.
        let hops = (0..above.len()).find(|_| {
            let arrived = is_root(at);
            at = above.get(at).copied().flatten().unwrap_or(at);
            arrived
        });
        let parent = above.get(index).copied().flatten();
        let place = report::RplPlace {
            rank: (rank != INFINITE_RANK).then_some(rank),
            parent: parent.map(|parent| self.scenario.nodes[parent].name.clone()),
            hops,
            targets: node.rpl_targets(self.now),
        };
        Some(report::RplFigures::of(&node.rpl_counters(), place))
    }

    fn check_ledger(&mut self) {
        let under_way = self.air.entries_under_way();
        for kind in Kind::ALL {
            let outstanding = self.air.ledger().outstanding(kind);
            if outstanding != under_way[kind as usize] as i64 {
                let open = under_way[kind as usize];
                self.oracle.violated(format!(
                    "frame ledger, {kind:?}: {outstanding} entries open, {open} on the air"
                ));
            }
        }
    }
}
