//! Tests of the cache of segments, packet by packet.

mod decides;
#[cfg(feature = "node")]
mod node;
mod packets;
mod passes;
mod rules;
mod safe;
