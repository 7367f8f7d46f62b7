//! Numbers of sockets that a node needs for the scenario's apps.

use crate::scenario::{
    AppKind, ClientProtocol, ImageProtocol, Scenario, SensorSpec, SensorTransport,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sockets {
    pub listeners: usize,
    pub udp: usize,
    /// UDP sockets for CoAP, whose datagrams may be as long as a packet.
    pub coap: usize,
}

impl Sockets {
    /// Returns how many sockets of each kind the apps of node `index` need; `ports` are the node's
    /// [`datagram_ports`].
    pub fn of(scenario: &Scenario, index: usize, ports: &[u16]) -> Sockets {
        let mut sockets = Sockets {
            listeners: 0,
            udp: ports.len(),
            coap: 0,
        };
        for app in scenario.place(index).map_or(&[][..], |place| &place.apps) {
            match app.kind {
                AppKind::HttpServer { .. } | AppKind::BulkSink { .. } | AppKind::Echo { .. } => {
                    sockets.listeners += 1;
                }
                AppKind::CoapServer { .. } => sockets.coap += 1,
                AppKind::ImageSource(source) if source.protocol == ImageProtocol::Http => {
                    sockets.listeners += 1;
                }
                AppKind::ImageLeaf(leaf) if leaf.protocol == ImageProtocol::Http => {}
                AppKind::ImageSource(_) | AppKind::ImageLeaf(_) => sockets.coap += 1,
                AppKind::Client(spec) if spec.protocol == ClientProtocol::Coap => sockets.coap += 1,
                AppKind::Sensor(spec) if spec.transport.is_coap() => sockets.coap += 1,
                AppKind::Sensor(spec) if spec.transport.is_udp() => sockets.udp += 1,
                _ => {}
            }
        }
        sockets
    }
}

/// Returns the ports of each node, and of the host, to which sensors send datagrams. The node
/// receives and counts these datagrams itself, without an app in the scenario.
pub(crate) fn datagram_ports(scenario: &Scenario) -> Vec<Vec<u16>> {
    let mut places = vec![Vec::new(); scenario.places().count()];
    for app in scenario.places().flat_map(|place| &place.apps) {
        if let AppKind::Sensor(SensorSpec {
            to,
            transport: SensorTransport::Udp | SensorTransport::Ideal,
            ..
        }) = &app.kind
            && let Some(ports) = scenario
                .index_of(to)
                .and_then(|index| places.get_mut(index))
        {
            ports.push(to.port);
        }
    }
    for ports in &mut places {
        ports.sort_unstable();
        ports.dedup();
    }
    places
}
