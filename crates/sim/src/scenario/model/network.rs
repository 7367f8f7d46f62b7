//! The border router, caches in routers, multicast groups, and nodes with other firmware.

use redpoll_base::{Addr, Duration};

use crate::fair_queue::FairQueueParams;
use crate::radio::Overhears;

/// Border router between the mesh and its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BorderParams {
    /// The mesh's /64 prefix; 6LoWPAN context 0.
    pub prefix: Addr,
    /// Address of the host behind the border router, called `host` in an app's `to`.
    pub host: Addr,
    /// Delay of a packet between the border router and a simulated host.
    pub host_delay: Duration,
    /// Maximum number of packets from the host that wait until the border router has room.
    pub queue: usize,
    pub taim: Option<TaimParams>,
    /// Fair queueing between mesh and host, as an alternative to TAiM.
    pub fair_queue: Option<FairQueueParams>,
    /// Parameters of `spare`, the assistant for nodes with small windows; `None` without it.
    pub spare: Option<SpareParams>,
    /// A serial line between the border router's radio and its host side.
    pub serial: Option<SerialParams>,
}

/// Serial line between a mote and a computer, which together are the border router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerialParams {
    /// Bits per second; a byte takes ten bits.
    pub rate: u32,
    /// Time that the mote needs for a packet before it accepts the next.
    pub turn: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaimParams {
    pub params: redpoll_assist::taim::Params,
    pub flows: u16,
    pub packets: u16,
}

/// Parameters of a border router that buffers data for nodes with small windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpareParams {
    pub flows: u16,
    /// Size of the border router's buffer for one connection, in bytes.
    pub room: u16,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheParams {
    pub on: Vec<usize>,
    pub params: redpoll_assist::cache::Params,
    /// Overheard frames that the radios report.
    pub overhears: Overhears,
    pub flows: u16,
    pub packets: u16,
    pub packet_bytes: u16,
}

/// Forwarding of packets to multicast groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MulticastParams {
    pub params: redpoll_assist::multicast::Params,
    pub groups: u8,
    pub seeds: u8,
    pub messages: u8,
    pub message_bytes: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExternalParams {
    /// Longest real time for which a node outside the simulator may leave a request unanswered.
    pub patience: std::time::Duration,
}

/// Parameters of all nodes with the firmware of other stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModuleParams {
    /// Time between two checks of a condition that the firmware waits for.
    pub quantum: redpoll_base::Duration,
    /// Longest real time for which the firmware may run without waiting.
    pub patience: std::time::Duration,
}
