//! The simulated mesh as the gateway sees it.

use std::time::SystemTime;

use redpoll_base::Instant;
use redpoll_linux::entropy;
use redpoll_linux::forward::ForwardEvent;
use redpoll_linux::gateway::Mesh;
use redpoll_sim::external::Pace;
use redpoll_sim::trace::{FrameTrace, TraceError};
use redpoll_sim::{BuildError, Scenario, Secrets, SimNode, World, WorldOptions};

use super::connections::Connections;
use crate::failure::Failure;
use crate::lines::{self, Sockets};
use crate::run::outputs::Outputs;

/// Returns secrets from the operating system, because the seed of a scenario is public. Fails if
/// the operating system returns no random numbers.
pub(super) fn secrets() -> std::io::Result<Secrets> {
    // Tests the kernel once: if it returns random bytes now, later calls do not fail.
    entropy::fill(&mut [0])?;
    Ok(Secrets::from_source(|bytes| {
        entropy::fill(bytes)
            .expect("a kernel that has returned random numbers once does not fail later");
    }))
}

/// A world whose border router is joined to this computer.
pub(super) struct SimulatedMesh {
    world: World,
    border: String,
    connections: Connections,
}

impl SimulatedMesh {
    /// Returns the world of a scenario that has a border router.
    pub(super) fn new(
        scenario: &Scenario,
        secrets: Secrets,
        lines: &Sockets,
    ) -> Result<Self, BuildError> {
        let border = scenario
            .border_router()
            .and_then(|index| scenario.nodes.get(index));
        Ok(SimulatedMesh {
            world: World::with(
                scenario.clone(),
                WorldOptions {
                    secrets,
                    lines: Some(&|_, line| lines.open(line)),
                    pace: Pace::Goes,
                    ..WorldOptions::default()
                },
            )?,
            border: border.map(|node| node.name.clone()).unwrap_or_default(),
            connections: Connections::of(scenario),
        })
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    pub(super) fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    pub(super) fn forward(&mut self, event: &ForwardEvent) {
        self.connections.forward(self.world.now(), event);
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.count()
    }

    pub(super) fn trace(&mut self, trace: Box<dyn FrameTrace>) {
        self.world.add_trace(trace);
    }

    /// Returns lines about events of nodes that run outside the simulator.
    pub(super) fn notices(&mut self) -> Vec<String> {
        lines::notices(&mut self.world)
    }

    pub(super) fn line(&mut self) -> Option<String> {
        self.connections.line()
    }

    /// Creates the requested files; `false` if the reader of standard output has closed the pipe.
    /// Captures have wall-clock times, which start from now.
    pub(super) fn write_to(&mut self, outputs: &mut Outputs) -> Result<bool, Vec<Failure>> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        outputs.begin(&mut self.world, now.unwrap_or_default())
    }

    /// Flushes all traces; returns the first write error since the last call, if any.
    pub(super) fn flush(&mut self) -> Result<(), TraceError> {
        self.world.flush_traces()
    }

    /// Returns the result so far in the form of `redpoll run`. `wall_s` is simulated time.
    pub(super) fn report(&mut self) -> redpoll_sim::Report {
        let report = self.world.report();
        redpoll_sim::Report {
            wall_s: report.simulated_s,
            ..report
        }
    }
}

impl Mesh for SimulatedMesh {
    type Border = SimNode;

    fn advance(&mut self, now: Instant) {
        self.world.run_until(now);
    }

    fn next_at(&self) -> Option<Instant> {
        self.world.next_event_at()
    }

    fn input_packet(&mut self, packet: &[u8]) {
        self.connections.see(self.world.now(), packet);
        self.world.host_input(packet);
    }

    fn poll_packet(&mut self, out: &mut [u8]) -> Option<usize> {
        let packet = self.world.host_output()?;
        self.connections.see(self.world.now(), &packet);
        out.get_mut(..packet.len())?.copy_from_slice(&packet);
        Some(packet.len())
    }

    fn border<R>(&mut self, act: impl FnOnce(Instant, &mut SimNode) -> R) -> R {
        let result = self.world.with_node(&self.border, act);
        result.expect("the simulation has the border router")
    }
}
