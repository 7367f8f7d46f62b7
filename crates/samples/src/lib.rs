//! Applications that know a network only by the traits of `edge-nal` and
//! `embedded-io-async`: a web server, a sensor that publishes by MQTT, and one that sends
//! over TLS. The tests of `socket`, `linux` and `sim` run the same ones over a fake device,
//! a TUN interface, a serial line and a simulated radio.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod http;
pub mod mqtt;
pub mod peers;
pub mod tls;
