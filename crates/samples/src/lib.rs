//! Applications that know a network only by the traits of `edge-nal` and
//! `embedded-io-async`: a web server, a sensor that publishes by MQTT, and one that sends
//! over TLS. The tests of `socket`, `linux` and `sim` run the same ones over a fake device,
//! a TUN interface, a serial line and a simulated radio; the images of
//! `examples/nrf52840` have web server and MQTT over OpenThread.
//!
//! They need neither the standard library nor a heap. The other ends for tests do, and need the
//! feature `std`.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

pub mod decimal;
pub mod http;
pub mod mqtt;
#[cfg(feature = "std")]
pub mod peers;
#[cfg(feature = "tls")]
pub mod tls;
