//! Tests of TAiM with packets: which pass at once, which wait, the order in which they leave, the
//! estimates of flows, and the effect of forged traffic.

mod bounds;
mod contention;
mod decides;
mod learns;
mod order;
mod packets;
