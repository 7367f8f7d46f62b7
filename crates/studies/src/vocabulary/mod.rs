//! What several studies share: floors with their media, what runs on the nodes,
//! what nodes and links are like, what is looked at, and how numbers are read.

pub mod floors;
pub mod probes;
pub mod profiles;
pub mod read;
pub mod scenes;
