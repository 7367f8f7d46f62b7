//! Firmware with the interface of `redpoll_module.h`, in a process for each node.
//!
//! - `process.rs`: the simulator's end: starts the process, sends events, and reads orders;
//! - `firmware.rs`: the process of the node: loads the firmware and calls it;
//! - `host.rs`: the functions that the firmware calls;
//! - `interface.rs`: the C types of the header;
//! - `message.rs`: events and orders as bytes.
//!
//! Separate processes keep the globals of nodes separate, and isolate crashes and hangs: the
//! other nodes continue ([ADR 59](../../../../docs/adr/0059-firmware-in-processes.md)).

mod firmware;
mod host;
mod interface;
mod message;
mod process;

pub(crate) use process::Process;
