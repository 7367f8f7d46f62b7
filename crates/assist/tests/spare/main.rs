//! Tests of the border router that compensates for a small window: what waits, is cut or
//! joined, and must stay invisible to both ends.

mod does;
mod packets;
mod safe;
