//! Lets the owner of a `Lowpan` start the recovery of fragments (RFC 8931).

use redpoll_base::Memory;

use super::Fragments;
use crate::recovery::ReassemblyTimes;
use crate::{Lowpan, RecoveryConfig, RecoveryCounters, RecoveryMemory};

impl<M: Memory> Lowpan<M> {
    /// From now on, sends and accepts recoverable fragments (RFC 8931), within `memory`. A relay
    /// forwards these fragments if it also [forwards plain ones](Self::forward_fragments);
    /// otherwise it reassembles their datagrams.
    ///
    /// All nodes of a mesh must call this function: other nodes drop recoverable fragments as
    /// [`DropReason::Unsupported`](crate::DropReason::Unsupported).
    pub fn recover_fragments(&mut self, config: RecoveryConfig, memory: RecoveryMemory<M>) {
        let [first_tag, _] = self.next_tag.to_be_bytes();
        let reassembly = &self.reassembly;
        let times = ReassemblyTimes {
            timeout: reassembly.timeout(),
            limit: reassembly.limit(),
            stall: reassembly.stall(),
        };
        self.recovery.begin(config, memory, times, first_tag);
    }

    /// Returns the counters of recovery.
    pub fn recovery_counters(&self) -> RecoveryCounters {
        let recovery = self.recovery.get();
        recovery.map_or_else(RecoveryCounters::default, |recovery| recovery.counters)
    }
}

impl<M: Memory> Fragments<'_, M> {
    /// [`Lowpan::recover_fragments`].
    pub fn recover(&mut self, config: RecoveryConfig, memory: RecoveryMemory<M>) {
        self.0.recover_fragments(config, memory);
    }
}
