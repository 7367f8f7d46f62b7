//! The border router, caches on the way, and nodes with firmware of others.

use redpoll_base::{Addr, Duration};

use crate::fair_queue::FairQueueParams;
use crate::radio::Overhears;

/// Where the mesh meets the rest of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BorderParams {
    /// The mesh's /64 prefix; 6LoWPAN context 0.
    pub prefix: Addr,
    /// The address of the host behind the border router: what `host` means in
    /// an app's `to`.
    pub host: Addr,
    /// How long a packet takes between the border router and a simulated host.
    pub host_delay: Duration,
    /// Packets from the host that wait at most until the border router has room.
    pub queue: usize,
    /// TAiM between mesh and host.
    pub taim: Option<TaimParams>,
    /// Fair queueing there instead.
    pub fair_queue: Option<FairQueueParams>,
    /// The border router stands in for the small windows of nodes.
    pub spare: Option<SpareParams>,
    /// A serial line between the border router's radio and its host side.
    pub serial: Option<SerialParams>,
}

/// A serial line between a mote and a computer, which together are the border router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerialParams {
    /// Bits a second; ten carry a byte.
    pub rate: u32,
    /// How long the mote has to do with a packet before it can take the next one.
    pub turn: Duration,
}

/// TAiM at the border router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaimParams {
    /// How it decides.
    pub params: redpoll_assist::taim::Params,
    /// Flows that there is room for.
    pub flows: u16,
    /// Packets that may wait.
    pub packets: u16,
}

/// A border router that stands in for the small windows of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpareParams {
    /// Connections that there is room for.
    pub flows: u16,
    /// Bytes that each of them has room for.
    pub room: u16,
}

/// Copies of segments in routers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheParams {
    /// The nodes that have them.
    pub on: Vec<usize>,
    /// How they decide.
    pub params: redpoll_assist::cache::Params,
    /// Which frames their radios tell of.
    pub overhears: Overhears,
    /// Connections that each has room for.
    pub flows: u16,
    /// Segments that each has room for.
    pub packets: u16,
    /// Bytes of the longest packet of those.
    pub packet_bytes: u16,
}

/// Nodes that run elsewhere, the same for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExternalParams {
    /// How long one may leave a request without an answer, in real time.
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
