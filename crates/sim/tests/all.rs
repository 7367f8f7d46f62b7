//! All integration tests as one program, which links faster than one program for each file. `cargo
//! test -p redpoll-sim --test all NAME` runs the tests whose path contains NAME.

mod air_time;
mod bound;
mod cache;
mod capture;
mod channels;
mod clocks;
mod common;
mod determinism;
mod drill;
mod duty_cycled;
mod energy;
mod energy_trace;
mod extended;
mod external;
mod fairness;
mod figures;
mod fragments;
mod given_congestion;
mod groups;
mod host;
mod image;
mod interference;
mod k7;
#[path = "../../../examples/node_on_a_radio.rs"]
#[allow(dead_code, reason = "the test does not call the example's `main`")]
mod node_on_a_radio;
mod noise;
mod oracle;
mod other_engines;
mod physics;
mod radio;
mod radio_sockets;
mod rivals;
mod rpl;
mod scenario_faults;
mod security;
mod sleepy;
mod spare;
mod taim;
mod tasks;
mod traffic;
mod trouble;
mod world;
