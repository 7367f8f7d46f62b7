//! Redpoll's discrete-event simulator: whole nodes, from TCP to the radio, in
//! virtual time as fast as it goes or in real time.
//!
//! ```
//! use redpoll_base::Instant;
//! use redpoll_sim::scenario::Scenario;
//! use redpoll_sim::world::World;
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
//! | I want to change | open |
//! | --- | --- |
//! | who hears whom, collisions, capture | [`medium`] |
//! | files of measured links and noise | [`measured`] |
//! | what a radio chip can do, and its timing | [`radio`], [`air`] |
//! | the simulator's radio without its nodes, as a driver has it | [`ether`] |
//! | what goes wrong on purpose | [`fault`] |
//! | what attackers do, and what they achieve | [`drill`] |
//! | nodes with firmware of others | [`foreign`] |
//! | what must never happen, and how flows are measured | [`oracle`] |
//! | congestion control that is brought along | [`congestion`] |
//! | captures | [`trace`] |
//! | what a viewer sees of a run and may change in it | [`live`] |
//! | how a run is put together and goes on | [`world`], [`node`] |
//! | the JSON object of a run | [`report`] |
//! | the keys of a scenario file | [`scenario`] |
//! | routes | [`topology`] |
//! | applications | [`traffic`]; of futures: [`tasks`] |
//!
//! The same scenario and seed give the same run on every machine: time is in
//! whole microseconds, every purpose has its own random numbers, mathematics
//! goes through `libm`, and nothing iterates over a hash map.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod air;
pub mod congestion;
pub mod drill;
pub mod energy;
pub mod ether;
pub mod external;
mod fair_queue;
pub mod fault;
pub mod foreign;
pub mod kernel;
pub mod live;
pub mod measured;
pub mod medium;
pub mod memory;
mod name;
pub mod node;
pub mod oracle;
pub mod radio;
pub mod report;
mod rivals;
pub mod scenario;
pub mod tasks;
pub mod topology;
pub mod trace;
pub mod traffic;
pub mod world;

/// Length of the longest packet, in bytes: the MTU of 6LoWPAN (RFC 4944 §4).
const MTU: usize = 1_280;
