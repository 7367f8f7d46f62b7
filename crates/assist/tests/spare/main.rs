//! Tests of the border router that compensates for a small window: packets wait, are cut and are
//! joined, and neither end may notice this.

mod does;
mod packets;
mod safe;
