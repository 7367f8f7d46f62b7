//! Keep-alive (RFC 9293 §3.8.4).

use crate::config::Params;

/// Counts the probes of an idle connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeepaliveProbes {
    /// Probes since the peer was last heard; with [`DUE`] if one is to be sent.
    unanswered: u8,
}

const DUE: u8 = 1 << 7;

impl KeepaliveProbes {
    /// The peer was heard. Returns in how many milliseconds to ask, if
    /// at all.
    pub(crate) fn on_heard(&mut self, params: &Params) -> Option<u32> {
        *self = KeepaliveProbes::default();
        (params.keepalive_count > 0).then(|| params.keepalive_idle.get())
    }

    /// The timer ran out. Returns in how many milliseconds to ask next, or `None`
    /// if the peer has had its chances.
    ///
    /// Only a run of unanswered probes counts, never a single one (MUST-29).
    pub(crate) fn on_timeout(&mut self, params: &Params) -> Option<u32> {
        let unanswered = self.unanswered & !DUE;
        if unanswered >= params.keepalive_count.min(DUE - 1) {
            return None;
        }
        self.unanswered = unanswered.wrapping_add(1) | DUE;
        Some(params.keepalive_interval.get())
    }

    /// Whether a probe is to be sent.
    pub(crate) fn is_due(&self) -> bool {
        self.unanswered & DUE != 0
    }

    pub(crate) fn on_probe_sent(&mut self) {
        self.unanswered &= !DUE;
    }
}
