//! Models of the receiver's list of ranges and of its reassembly buffer.

mod inbox_model;
mod ranges_model;

use crate::device;

device!(inbox, "tcp-src-recv-inbox.rs");
device!(ranges, "tcp-src-recv-ranges.rs");

pub use inbox_model::{Defect, InboxModel};
pub use ranges_model::RangesModel;
