//! Redpoll on an nRF52840.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod echo;
pub mod radio;
