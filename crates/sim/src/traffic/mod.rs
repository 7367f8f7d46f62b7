//! Applications on the nodes, which create the traffic of a scenario.
//!
//! An app is a small state machine on the sockets of its node. It gets the node's events and its
//! own timer, and reports to the oracle every byte that it sends or receives.

mod bulk;
mod client;
mod coap;
mod content;
mod echo;
mod http;
mod image;
mod later;
mod mqtt;
mod outgoing;
mod peers;
mod sensor;
mod sessions;
mod transfers;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_stack::NodeEvent;
use redpoll_tcp::Endpoint;

use crate::energy::Labour;
use crate::kernel::Secrets;
use crate::node::{SimNode, datagram_ports};
use crate::oracle::Oracle;
use crate::scenario::{
    AppKind, AppSpec, ClientProtocol, ImageProtocol, Scenario, Target, TargetHost, TransportSpec,
    When,
};

pub use crate::oracle::counting_lines;
pub(crate) use transfers::Transfers;

use later::Later;
use peers::Peers;

/// Environment of an app during a call.
pub struct Context<'a> {
    /// Time by the node's clock.
    pub now: Instant,
    /// Time of the world, for measurements.
    pub world_time: Instant,
    pub node: &'a mut SimNode,
    /// Observer of all bytes.
    pub oracle: &'a mut Oracle,
    pub(crate) labour: &'a mut Labour,
}

pub trait App {
    fn start(&mut self, cx: &mut Context<'_>);

    /// Handles an event of the node, which may concern a socket of another app.
    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent);

    fn on_timer(&mut self, cx: &mut Context<'_>);

    fn next_timer(&self) -> Option<Instant>;

    /// Returns whether the app waits for an acknowledgment, for which there is no event.
    fn wants_acks(&self) -> bool {
        false
    }

    /// Handles a possible acknowledgment; called while [`wants_acks`](Self::wants_acks) is true.
    fn on_acks(&mut self, _cx: &mut Context<'_>) {}

    /// Restarts the app after its node has restarted; only its state in flash remains. Returns
    /// false if the app has no state in flash: the caller then creates the app again.
    fn restart(&mut self, _cx: &mut Context<'_>) -> bool {
        false
    }

    /// Returns how many readings, messages or datagrams the app has lost, by reason.
    fn losses(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Creates the apps of a run.
pub(crate) struct Traffic {
    seed: u64,
    peers: Peers,
}

impl Traffic {
    pub(crate) fn new(seed: u64) -> Traffic {
        Traffic {
            seed,
            peers: Peers::default(),
        }
    }

    /// Creates the apps of `scenario`, each with the index of its node. Secrets come from
    /// `secrets`. The apps may need a host. A caller without one removes them from the scenario
    /// first ([`Scenario::retain_apps_of`]).
    pub(crate) fn apps(
        &self,
        scenario: &Scenario,
        secrets: &mut Secrets,
    ) -> Vec<(usize, Box<dyn App>)> {
        let mut maker = self.maker(secrets, "traffic");
        let mut apps: Vec<(usize, Box<dyn App>)> = Vec::new();
        // Receivers come first, so that no app sends to a port that opens at the same instant.
        for (index, ports) in datagram_ports(scenario).into_iter().enumerate() {
            for port in ports {
                let sink = sensor::DatagramSink::new(port, self.peers.clone());
                apps.push((index, Box::new(sink)));
            }
        }
        for receives in [true, false] {
            for (index, node) in scenario.places().enumerate() {
                // The firmware of an OpenThread node runs its own apps.
                if node.thread.is_some() {
                    continue;
                }
                for spec in node.apps.iter().filter(|spec| spec.when != When::Never) {
                    if spec.kind.target().is_none() == receives {
                        let app = maker.app(scenario, index, spec);
                        apps.push((index, Later::wrap(app, maker.delay(scenario, index, spec))));
                    }
                }
            }
        }
        apps
    }

    /// Creates the apps of a node that has restarted at `now`, without those that continue with
    /// their state in flash. Receivers come first.
    pub(crate) fn restarted(
        &self,
        scenario: &Scenario,
        index: usize,
        now: Instant,
    ) -> Vec<Box<dyn App>> {
        let secrets = &mut Secrets::of_seed();
        let name = format!("restart/{index}/{}", now.as_micros());
        let mut maker = self.maker(secrets, &name);
        let specs = scenario.place(index).into_iter().flat_map(|it| &it.apps);
        let specs = specs.filter(|spec| spec.when != When::Never && !spec.kind.outlives_restart());
        let mut specs: Vec<&AppSpec> = specs.collect();
        specs.sort_by_key(|spec| spec.kind.target().is_some());
        let apps = specs.into_iter().map(|spec| {
            let delay = maker.delay(scenario, index, spec);
            let left = delay.minus(now.since(Instant::ZERO));
            Later::wrap(maker.app(scenario, index, spec), left)
        });
        apps.collect()
    }

    fn maker<'a>(&self, secrets: &'a mut Secrets, name: &str) -> Maker<'a> {
        Maker {
            seed: self.seed,
            secrets,
            rng: Rng::named(self.seed, name),
            peers: self.peers.clone(),
        }
    }
}

/// Common parts of all apps of a run.
struct Maker<'a> {
    seed: u64,
    secrets: &'a mut Secrets,
    rng: Rng,
    peers: Peers,
}

impl Maker<'_> {
    fn coap_rng(&mut self, scenario: &Scenario, index: usize, spec: &AppSpec) -> Rng {
        let node = name_of(scenario, index);
        let seeded = Rng::named(self.seed, &format!("coap/{}/{node}", spec.name));
        self.secrets.stream(seeded)
    }

