//! Parts of several studies: floors, apps, profiles of nodes and links, probes, and readings.

pub mod floors;
pub mod probes;
pub mod profiles;
pub mod read;
pub mod scenes;
