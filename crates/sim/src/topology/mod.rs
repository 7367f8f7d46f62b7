//! Where nodes stand, and by which way their packets go.

mod layout;
mod routes;

pub(crate) use layout::tree_size;
pub use layout::{Tree, grid, line, tree};
pub use routes::{HostRoute, Neighbour, NodeRoutes, Routes, plan, unconnected};
