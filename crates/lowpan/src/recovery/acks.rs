//! Acknowledgments to send: of received or forwarded datagrams, and refusals (RFC 8931 §6.1.2,
//! §6.2, §6.3).

use redpoll_base::{Duration, Instant, Memory};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap};

use super::{Arriving, Incoming, Path, Recovery};

/// Largest number of undelivered refusals in a row; one more may be sent after each
/// [`REFUSAL_INTERVAL`]. To a sender that does not exist, a refusal occupies the radio for all
/// retries.
pub(super) const REFUSALS_AT_ONCE: u8 = 8;
const REFUSAL_INTERVAL: Duration = Duration::from_secs(2);

impl<M: Memory> Recovery<M> {
    /// Queues a refusal, with which the sender `to` aborts the datagram `tag` (RFC 8931 §6.1.2).
    pub(crate) fn refuse(&mut self, now: Instant, to: Address, tag: u8) {
        self.counters.refused = self.counters.refused.wrapping_add(1);
        let refusal = Some((to, tag));
        if self.refusals.contains(&refusal) {
            return;
        }
        // If no refusal may be sent now, the sender waits until its own timer expires.
        if !self.may_refuse(now) {
            return;
        }
        if let Some(free) = self.refusals.iter_mut().find(|entry| entry.is_none()) {
            *free = refusal;
        }
    }

    fn may_refuse(&mut self, now: Instant) -> bool {
        let (mut tokens, mut since) = self.may_refuse;
        while tokens < REFUSALS_AT_ONCE && now >= since + REFUSAL_INTERVAL {
            tokens = tokens.saturating_add(1);
            since += REFUSAL_INTERVAL;
        }
        if tokens == REFUSALS_AT_ONCE {
            since = now;
        }
        self.may_refuse = (tokens.saturating_sub(1), since);
        tokens > 0
    }

    /// Forwards an acknowledgment back along the path of its datagram (RFC 8931 §6.2); returns
    /// `false` if there is no path.
    pub(crate) fn pass_back(&mut self, now: Instant, from: Address, ack: Ack) -> bool {
        let mut paths = self
            .paths
            .as_mut()
            .iter_mut()
            .filter_map(|path| path.0.as_mut());
        let path = paths.find(|path| path.next_hop == from && path.tag_out == ack.tag);
        if let Some(path) = path {
            path.on_ack(now, ack, self.waits);
            return true;
        }
        false
    }

    pub(crate) fn has_ack(&self) -> bool {
        let arriving = self.incoming.as_ref().iter().filter_map(Incoming::peek);
        self.leaving.is_some()
            || self.paths().any(|path| path.ack.is_some())
            || arriving.into_iter().any(|entry| entry.ack_due)
            || self.refusals.iter().any(Option::is_some)
    }

    pub(crate) fn next_ack(&mut self) -> Option<(Address, Ack)> {
        if self.leaving.is_none() {
            self.leaving = self.take_ack();
        }
        self.leaving
    }

    pub(crate) fn leaving_ack(&self) -> Option<Ack> {
        self.leaving.map(|(_, ack)| ack)
    }

    /// Handles the end of an acknowledgment's transmission, `delivered` or not. A delivered refusal
    /// does not count towards [`REFUSALS_AT_ONCE`], which limits refusals to absent senders.
    pub(crate) fn on_ack_done(&mut self, delivered: bool) {
        let was_refusal = self
            .leaving
            .take()
            .is_some_and(|(_, ack)| ack.bitmap.is_null());
        if was_refusal && delivered {
            let (tokens, _) = &mut self.may_refuse;
            *tokens = tokens.saturating_add(1).min(REFUSALS_AT_ONCE);
        }
        self.counters.acknowledgments = self.counters.acknowledgments.wrapping_add(1);
    }

    fn take_ack(&mut self) -> Option<(Address, Ack)> {
        for entry in self.paths.as_mut() {
            let taken = entry.0.as_mut().and_then(Path::take_ack);
            if let Some((_, ack)) = &taken {
                // RFC 8931 §6.3: a refusal "cleans up all resources on the path".
                if ack.bitmap.is_null() {
                    entry.0 = None;
                }
                return taken;
            }
        }
        let mut arriving = self.incoming.as_mut().iter_mut().filter_map(Incoming::get);
        if let Some(ack) = arriving.find_map(Arriving::take_ack) {
            return Some(ack);
        }
        let refusal = self.refusals.iter_mut().find_map(Option::take);
        refusal.map(|(to, tag)| {
            let ack = Ack {
                ecn: false,
                tag,
                bitmap: Bitmap::NULL,
            };
            (to, ack)
        })
    }
}
