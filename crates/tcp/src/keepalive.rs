//! Keep-alive (RFC 9293 §3.8.4).

use crate::config::Params;

/// Counts the probes of an idle connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keepalive {
    /// Probes since the peer was last heard.
    unanswered: u8,
    /// A probe is to be sent.
    pub(crate) due: bool,
}

impl Keepalive {
    /// The peer was heard. Returns in how many milliseconds to ask, if
    /// at all.
    pub(crate) fn on_heard(&mut self, params: &Params) -> Option<u32> {
        *self = Keepalive::default();
        (params.keepalive_count > 0).then(|| params.keepalive_idle.get())
    }

    /// The timer ran out. Returns in how many milliseconds to ask next, or `None`
    /// if the peer has had its chances.
    ///
    /// Only a run of unanswered probes counts, never a single one (MUST-29).
    pub(crate) fn on_timeout(&mut self, params: &Params) -> Option<u32> {
        if self.unanswered >= params.keepalive_count {
            return None;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.due = true;
        Some(params.keepalive_interval.get())
    }
}
