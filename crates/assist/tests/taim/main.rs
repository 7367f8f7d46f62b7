//! TAiM by its packets: what passes at once, what waits, in which order it leaves, what
//! is learnt of flows, and what forged traffic can do.

mod bounds;
mod decides;
mod learns;
mod order;
mod packets;
