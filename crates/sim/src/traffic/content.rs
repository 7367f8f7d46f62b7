//! Binary test data of apps, which the other end can reproduce for comparison.

use crate::oracle::{FlowId, Oracle};

pub(super) fn pattern(flow: FlowId, offset: u64, out: &mut [u8]) {
    for (at, byte) in (offset..).zip(out) {
        *byte = Oracle::pattern(flow, at);
    }
}
