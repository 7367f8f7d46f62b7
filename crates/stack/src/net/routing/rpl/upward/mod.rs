//! Upward routes (RFC 6550 §8): membership in a DODAG, DIOs, DISs, parent, rank and repair.
//!
//! - `dio.rs`: DISs and DIOs that are received;
//! - `parent.rs`: the choice of the preferred parent, rank, detaching and probes;
//! - `versions.rs`: versions of the DODAG, and the limits on joining them;
//! - `root.rs`: the DODAG that a root begins;
//! - `messages.rs`: DISs and DIOs that are sent;
//! - `neighbours.rs`: the candidate neighbours and the ETX of their links (RFC 6551);
//! - `trickle.rs`: the time of the next DIO (RFC 6206).

mod dio;
mod messages;
mod neighbours;
mod parent;
#[cfg_attr(not(feature = "rpl-root"), path = "absent.rs")]
mod root;
mod trickle;
mod versions;

use redpoll_base::{Addr, Duration, Instant, Memory, divide};
use redpoll_wire::rpl::{Configuration, INFINITE_RANK, Sequence, mode};

use super::config::{Role, RplMemory, RplRole, count};
use super::shared::{Context, Shared};
use super::timing::{earlier, has_come, jittered};
use crate::net::identity::Identity;
use crate::net::routing::{Peer, Quality};
use crate::profile::Profile;
use crate::rules::{Objective, RplRules};

pub(super) use dio::DioOutcome;
pub(super) use messages::emit_dis;
pub use neighbours::RplNeighbour;
pub(super) use parent::Change;
pub(super) use root::IS_BUILT as HAS_ROOT;

use neighbours::Candidates;
use root::RootVersions;
use trickle::Trickle;
use versions::VersionLimits;

/// Whether this build has storing mode.
pub(super) const STORES: bool = cfg!(feature = "rpl-storing");
/// Time for which a node counts as overloaded after it has dropped a datagram for lack of room.
const OVERLOADED: Duration = Duration::from_secs(60);

type ObjectiveOf<P> = <<P as Profile>::Rules as RplRules>::Objective;
pub(super) type DodagOf<P> = Dodag<ObjectiveOf<P>>;

#[derive(Clone, Copy, Debug)]
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Dodag<O> {
    pub(super) instance: u8,
    pub(super) version: Sequence,
    mode: u8,
    grounded: bool,
    preference: u8,
    objective: O,
    pub(super) configuration: Configuration,
    /// DODAGID.
    pub(super) id: Addr,
    /// The 64-bit prefix of the addresses of the DODAG's nodes.
    pub(super) prefix: Addr,
}

impl<O> Dodag<O> {
    pub(super) fn is_storing(&self) -> bool {
        STORES && self.mode == mode::STORING
    }

    pub(super) fn is_rooted_at(&self, link: Peer) -> bool {
        Peer::at(&self.id) == Some(link)
    }

    pub(super) fn holds(&self, addr: &Addr) -> bool {
        addr.shares_prefix(&self.prefix, 64)
    }
}

#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Upward<P: Profile> {
    /// Whether a multicast DIO is due.
    dio_due: bool,
    /// Whether a multicast DIS is due.
    dis_due: bool,
    /// Whether the node has no parent and has sent a DIS. If so, it may join any version of the
    /// DODAG, as if it had never been a member (RFC 6550 §8.2.2.1).
    is_adrift: bool,
    role: Role,
    /// The rank of this node; [`INFINITE_RANK`] if it has not joined.
    rank: u16,
    /// The lowest rank of this node in this version (RFC 6550 §8.2.2.4 (3): L).
    lowest: u16,
    /// The rank in the last multicast DIO.
    advertised: u16,
    /// This node, if it has an address by which other nodes know it.
    own: Option<Peer>,
    parent: Option<Peer>,
    /// Neighbours that have asked for a DIO. A request that does not fit is repeated by its sender.
    askers: [Option<Peer>; 2],
    candidates: Candidates<<P::Memory as Memory>::Table<Option<RplNeighbour>>>,
    dodag: Option<DodagOf<P>>,
    trickle: Trickle,
    /// The time of the next DIS, if the node has no parent.
    dis_at: Instant,
    /// The time of the next probe of a link, if the node has a parent.
    probe_at: Instant,
    /// The end of a quiet period: a root that has just started listens, and a node that has lost
    /// its last parent joins no DODAG.
    quiet_until: Option<Instant>,
    load: Load,
    versions: VersionLimits,
    root: RootVersions,
}

