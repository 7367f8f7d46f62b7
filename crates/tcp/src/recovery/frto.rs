//! F-RTO (RFC 5682): detects a spurious timeout without timestamps. New data are sent before
//! retransmissions. If the ACK covers data that were not retransmitted, no data had been lost.

/// Whether F-RTO is compiled in: feature `gentle-recovery`.
const ON: bool = cfg!(feature = "gentle-recovery");

/// The acknowledgment that the algorithm waits for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Frto {
    #[default]
    Off,
    /// The first acknowledgment after the timeout, for step 2.
    First,
    /// The second acknowledgment, for step 3.
    Second,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Whether the acknowledgment covers data that no earlier one covered.
    pub(crate) is_news: bool,
    /// Whether the acknowledgment advances SND.UNA.
    pub(crate) is_advance: bool,
    pub(crate) is_duplicate: bool,
    /// Whether the acknowledgment covers all of the retransmission and not all outstanding data.
    pub(crate) is_partial: bool,
    pub(crate) has_sack: bool,
    /// Whether data sent after the timeout have arrived.
    pub(crate) is_beyond: bool,
}

impl Frto {
    /// Starts the test after a timeout (step 1) if `may`, or if an earlier test of the same segment
    /// has no result yet. `may` requires that no recovery was in progress.
    pub(crate) fn on_timeout(&mut self, may: bool) {
        let again = *self == Frto::First;
        *self = if ON && (may || again) {
            Frto::First
        } else {
            Frto::Off
        };
    }

    pub(crate) fn is_on(self) -> bool {
        ON && self != Frto::Off
    }

    /// Returns whether new data precede retransmissions (step 2b).
    pub(crate) fn wants_new_data(self) -> bool {
        ON && self == Frto::Second
    }

    /// Evaluates an acknowledgment, and returns whether the timeout was spurious.
    pub(crate) fn on_ack(&mut self, ack: Evidence) -> bool {
        let was = *self;
        *self = match was {
            // RFC 5682 §2.1 and §3.1, step 2: with SACK, duplicates do not end the step.
            Frto::First if ack.is_partial => Frto::Second,
            Frto::First if !ack.is_advance && (ack.has_sack || !ack.is_duplicate) => Frto::First,
            // RFC 5682 §3.1, step 3: "Other types of ACKs are ignored without any action."
            Frto::Second if !ack.is_advance && !ack.is_duplicate => Frto::Second,
            _ => Frto::Off,
        };
        // Step 3b: the timeout was spurious if this ACK is the first to cover some data that were
        // sent before the timeout.
        was == Frto::Second && *self == Frto::Off && ack.is_news && !(ack.has_sack && ack.is_beyond)
    }
}
