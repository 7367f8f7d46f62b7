//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-stack --test all NAME` runs what has the name in its path.

mod addresses;
mod assist;
mod children;
mod common;
mod connections;
mod duplicate;
mod ecn;
mod extended;
mod fast_open;
mod half_open;
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
mod security;
mod unverified;