/// The load of this node (RFC 6551 §3.1, the O flag).
#[derive(Debug)]
struct Load {
    /// Datagrams dropped for lack of room so far.
    turned_away: u32,
    overloaded_until: Instant,
}

impl<P: Profile> Upward<P> {
    pub(super) fn new(
        now: Instant,
        role: &RplRole,
        memory: RplMemory<P::Memory>,
        identity: &Identity,
        shared: &mut Shared<P>,
    ) -> Self {
        let Shared { config, rng, .. } = shared;
        let mut upward = Upward {
            role: Role::of(role),
            own: Peer::of(identity.link),
            candidates: Candidates::new(memory.neighbours),
            dodag: None,
            rank: INFINITE_RANK,
            lowest: INFINITE_RANK,
            advertised: INFINITE_RANK,
            parent: None,
            askers: [None; 2],
            trickle: Trickle::new(),
            dio_due: false,
            dis_due: false,
            is_adrift: false,
            // The jitter separates nodes that start together.
            dis_at: now + jittered(config.dao_delay, rng),
            probe_at: now + jittered(config.probe_interval, rng),
            quiet_until: None,
            load: Load {
                turned_away: 0,
                overloaded_until: now,
            },
            versions: VersionLimits::default(),
            root: RootVersions::default(),
        };
        upward.begin_as_root(now, role, identity, &shared.rules);
        upward
    }

    // --- facts for the other parts ---

    pub(super) fn is_leaf(&self) -> bool {
        self.role == Role::Leaf
    }

    pub(super) fn is_joined(&self) -> bool {
        self.rank != INFINITE_RANK
    }

    pub(super) fn is_storing(&self) -> bool {
        STORES && self.dodag.as_ref().is_some_and(Dodag::is_storing)
    }

    pub(super) fn rank(&self) -> u16 {
        self.rank
    }

    pub(super) fn parent(&self) -> Option<Peer> {
        self.parent
    }

    pub(super) fn own(&self) -> Option<Peer> {
        self.own
    }

    pub(super) fn dodag(&self) -> Option<&DodagOf<P>> {
        self.dodag.as_ref()
    }

    pub(super) fn joined(&self) -> Option<&DodagOf<P>> {
        self.dodag.as_ref().filter(|_| self.is_joined())
    }

    /// Returns the DODAG if this node is its root, and the DODAG has non-storing mode.
    pub(super) fn routed_by_source(&self) -> Option<&DodagOf<P>> {
        let dodag = self.dodag.as_ref();
        dodag.filter(|dodag| self.is_root() && !dodag.is_storing())
    }

    pub(super) fn holds(&self, addr: &Addr) -> bool {
        self.dodag.as_ref().is_some_and(|dodag| dodag.holds(addr))
    }

    /// Returns whether the neighbour `link` has sent a DIO.
    pub(super) fn knows(&self, link: Peer) -> bool {
        self.candidates.get(link).is_some()
    }

    /// Returns whether the neighbour `link` acknowledges frames.
    pub(super) fn answers(&self, link: Peer) -> bool {
        self.candidates.get(link).is_some_and(|it| it.answers())
    }

    /// Returns whether the neighbour `link` is known and can still hear this node.
    pub(super) fn hears(&self, link: Peer) -> bool {
        self.candidates.get(link).is_some_and(|it| !it.is_gone())
    }

    /// Returns DAGRank (RFC 6550 §3.5.1).
    #[inline(never)] // size
    pub(super) fn dag_rank(&self, rank: u16) -> u16 {
        divide(rank.into(), self.min_hop().unwrap_or(1).into()) as u16
    }

