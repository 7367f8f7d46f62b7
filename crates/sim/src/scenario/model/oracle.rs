//! Demands of the oracle on a run, in addition to its constant checks.

use redpoll_base::Duration;

/// Demands on a run; `None` demands nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OracleParams {
    /// Time at which all apps end. Afterwards every pool of every node must become empty.
    pub apps_end: Option<Duration>,
    /// Longest time without progress of a stream, after the last fault.
    pub patience: Option<Duration>,
    /// Largest number of events in a simulated second.
    pub events: Option<u64>,
}

impl OracleParams {
    /// Time before the end of the run in which each pool must be empty at least once.
    pub(crate) const REST: Duration = Duration::from_secs(60);

    pub(crate) fn demands_something(&self) -> bool {
        *self != OracleParams::default()
    }
}
