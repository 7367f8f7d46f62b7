//! The cache of segments, shown packet by packet.

mod decides;
mod packets;
mod passes;
mod rules;
mod safe;
