//! Sockets of a node, by the needs of the scenario's apps.

use crate::scenario::{
    AppKind, ClientProtocol, ImageProtocol, Scenario, SensorSpec, SensorTransport,
};

/// Numbers of sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sockets {
    /// TCP listeners.
    pub listeners: usize,
    /// UDP sockets.
    pub udp: usize,
    /// UDP sockets for CoAP, whose datagrams may be as long as a packet.
    pub coap: usize,
}

impl Sockets {
    /// Returns the numbers of sockets that the apps of node `index` need.
    pub fn of(scenario: &Scenario, index: usize) -> Sockets {
        let mut sockets = Sockets {
            listeners: 0,
            udp: datagram_ports(scenario, index).len(),
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

/// Returns the ports of node `index`, or of the host, to which sensors send datagrams. The node
/// counts their arrivals without an app of the scenario.
pub(crate) fn datagram_ports(scenario: &Scenario, index: usize) -> Vec<u16> {
    let all = scenario.places().flat_map(|place| &place.apps);
    let to_here = all.filter_map(|app| match &app.kind {
        AppKind::Sensor(SensorSpec {
            to,
            transport: SensorTransport::Udp | SensorTransport::Ideal,
            ..
        }) if scenario.index_of(to) == Some(index) => Some(to.port),
        _ => None,
    });
    let mut ports: Vec<u16> = to_here.collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
