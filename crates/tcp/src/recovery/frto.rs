//! F-RTO (RFC 5682): finding out without timestamps that a timeout came too
//! early. After it, new data goes before what is believed lost; if the answer
//! tells of data that was not sent again, nothing had been lost.

/// Whether it is there: the feature `gentle-recovery`.
const ON: bool = cfg!(feature = "gentle-recovery");

/// Which acknowledgment the algorithm waits for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Frto {
    /// None.
    #[default]
    Off,
    /// The first after the timeout: step 2 comes next.
    First,
    /// The second: step 3 comes next.
    Second,
}

/// What an acknowledgment says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// It tells of data that was not known to have arrived.
    pub(crate) is_news: bool,
    /// SND.UNA moved.
    pub(crate) is_advance: bool,
    /// It is a duplicate ACK.
    pub(crate) is_duplicate: bool,
    /// All of the retransmission has arrived, and not all that was out.
    pub(crate) is_partial: bool,
    /// The connection has SACK.
    pub(crate) has_sack: bool,
    /// Data that was sent after the timeout has arrived.
    pub(crate) is_beyond: bool,
}

impl Frto {
    /// Step 1: the timer ran out. `may` unless a recovery was under way; then
    /// it may be for the same segment again.
    pub(crate) fn on_timeout(&mut self, may: bool) {
        let again = *self == Frto::First;
        *self = if ON && (may || again) {
            Frto::First
        } else {
            Frto::Off
        };
    }

    /// Whether it waits for an acknowledgment.
    pub(crate) fn is_on(self) -> bool {
        ON && self != Frto::Off
    }

    /// Whether new data goes before what is believed lost: step 2b.
    pub(crate) fn wants_new_data(self) -> bool {
        ON && self == Frto::Second
    }

    /// An acknowledgment arrived. Returns whether the timeout was spurious.
    pub(crate) fn on_ack(&mut self, ack: Evidence) -> bool {
        let was = *self;
        *self = match was {
            // §2.1 and §3.1, step 2: with SACK, duplicates are waited out.
            Frto::First if ack.is_partial => Frto::Second,
            Frto::First if !ack.is_advance && (ack.has_sack || !ack.is_duplicate) => Frto::First,
            // "Other types of ACKs are ignored without any action."
            Frto::Second if !ack.is_advance && !ack.is_duplicate => Frto::Second,
            _ => Frto::Off,
        };
        // Step 3.
        was == Frto::Second && *self == Frto::Off && ack.is_news && !(ack.has_sack && ack.is_beyond)
    }
}