    /// Returns the rank from which children derive theirs. They do not know of an increase since
    /// the last DIO, so the lower rank applies between them and this node.
    pub(super) fn rank_to_children(&self) -> u16 {
        self.rank.min(self.advertised)
    }

    /// Returns MinHopRankIncrease of the DODAG.
    fn min_hop(&self) -> Option<u16> {
        let dodag = self.dodag.as_ref()?;
        Some(dodag.configuration.min_hop_rank_increase)
    }

    // --- events ---

    /// Records how many datagrams this node has dropped so far for lack of room.
    pub(super) fn on_load(&mut self, now: Instant, turned_away: u32) {
        if turned_away != self.load.turned_away {
            self.load.turned_away = turned_away;
            self.load.overloaded_until = now + OVERLOADED;
        }
    }

    /// Updates the ETX of the link to `link` after a frame. Returns whether the neighbour is a
    /// candidate, so that the choice of the parent may change.
    pub(super) fn on_link(&mut self, now: Instant, link: Peer, quality: Quality) -> bool {
        let Some(neighbour) = self.candidates.get_mut(link) else {
            return false;
        };
        let objective = self.dodag.as_ref().map(|dodag| dodag.objective);
        match objective.and_then(|it| it.etx_after(neighbour.etx, quality.attempts)) {
            Some(etx) => neighbour.on_estimate(now, etx),
            None => neighbour.on_frame(now, quality.attempts, quality.ok),
        }
        true
    }

    /// Resets Trickle because of an inconsistency (RFC 6550 §8.3).
    pub(super) fn reset_trickle(&mut self, cx: &mut Context<'_, P>) {
        if self.trickle.on_inconsistent(cx.now, &mut cx.shared.rng) {
            count(&mut cx.shared.counters.trickle_resets);
        }
    }

    fn configure_trickle(&mut self) {
        if let Some(dodag) = &self.dodag {
            let it = &dodag.configuration;
            self.trickle
                .configure(it.interval_min, it.interval_doublings, it.redundancy);
        }
    }

    // --- time ---

    /// Returns the earlier of `at` and the time of the next event.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        let mut at = at;
        if !self.is_joined() {
            at = at.min(self.dis_at);
        } else if !self.is_root() {
            at = at.min(self.probe_at);
        }
        let at = self.trickle.earlier(at);
        let at = self.root.earlier(at);
        earlier(at, &self.quiet_until)
    }

    pub(super) fn run_trickle(&mut self, cx: &mut Context<'_, P>) {
        let is_news = self.dag_rank(self.rank) != self.dag_rank(self.advertised);
        if self.trickle.on_timeout(cx.now, is_news, &mut cx.shared.rng) {
            self.dio_due = true;
        }
    }

    /// Ends the quiet period when its time is over. Returns whether the node may join again, as if
    /// it had never been a member (RFC 6550 §8.2.2.1).
    pub(super) fn run_quiet(&mut self, cx: &mut Context<'_, P>) -> bool {
        if !has_come(&self.quiet_until, cx.now) {
            return false;
        }
        self.quiet_until = None;
        if self.is_root() {
            self.trickle.start(cx.now, &mut cx.shared.rng);
            return false;
        }
        self.lowest = INFINITE_RANK;
        true
    }

    /// Sends a DIS that is due if the node has no parent; otherwise a probe that is due.
    pub(super) fn run_solicitations(&mut self, cx: &mut Context<'_, P>) {
        if !self.is_joined() && self.dis_at <= cx.now {
            self.solicit(cx);
        }
        if self.is_joined() && !self.is_root() && self.probe_at <= cx.now {
            self.probe(cx);
        }
    }

    /// Forgets which neighbours have refused a DAO.
    pub(super) fn forgive_refusals(&mut self) {
        for neighbour in self.candidates.iter_mut() {
            neighbour.full = false;
        }
    }

    /// Records that the parent's table of routes is full.
    pub(super) fn on_parent_full(&mut self) {
        if let Some(link) = self.parent
            && let Some(neighbour) = self.candidates.get_mut(link)
        {
            neighbour.full = true;
        }
    }
}