    fn delay(&self, scenario: &Scenario, index: usize, spec: &AppSpec) -> Duration {
        let span_us = spec.start_spread.as_micros();
        if span_us == 0 {
            return spec.start;
        }
        let node = name_of(scenario, index);
        let mut rng = Rng::named(self.seed, &format!("start/{}/{node}", spec.name));
        spec.start + Duration::from_micros(rng.below_u64(span_us))
    }

    fn app(&mut self, scenario: &Scenario, index: usize, spec: &AppSpec) -> Box<dyn App> {
        let peers = self.peers.clone();
        let name = name_of(scenario, index);
        let place = scenario.place(index);
        let connections = place.map_or(0, |place| place.connections);
        let is_ours = place.is_some_and(|place| place.transport == TransportSpec::Redpoll);
        let opens_fast = scenario.tcp.fast_open && is_ours;
        let route = |to: &Target| Route::new(scenario, index, spec, to, peers.clone());
        match &spec.kind {
            AppKind::HttpServer { port, file_bytes } => {
                Box::new(http::Server::new(&name, *port, *file_bytes, connections))
            }
            AppKind::CoapServer {
                port,
                file_bytes,
                block,
            } => Box::new(coap::Server::new(
                &name,
                *port,
                *file_bytes,
                *block,
                peers,
                self.coap_rng(scenario, index, spec),
            )),
            AppKind::BulkSender {
                to,
                bytes,
                retry,
                resumes,
            } => {
                let sender = bulk::Sender::new(route(to), *bytes, *retry, *resumes);
                Box::new(sender.opens_fast(opens_fast && !resumes))
            }
            AppKind::BulkSink { port, read_rate } => {
                let sink = bulk::Sink::new(*port, peers, connections, *read_rate);
                Box::new(sink.opens_fast(opens_fast))
            }
            AppKind::Echo { port } => Box::new(echo::Echo::new(*port, connections)),
            AppKind::Sensor(sensor) => {
                let period = sensor.interval.times(sensor.batch.into());
                let clock = sensor::Clock::new(sensor.interval, period, &mut self.rng);
                let rng = self.coap_rng(scenario, index, spec);
                Box::new(sensor::Sensor::new(route(&sensor.to), sensor, clock, rng))
            }
            AppKind::Client(client) => {
                let clock = sensor::Clock::new(client.interval, client.interval, &mut self.rng);
                let asks = match client.protocol {
                    ClientProtocol::Http => client::Asks::http(route(&client.to), client),
                    ClientProtocol::Coap => {
                        let rng = self.coap_rng(scenario, index, spec);
                        client::Asks::coap(route(&client.to), client, rng)
                    }
                };
                Box::new(client::Client::new(route(&client.to), client, clock, asks))
            }
            AppKind::ImageSource(source) => match source.protocol {
                ImageProtocol::Http => {
                    let server = http::Server::new(&name, source.port, source.bytes, connections);
                    Box::new(server.of_image(peers))
                }
                _ => image::source(source, peers, self.coap_rng(scenario, index, spec)),
            },
            AppKind::ImageLeaf(leaf) => {
                let rng = self.coap_rng(scenario, index, spec);
                Box::new(image::Leaf::new(route(&leaf.to), leaf, rng))
            }
            AppKind::MqttSensor { to, interval, .. } => {
                let clock = sensor::Clock::new(*interval, *interval, &mut self.rng);
                Box::new(mqtt::Sensor::new(route(to), &spec.kind, clock))
            }
        }
    }
}

fn name_of(scenario: &Scenario, index: usize) -> String {
    let place = scenario.place(index);
    place.map_or(String::new(), |place| place.name.clone())
}

/// A flow of an app: its name, the names of its two ends, and the address of the far end.
#[derive(Clone, Debug)]
struct Route {
    flow: String,
    from: String,
    to: String,
    remote: Endpoint,
    /// Whether the far end is simulated, and reports its received bytes to the oracle.
    is_inside: bool,
    peers: Peers,
}

impl Route {
    fn new(scenario: &Scenario, index: usize, spec: &AppSpec, to: &Target, peers: Peers) -> Route {
        let far_end = match to.host {
            TargetHost::Node(node) => name_of(scenario, node),
            TargetHost::Outside if to.addr == scenario.border.host => "host".to_owned(),
            TargetHost::Outside => to.addr.to_string(),
        };
        Route {
            flow: spec.name.clone(),
            from: name_of(scenario, index),
            to: far_end,
            remote: Endpoint {
                addr: to.addr,
                port: to.port,
            },
            is_inside: scenario.index_of(to).is_some(),
            peers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_start_apart_within_their_span() {
        let text = "duration = \"60 s\"\n[topology]\nkind = \"line\"\nnodes = 9\nspacing = \"10 m\"\n\
                    [apps.echo]\ntype = \"echo\"\non = \"every node\"\nstart = \"2 s\"\n\
                    start_spread = \"3 s\"";
        let scenario = Scenario::parse("apart", text, &[]).unwrap();
        let maker = Maker {
            seed: 1,
            secrets: &mut Secrets::of_seed(),
            rng: Rng::named(1, "traffic"),
            peers: Peers::default(),
        };
        let nodes = scenario.nodes.iter().enumerate();
        let delays = nodes.map(|(index, node)| maker.delay(&scenario, index, &node.apps[0]));
        let mut delays: Vec<Duration> = delays.collect();
        let span = Duration::from_secs(2)..Duration::from_secs(5);
        assert!(
            delays.iter().all(|delay| span.contains(delay)),
            "{delays:?}"
        );
        delays.sort_unstable();
        delays.dedup();
        assert_eq!(delays.len(), 9);
    }
}
