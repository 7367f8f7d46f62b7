//! The TCP of a node that has another one than Redpoll's.

use redpoll_base::Rng;
use redpoll_rivals::blip::Blip;
use redpoll_rivals::linux::Linux;
#[cfg(feature = "smoltcp")]
use redpoll_rivals::smol::{Smol, SmolConfig};
use redpoll_rivals::uip::Uip;
use redpoll_rivals::{Port, Protocol, Rival, Slot, Table};
use redpoll_stack::NoStreams;

use crate::memory::{HeapMemory, buffer};
use crate::scenario::{TcpParams, TransportSpec};

/// The transport in the place of TCP, with memory for so many connections and
/// listeners, and how many bytes it takes.
pub(crate) fn rival(
    spec: &TransportSpec,
    tcp: &TcpParams,
    (connections, listeners): (usize, usize),
    rng: Rng,
) -> (Rival<HeapMemory>, usize) {
    let size = (connections, listeners);
    let _ = tcp;
    match spec {
        TransportSpec::Redpoll => (Rival::None(NoStreams), 0),
        TransportSpec::Uip(config) => {
            // The application keeps what is under way, and has the next segment ready.
            let (tx, rx) = (2 * usize::from(config.mss), config.window.into());
            let (table, bytes) = table(Uip::new(config.clone(), rng), size, (tx, rx));
            (Rival::Uip(table), bytes)
        }
        TransportSpec::Blip { config, buffer } => {
            let (tx, rx) = (usize::from(*buffer), config.window.into());
            let (table, bytes) = table(Blip::new(config.clone(), rng), size, (tx, rx));
            (Rival::Blip(table), bytes)
        }
        TransportSpec::Linux { config, buffer } => {
            let both = (usize::from(*buffer), usize::from(*buffer));
            let (table, bytes) = table(Linux::new(config.clone(), rng), size, both);
            (Rival::Linux(table), bytes)
        }
        #[cfg(feature = "smoltcp")]
        TransportSpec::Smoltcp { reno } => {
            let config = SmolConfig {
                mss: tcp.announced_mss(),
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
    let slots: Box<[_]> = (0..connections)
        .map(|_| Slot::new(buffer(tx), buffer(rx)))
        .collect();
    let ports: Box<[_]> = (0..listeners).map(|_| Port::default()).collect();
    let bytes = size_of_val(&*slots) + size_of_val(&*ports) + connections * (tx + rx);
    (Table::new(protocol, slots, ports), bytes)
}
