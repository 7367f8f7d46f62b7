//! TCP implementations other than Redpoll's.

use redpoll_base::Rng;
use redpoll_rivals::blip::Blip;
use redpoll_rivals::linux::Linux;
#[cfg(feature = "smoltcp")]
use redpoll_rivals::smol::{Smol, SmolConfig};
use redpoll_rivals::uip::Uip;
use redpoll_rivals::{Port, Protocol, Rival, Slot, Table};
use redpoll_stack::NoStreams;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::rpl::PacketInformation;

use crate::MTU;
use crate::memory::{HeapMemory, HeapTable, buffer};
use crate::scenario::{Scenario, TransportSpec};

/// Length of a TCP header without options (RFC 9293 §3.1), in bytes.
const TCP_HEADER: u16 = 20;

/// Returns the largest MSS whose packets fit into the MTU of the link. With RPL, each packet
/// carries a hop-by-hop header (RFC 6553), which the other stacks do not consider.
fn largest_mss(scenario: &Scenario) -> u16 {
    let information = match scenario.routing.rpl() {
        Some(_) => PacketInformation::LEN as u16,
        None => 0,
    };
    MTU as u16 - Ipv6Header::LEN as u16 - TCP_HEADER - information
}

impl Scenario {
    /// Returns the payload of a full TCP segment of a node with `transport`, in bytes. A connection
    /// uses the smaller value of its two ends.
    pub fn full_segment(&self, transport: &TransportSpec) -> u16 {
        let own = match transport {
            TransportSpec::Redpoll => return self.tcp.payload_bytes(),
            TransportSpec::Uip(config) => config.mss,
            TransportSpec::Blip { config, .. } => config.mss,
            TransportSpec::Linux { config, .. } => config.mss,
            #[cfg(feature = "smoltcp")]
            TransportSpec::Smoltcp { .. } => self.tcp.announced_mss(),
        };
        own.min(largest_mss(self))
    }
}

/// Returns the TCP that replaces Redpoll's, with memory for `connections` and `listeners`, and the
/// size of this memory in bytes. Its MSS is at most [`largest_mss`].
pub(crate) fn rival(
    spec: &TransportSpec,
    scenario: &Scenario,
    (connections, listeners): (usize, usize),
    rng: Rng,
) -> (Rival<HeapMemory>, usize) {
    let size = (connections, listeners);
    let most = largest_mss(scenario);
    match spec {
        TransportSpec::Redpoll => (Rival::None(NoStreams), 0),
        TransportSpec::Uip(config) => {
            let mut config = config.clone();
            config.mss = config.mss.min(most);
            // Memory for two segments: the unacknowledged one, which the application of uIP has to
            // supply again for a retransmission, and the next one.
            let (tx, rx) = (2 * usize::from(config.mss), config.window.into());
            let (table, bytes) = table(Uip::new(config, rng), size, (tx, rx));
            (Rival::Uip(table), bytes)
        }
        TransportSpec::Blip { config, buffer } => {
            let mut config = config.clone();
            config.mss = config.mss.min(most);
            let (tx, rx) = (usize::from(*buffer), config.window.into());
            let (table, bytes) = table(Blip::new(config, rng), size, (tx, rx));
            (Rival::Blip(table), bytes)
        }
        TransportSpec::Linux { config, buffer } => {
            let mut config = config.clone();
            config.mss = config.mss.min(most);
            let both = (usize::from(*buffer), usize::from(*buffer));
            let (table, bytes) = table(Linux::new(config, rng), size, both);
            (Rival::Linux(table), bytes)
        }
        #[cfg(feature = "smoltcp")]
        TransportSpec::Smoltcp { reno } => {
            let tcp = &scenario.tcp;
            let config = SmolConfig {
                mss: tcp.announced_mss().min(most),
                send_buffer: tcp.send_buffer as usize,
                receive_buffer: tcp.receive_buffer as usize,
                reno: *reno,
            };
            let smol = Smol::new(config, connections, listeners, rng);
            let bytes = smol.bytes();
            (Rival::Smoltcp(smol), bytes)
        }
    }
}

fn table<P: Protocol>(
    protocol: P,
    (connections, listeners): (usize, usize),
    (tx, rx): (usize, usize),
) -> (Table<HeapMemory, P>, usize) {
    let slots: HeapTable<_> = (0..connections)
        .map(|_| Slot::new(buffer(tx), buffer(rx)))
        .collect();
    let ports: HeapTable<_> = (0..listeners).map(|_| Port::default()).collect();
    let bytes = size_of_val(&*slots) + size_of_val(&*ports) + connections * (tx + rx);
    (Table::new(protocol, slots, ports), bytes)
}
