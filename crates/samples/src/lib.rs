//! The applications of `redpoll-apps` with sample content. The tests of `socket`, `linux` and `sim`
//! run these applications over a fake device, a TUN interface, a serial line and a simulated radio.
//! The images of `examples/nrf52840` run the web server and the MQTT sensor over OpenThread.
//!
//! The applications need neither the standard library nor a heap. Their peers for tests
//! (`peers.rs`) use both, and need the feature `std`.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

pub mod http;
#[cfg(feature = "std")]
pub mod peers;

#[cfg(feature = "tls")]
pub use redpoll_apps::tls;
pub use redpoll_apps::{decimal, mqtt};
