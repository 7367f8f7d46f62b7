//! What apps send, other than text: bytes that the other end can make again to compare.

use crate::oracle::{FlowId, Oracle};

/// Fills `out` with the test data of `flow` from byte `offset` on.
pub(super) fn pattern(flow: FlowId, offset: u64, out: &mut [u8]) {
    for (at, byte) in (offset..).zip(out) {
        *byte = Oracle::pattern(flow, at);
    }
}
