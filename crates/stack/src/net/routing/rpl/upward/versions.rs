//! Versions of the DODAG (RFC 6550 §8.2.2.1): which of them a node joins, and how often.

use redpoll_base::{Duration, Instant};
use redpoll_wire::rpl::{Dio, INFINITE_RANK, Sequence};

use super::Upward;
use super::neighbours::Admission;
use crate::net::routing::Peer;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::profile::Profile;
use crate::rules::RplRules;

/// Time after which a node may follow a neighbour other than its parent into a new version;
/// `VERSION_PAUSE` is the time until it may do so again. Both limit the cost of a forged version.
const VERSION_DELAY: Duration = Duration::from_secs(10);
const VERSION_PAUSE: Duration = Duration::from_secs(300);
/// The pause between two versions that a root adopts from other nodes.
const ROOT_PAUSE: Duration = Duration::from_secs(60);

/// Limits on the versions that other nodes can make this node join.
#[derive(Debug, Default)]
pub(super) struct VersionLimits {
    /// The time at which a neighbour other than the parent first advertised another version.
    heard: Option<Instant>,
    /// The end of the pause in which a node follows only its parent.
    followed_until: Instant,
    /// The time from which a root adopts another version from other nodes.
    adopt_at: Instant,
}

impl VersionLimits {
    /// Returns whether the node may follow a neighbour other than its parent: the parent has had
    /// time to join the version, and the pause since the last such step is over.
    fn admit(&mut self, now: Instant) -> bool {
        let heard = *self.heard.get_or_insert(now);
        let is_admitted = now >= heard + VERSION_DELAY && self.followed_until <= now;
        if is_admitted {
            self.followed_until = now + VERSION_PAUSE;
        }
        is_admitted
    }
}

impl<P: Profile> Upward<P> {
    /// Follows the sender of a DIO into a version other than the present `version`. Returns whether
    /// the node has joined it.
    pub(super) fn follow_version(
        &mut self,
        cx: &mut Context<'_, P>,
        link: Peer,
        dio: &Dio<'_>,
        version: Sequence,
    ) -> bool {
        let is_root = self.dodag.is_some_and(|dodag| dodag.is_rooted_at(link));
        let is_newer = match version.compare(dio.version) {
            Some(order) => order.is_lt(),
            // RFC 6550 §7.2 (4): only the root increments the version, so its DIO has the latest
            // one.
            None => is_root,
        };
        // A node without a parent may also join an older version, because the version that it has
        // joined may come from a forged DIO.
        let returns = self.is_adrift && self.quiet_until.is_none() && dio.rank != INFINITE_RANK;
        if is_newer || returns && dio.version != version {
            // RFC 6550 §8.2.2.4 (5): a node follows the root or its parent into the next version.
            // It follows other neighbours that acknowledge frames: at once if it has no parent,
            // otherwise after a while and not often.
            let is_followed = self.parent == Some(link)
                || is_root
                || self.is_believed(cx, link)
                    && (self.parent.is_none() || self.versions.admit(cx.now));
            if is_followed {
                self.join_version(cx, dio.version);
                return true;
            }
            count(&mut cx.shared.counters.versions_ignored);
        } else if dio.version != version && dio.rank != INFINITE_RANK {
            // RFC 6550 §8.2.2.1: a neighbour in an older version cannot be the parent, and needs a
            // new DIO.
            self.reset_trickle(cx);
        }
        false
    }

    /// Returns whether a version that the neighbour `link` advertises may be genuine: the neighbour
    /// has acknowledged a frame, or no neighbour has. Otherwise sends the neighbour a DIS, to see
    /// whether the neighbour acknowledges that frame.
    fn is_believed(&mut self, cx: &mut Context<'_, P>, link: Peer) -> bool {
        let mut is_believed = true;
        for it in self.candidates.iter().filter(|it| it.answers()) {
            is_believed = it.link == link;
            if is_believed {
                break;
            }
        }
        if !is_believed {
            cx.shared.probes.ask(cx.now, link);
        }
        is_believed
    }

    /// Joins a new version, in which no rank and no parent of the previous one count (RFC 6550
    /// §8.2.2.1, §8.2.2.4 (5)).
    fn join_version(&mut self, cx: &mut Context<'_, P>, version: Sequence) {
        if let Some(dodag) = &mut self.dodag {
            dodag.version = version;
        }
        self.lowest = INFINITE_RANK;
        self.rank = INFINITE_RANK;
        self.parent = None;
        self.is_adrift = false;
        self.quiet_until = None;
        self.versions.heard = None;
        count(&mut cx.shared.counters.versions);
    }

    /// Processes a DIO at a root. A version that the root does not know is forged, or was begun
    /// by this root before it restarted.
    pub(super) fn on_dio_at_root(
        &mut self,
        cx: &mut Context<'_, P>,
        link: Peer,
        dio: &Dio<'_>,
        is_own: bool,
    ) {
        let Some(version) = self.dodag.filter(|_| is_own).map(|dodag| dodag.version) else {
            count(&mut cx.shared.counters.foreign);
            return;
        };
        let listens = self.quiet_until.is_some();
        let is_new = version.is_stale_after(dio.version);
        let is_rare = self.versions.adopt_at <= cx.now;
        if listens && (is_new || version == dio.version)
            || is_new && is_rare && self.is_believed(cx, link)
        {
            if let Some(dodag) = &mut self.dodag {
                dodag.version = dio.version.next();
            }
            if !listens {
                self.versions.adopt_at = cx.now + ROOT_PAUSE;
                self.trickle.start(cx.now, &mut cx.shared.rng);
            }
            count(&mut cx.shared.counters.versions);
        } else if is_new {
            count(&mut cx.shared.counters.versions_ignored);
        } else if dio.version != version || dio.rank == INFINITE_RANK {
            // A neighbour in an older version, or without a parent, needs a DIO of this root.
            self.reset_trickle(cx);
        }
        let _ = self.candidates.admit(&Admission {
            now: cx.now,
            initial_etx: cx.shared.rules.initial_etx(),
            link,
            rank: dio.rank,
            version: dio.version,
            keep: None,
        });
    }
}
