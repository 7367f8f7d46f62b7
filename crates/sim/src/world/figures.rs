//! Builds the report of a world.

use std::collections::BTreeMap;

use redpoll_stack::wire::rpl::INFINITE_RANK;

use super::World;
use crate::air::FrameClass;
use crate::energy;
use crate::node::SimNode;
use crate::report::{self, Report};

impl World {
    /// Checks the frame ledger, and returns the report of the run until now.
    pub fn report(&mut self) -> Report {
        self.check_ledger();
        let above = self.parents();
        let specs = 0..self.env.scenario.nodes.len();
        let nodes = specs
            .map(|index| self.node_figures(index, &above))
            .collect();
        Report {
            version: report::VERSION,
            scenario: self.env.scenario.name.clone(),
            seed: self.env.seed.0,
            set: self.env.scenario.set.clone(),
            medium: report::medium(&self.env.scenario),
            simulated_s: self.simulated_until().as_micros() as f64 / 1e6,
            wall_s: self.wall.as_secs_f64(),
            events: self.events,
            peak_memory_bytes: report::peak_memory_bytes(),
            oracle: report::OracleReport {
                ok: self.env.oracle.is_satisfied(),
                violations: self.env.oracle.violations().to_vec(),
            },
            flows: self.env.oracle.figures(self.env.now),
            taim: self.crossing.taim_figures(),
            fair_queue: self.crossing.fair_queue_figures(),
            spare: self.crossing.spare_figures(),
            air_time: report::AirTimeFigures::of(&self.env.air.air_times(self.env.now)),
            nodes,
            interferers: report::interferers(self.env.air.medium(), self.env.now),
        }
    }

    /// Returns the figures of node `index`; `above` contains the parents of all nodes. Occupants
    /// without Redpoll's stack report no protocol counters.
    fn node_figures(&self, index: usize, above: &[Option<usize>]) -> report::NodeFigures {
        let scenario = &self.env.scenario;
        let spec = &scenario.nodes[index];
        let native = self.native(index);
        let node = native.map(|native| &native.node);
        let station = &self.env.air.stations()[index];
        let mac = node.map(|node| *node.mac().counters()).unwrap_or_default();
        let ip = node.map(|node| *node.counters()).unwrap_or_default();
        let name_of = |node: usize| scenario.nodes[node].name.clone();
        report::NodeFigures {
            name: spec.name.clone(),
            role: spec.role.word(),
            position_m: spec.position_m,
            parent: self.parent_of(index).map(name_of),
            hops: self.plan.hops.get(index).copied().flatten(),
            frames_sent: mac.frames_sent.into(),
            frame_retries: mac.frame_retries.into(),
            drops: self.drops(index),
            radio_duty_cycle: self.duty_cycle(index),
            energy: self.energy_of(index),
            data_requests: mac.data_requests.into(),
            parent_changes: ip.parent_changes.into(),
            addresses_refused: ip.duplicate_addresses.into(),
            recovery: node
                .filter(|_| scenario.lowpan.recovery.is_some())
                .map(|node| report::RecoveryFigures::of(&node.lowpan().recovery_counters())),
            ecn_marks: node.map_or(0, |node| node.lowpan().counters().marked.into()),
            cache: node
                .and_then(|node| node.assistant().cache())
                .map(|cache| report::CacheFigures::of(cache.counters())),
            multicast: node
                .and_then(|node| node.assistant().groups())
                .map(|groups| report::MulticastFigures::of(groups.counters())),
            rpl: self.rpl_figures(index, above),
            duty: node
                .and_then(|node| node.mac().access().duty_counters())
                .map(|counters| report::DutyFigures::of(counters, station)),
            memory_bytes: self.places[index].memory_bytes as u64,
        }
    }

    pub(crate) fn duty_cycle(&self, index: usize) -> f64 {
        let (now, times) = (self.env.now, &self.env.air.stations()[index].times);
        match self.env.scenario.mac.duty {
            Some(_) => times.on_share(now),
            None => times.duty_cycle(now),
        }
    }

    /// Returns the times and charges of node `index`. The processor of an occupant without
    /// Redpoll's stack counts as idle.
    pub(crate) fn energy_of(&self, index: usize) -> energy::Figures {
        let scenario = &self.env.scenario;
        let unknown;
        let labour = match self.native(index) {
            Some(native) => &native.labour,
            None => {
                unknown = energy::Labour::new(scenario.energy.packet_instructions);
                &unknown
            }
        };
        let currents = scenario.radio.model.currents();
        let station = &self.env.air.stations()[index];
        energy::Figures::of(&scenario.energy, &currents, station, labour, self.env.now)
    }

    fn drops(&self, index: usize) -> BTreeMap<String, u64> {
        let native = self.native(index);
        report::drops(
            native.map(|native| &native.node),
            self.env.air.ledger().lost_at(index),
            self.crossing.losses_at(index).as_ref(),
            &native.map(|native| native.losses()).unwrap_or_default(),
        )
    }

    fn parents(&self) -> Vec<Option<usize>> {
        let parent = |node: &SimNode| self.plan.by_link.get(&node.rpl_place()?.1?).copied();
        let places = 0..self.places.len();
        places.map(|index| parent(self.node(index)?)).collect()
    }

    /// Returns the RPL figures of node `index`, if it uses RPL; `above` has all nodes' parents.
    fn rpl_figures(&self, index: usize, above: &[Option<usize>]) -> Option<report::RplFigures> {
        let node = self.node(index)?;
        let (rank, _) = node.rpl_place()?;
        let is_root = |at: usize| {
            let Some(node) = self.node(at) else {
                return at == self.plan.root;
            };
            let place = node.rpl_place();
            place.is_some_and(|(rank, parent)| parent.is_none() && rank != INFINITE_RANK)
        };
        let mut at = index;
        // A path longer than the number of nodes is a loop.
        let hops = (0..above.len()).find(|_| {
            let arrived = is_root(at);
            at = above.get(at).copied().flatten().unwrap_or(at);
            arrived
        });
        let parent = above.get(index).copied().flatten();
        let place = report::RplPlace {
            rank: (rank != INFINITE_RANK).then_some(rank),
            parent: parent.map(|parent| self.env.scenario.nodes[parent].name.clone()),
            hops,
            targets: node.rpl_targets(self.env.now),
        };
        Some(report::RplFigures::of(&node.rpl_counters(), place))
    }

    fn check_ledger(&mut self) {
        let under_way = self.env.air.entries_under_way();
        for kind in FrameClass::ALL {
            let outstanding = self.env.air.ledger().outstanding(kind);
            if outstanding != under_way[kind as usize] as i64 {
                let open = under_way[kind as usize];
                self.env.oracle.violated(format!(
                    "frames of the kind {kind:?}: {outstanding} have no outcome, but {open} are in \
                     transit"
                ));
            }
        }
    }
}
