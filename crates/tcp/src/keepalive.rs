//! Keep-alive (RFC 9293 §3.8.4).

use crate::config::Params;

#[derive(Clone, Debug, Default)]
pub(crate) struct KeepaliveProbes {
    /// Probes since the last segment from the peer. Bit [`DUE`]: a probe must be sent.
    unanswered: u8,
}

const DUE: u8 = 1 << 7;

impl KeepaliveProbes {
    /// Resets the counter after a segment from the peer. Returns the delay until the first probe in
    /// milliseconds, or `None` if keep-alive is off.
    pub(crate) fn on_heard(&mut self, params: &Params) -> Option<u32> {
        *self = KeepaliveProbes::default();
        (params.keepalive_count > 0).then(|| params.keepalive_idle.get())
    }

    /// Processes the keep-alive timeout. Returns the delay until the next probe in milliseconds, or
    /// `None` if the limit of unanswered probes is reached. A single unanswered probe does not end
    /// the connection (MUST-29).
    pub(crate) fn on_timeout(&mut self, params: &Params) -> Option<u32> {
        let unanswered = self.unanswered & !DUE;
        if unanswered >= params.keepalive_count.min(DUE - 1) {
            return None;
        }
        self.unanswered = unanswered.wrapping_add(1) | DUE;
        Some(params.keepalive_interval.get())
    }

    pub(crate) fn is_due(&self) -> bool {
        self.unanswered & DUE != 0
    }

    pub(crate) fn on_probe_sent(&mut self) {
        self.unanswered &= !DUE;
    }
}
