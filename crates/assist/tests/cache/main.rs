//! Tests of the cache of segments, packet by packet.

mod decides;
mod packets;
mod passes;
mod rules;
mod safe;
