//! The border router that stands in for a small window: what waits, what is cut and joined,
//! and what no end may notice.

mod does;
mod packets;
mod safe;
