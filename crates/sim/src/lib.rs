//! Redpoll's discrete-event simulator: whole nodes, from TCP to the radio, in virtual time as fast
//! as possible, or in real time.
//!
//! ```
//! use redpoll_base::Instant;
//! use redpoll_sim::{Scenario, World};
//!
//! let scenario = Scenario::load("line-2", &[])?;
//! let mut world = World::new(&scenario, 1)?;
//! world.run_until(Instant::from_millis(10_000));
//! let report = world.report();
//! assert!(report.oracle.ok);
//! println!("{:.1} kb/s", report.flows[0].goodput_kbps);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Scenario`] describes a simulation, a [`World`] runs it, an [`App`] runs on a node, and a
//! [`Report`] is the result. The public modules are interfaces for additions: [`congestion`]
//! control, [`foreign`] and [`external`] nodes, applications with futures ([`tasks`]), viewers
//! ([`live`]), captures ([`trace`]), and attacks ([`drill`]).
//!
//! | I want to change | open |
//! | --- | --- |
//! | reception, collisions, capture | `medium` |
//! | files of measured links and noise | `measured` |
//! | abilities and timing of radio chips | `radio`, `air` |
//! | simulated radios without nodes | `ether` |
//! | faults | `fault` |
//! | attacks and their effects | [`drill`] |
//! | nodes with firmware of other stacks | [`foreign`], `world/occupant/foreign.rs` |
//! | detection of violations, measurement of flows | `oracle` |
//! | congestion control of the caller | [`congestion`] |
//! | captures | [`trace`] |
//! | viewers of a run, and their commands | [`live`] |
//! | construction and progress of a run | `world`, `node` |
//! | the crossing between mesh and hosts | `world/crossing` |
//! | the JSON object of a run | `report` |
//! | the keys of a scenario file | `scenario` |
//! | routes | `topology` |
//! | applications | `traffic`; with futures: [`tasks`] |
//!
//! The same scenario and seed give the same run on every machine: time is in whole microseconds,
//! every purpose has its own random numbers, mathematical functions are those of `libm`, and no
//! result depends on the order of a hash map.
#![forbid(unsafe_code)]

mod air;
pub mod congestion;
pub mod drill;
mod energy;
mod ether;
pub mod external;
mod fair_queue;
mod fault;
pub mod foreign;
pub mod guest;
mod kernel;
pub mod live;
mod measured;
mod medium;
mod memory;
mod name;
mod node;
mod oracle;
mod radio;
mod report;
mod rivals;
mod scenario;
pub mod tasks;
mod topology;
pub mod trace;
mod traffic;
mod world;

pub use ether::{Ether, SimRadio};
pub use fault::Rule as FaultRule;
pub use kernel::Secrets;
pub use medium::{Config as MediumConfig, LinkSource, Sinr, UnitDisk};
pub use node::{SimNode, SimProfile, on_radio as node_on_radio};
pub use oracle::{End as FlowEnd, FlowFigures, FlowId, LatencyMs};
pub use radio::{Config as RadioConfig, Model as RadioModel, State as RadioState};
pub use report::{Medium as MediumFigures, NodeFigures, Report};
pub use scenario::{
    AppKind, AppSpec, BUILT_IN, CONNECTIONS_MAX, EUI64_PREFIX, NodeSpec, Role, Scenario,
    ScenarioError, Target, TargetHost, When, time as parse_time,
};
pub use topology::Routes;
pub use traffic::{App, Context, counting_lines};
pub use world::{BuildError, PrintedLine, World, WorldOptions};

/// Parts for the simulator's own tests. No stable interface.
#[doc(hidden)]
pub mod testing {
    pub mod air {
        pub use crate::air::{Air, Event, Indication, Layout};
    }
    pub mod energy {
        pub use crate::energy::Figures;
    }
    pub mod ether {
        pub use crate::ether::{Answer, RawEvent, RawRadio, Reply};
    }
    pub mod fault {
        pub use crate::fault::{FrameKind, Spec as FaultSpec};
    }
    pub mod kernel {
        pub use crate::kernel::{Queue, Seed};
    }
    pub mod medium {
        pub use crate::medium::Site;
    }
    pub mod oracle {
        pub use crate::oracle::{ImageFigures, ReadingFigures, Retransmissions};
    }
    pub mod radio {
        pub use crate::radio::Identity;
    }
    pub mod report {
        pub use crate::report::CacheFigures;
    }
    pub mod scenario {
        pub use crate::scenario::reference;
    }
}

/// Length of the longest packet, in bytes: the MTU of 6LoWPAN (RFC 4944 §4).
const MTU: usize = 1_280;
