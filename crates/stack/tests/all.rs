//! All tests of the public interface, as one program that is linked once. `cargo test -p
//! redpoll-stack --test all NAME` runs those with NAME in their path.

mod addresses;
mod assist;
mod children;
mod common;
mod connections;
mod duplicate;
mod ecn;
mod events;
mod extended;
mod fast_open;
mod groups;
mod half_open;
mod host;
mod joining;
mod ledger;
mod limits;
mod line;
mod orphans;
mod pins;
mod random;
mod registrations;
mod roles;
mod rpl;
mod rpl_daos;
mod rpl_forged;
mod rpl_hosts;
mod rpl_inquiries;
mod rpl_parents;
mod rpl_repair;
mod rpl_targets;
mod security;
mod unverified;
