//! Parameters, random numbers, counters and probes, which all parts of RPL use.

use redpoll_base::{Duration, Instant, Rng};

use super::config::{RplConfig, RplCounters};
use super::timing::{earlier, has_come};
use crate::net::routing::routes::HAS_TARGETS;
use crate::net::routing::{Peer, Table};
use crate::profile::Profile;

/// Minimum time between two frames to next hops that have not acknowledged a frame.
const TRY_EACH: Duration = Duration::from_secs(3);

/// State that the parts share.
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Shared<P: Profile> {
    pub(super) probes: Probes,
    pub(super) config: RplConfig,
    pub(super) rules: P::Rules,
    pub(super) rng: Rng,
    pub(super) counters: RplCounters,
}

/// The circumstances of one event.
pub(super) struct Context<'a, P: Profile> {
    pub(super) now: Instant,
    pub(super) table: &'a mut Table<P::Memory>,
    pub(super) shared: &'a mut Shared<P>,
}

impl<P: Profile> Shared<P> {
    pub(super) fn new(rules: P::Rules, config: RplConfig) -> Self {
        Shared {
            probes: Probes::default(),
            rules,
            rng: Rng::new(config.seed),
            counters: RplCounters::default(),
            config,
        }
    }
}

/// Probes of neighbours: a DIS to one neighbour, which answers with a DIO (RFC 6550 §8.3). The
/// link layer reports whether the neighbour acknowledges the frame.
#[derive(Debug, Default)]
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Probes {
    /// The neighbour that the next probe goes to.
    due: Option<Peer>,
    /// The neighbour to which [`Self::may_try`] last allowed a frame.
    tried: Option<Peer>,
    /// The earliest time of the next frame to an unproven next hop.
    try_at: Option<Instant>,
}

impl Probes {
    /// Schedules a probe of `link`. `None` cancels the probe that is due.
    pub(super) fn schedule(&mut self, link: Option<Peer>) {
        self.due = link;
    }

    /// Returns the neighbour to probe now.
    pub(super) fn take(&mut self) -> Option<Peer> {
        self.due.take()
    }

    pub(super) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Returns the earlier of `at` and the time of the next attempt.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        match HAS_TARGETS {
            true => earlier(at, &self.try_at),
            false => at,
        }
    }

    /// Returns whether another unproven next hop may be tried.
    pub(super) fn has_come(&self, now: Instant) -> bool {
        HAS_TARGETS && has_come(&self.try_at, now)
    }

    /// Records that the neighbour `hop` has acknowledged a frame. If [`Self::may_try`] last allowed
    /// a frame to `hop`, it allows a frame to another next hop at once.
    pub(super) fn on_acknowledged(&mut self, now: Instant, hop: Peer) {
        if self.tried == Some(hop) {
            self.try_at = Some(now);
        }
    }

    /// Returns whether a frame may be sent to a next hop that has not acknowledged one yet, and
    /// records the attempt. The MAC repeats a frame to a neighbour that does not exist, and
    /// the packet occupies a transmit buffer meanwhile. Therefore the next such frame waits for
    /// three seconds, or until the last one is acknowledged.
    pub(super) fn may_try(&mut self, now: Instant, hop: Option<Peer>) -> bool {
        let may = hop.is_some() && self.try_at.is_none_or(|at| at <= now);
        if may {
            self.tried = hop;
            self.try_at = Some(now + TRY_EACH);
        }
        may
    }

    /// Probes `link` if a probe is allowed now, to see whether the neighbour acknowledges it.
    #[inline(never)] // size
    pub(super) fn ask(&mut self, now: Instant, link: Peer) {
        if self.may_try(now, Some(link)) {
            self.due = Some(link);
        }
    }

    /// Asks the neighbour `link` to repeat a DIO. The parent is asked without regard to the pause
    /// after the last attempt, unless that attempt was a frame to the parent.
    pub(super) fn confirm(&mut self, now: Instant, link: Peer, is_parent: bool) {
        if is_parent && !self.was_asked(link) {
            self.try_at = None;
        }
        self.ask(now, link);
    }

    /// Returns whether [`Self::may_try`] last allowed a frame to `link`.
    pub(super) fn was_asked(&self, link: Peer) -> bool {
        self.tried == Some(link)
    }

    /// Probes the `unproven` next hop; the caller has waited for the pause after the last attempt.
    /// A probe that is due already has precedence.
    pub(super) fn try_any(&mut self, now: Instant, unproven: Option<Peer>) {
        self.try_at = None;
        if self.may_try(now, unproven) {
            self.due = self.due.or(unproven);
        }
    }
}
