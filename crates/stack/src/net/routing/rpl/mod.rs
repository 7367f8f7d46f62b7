//! RPL (RFC 6550): a DODAG towards a root, and ways down from it.
//!
//! - `trickle.rs`: when DIOs are due (RFC 6206);
//! - `neighbours.rs`: the candidate neighbours and the ETX of their links (RFC 6551);
//! - `upward.rs`: DIOs, joining, repair (§8);
//! - `downward.rs`: DAOs (§9), with the targets in the table of routes;
//! - `hosts.rs`: hosts that do not know RPL (RFC 9010);
//! - `targets.rs`: targets of DAOs that have come, and `unacked.rs`: next hops that do not
//!   acknowledge frames;
//! - `passing.rs`: what data packets say of their way (§11), and `headers.rs`: the headers that
//!   say it (RFC 6553, RFC 6554);
//! - `messages.rs`: the messages that are due, as bytes;
//! - `root/`: what only a root has, such as inquiries for targets;
//! - `protocol.rs`: RPL's side of the seam to the rest of the node.
//!
//! A module in `absent/` stands in for one that a build leaves out. It has the same interface,
//! and costs nothing.
//!
//! Not here: security (§10), multicast (§12), local instances and more than one DODAG
//! (§5), floating DODAGs (§8.2.2.6), metric containers beside the node's state.

mod config;
mod downward;
mod headers;
#[cfg_attr(not(feature = "rpl-hosts"), path = "absent/hosts.rs")]
mod hosts;
mod messages;
mod neighbours;
mod passing;
mod peer;
mod protocol;
#[cfg_attr(not(feature = "rpl-root"), path = "absent/root.rs")]
mod root;
mod shared;
mod targets;
mod trickle;
mod unacked;
mod upward;

use redpoll_base::{Addr, Duration, Instant, Memory, Wake};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{
    Configuration, Dao, DaoAck, Dio, INFINITE_RANK, Sequence, code, mode, parse_dis,
};

use super::routes::HAS_TARGETS;
use super::{Quality, Table, Via};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::profile::Profile;
use crate::rules::{Objective, RplRules};

pub use config::{RplConfig, RplCounters, RplMemory, RplRole, RplRoot};
pub(super) use headers::EXTENSION_MAX;
pub use neighbours::RplNeighbour;
pub(crate) use peer::Peer;
pub(super) use protocol::MESSAGE_MAX;
pub(super) use redpoll_wire::rpl::is_option;
pub(crate) use unacked::UnackedHop;

use config::{Role, count};
use downward::Daos;
use hosts::Hosts;
use messages::{Envelope, Replies};
use neighbours::Candidates;
use passing::{Dress, Limits, Passage};
use root::{Path, RootState};
use shared::Shared;
use trickle::Trickle;

/// Whether a DODAG may be one of storing mode.
const STORES: bool = cfg!(feature = "rpl-storing");

/// The DODAG that a node is a member of.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
struct Dodag<O> {
    instance: u8,
    version: Sequence,
    mode: u8,
    grounded: bool,
    preference: u8,
    objective: O,
    configuration: Configuration,
    id: Addr,
    /// The prefix of its nodes' addresses.
    prefix: Addr,
}

impl<O> Dodag<O> {
    fn is_storing(&self) -> bool {
        STORES && self.mode == mode::STORING
    }

    /// Whether this is its root.
    fn is_rooted_at(&self, link: Peer) -> bool {
        Peer::at(&self.id) == Some(link)
    }
}

/// The DODAG of a node with this profile.
type DodagOf<P> = Dodag<ObjectiveOf<P>>;
/// The objective function of a node with this profile.
type ObjectiveOf<P> = <<P as Profile>::Rules as RplRules>::Objective;

/// A node's part in RPL.
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(super) struct Rpl<P: Profile> {
    /// This node's DTSN.
    dtsn: Sequence,
    /// A DIO is due at once.
    dio_due: bool,
    /// This node has been without a parent for so long that it may join as one that was never
    /// there (§8.2.2.1).
    is_adrift: bool,
    role: Role,
    /// [`INFINITE_RANK`] without a parent.
    rank: u16,
    /// The lowest rank in this version (§8.2.2.4 (3): L).
    lowest: u16,
    /// The rank that was advertised last.
    advertised: u16,
    /// This node, if it has an address that others can know it by.
    own: Option<Peer>,
    /// The preferred parent.
    parent: Option<Peer>,
    candidates: Candidates<<P::Memory as Memory>::Table<Option<RplNeighbour>>>,
    dodag: Option<DodagOf<P>>,
    daos: Daos,
    replies: Replies,
    /// Neighbours that acknowledged a frame lately and have no route yet.
    answered: [Option<Peer>; 2],
    trickle: Trickle,
    limits: Limits,
    /// When the next DIS goes out, while there is no parent.
    dis_at: Instant,
    probe_at: Instant,
    upkeep_at: Instant,
    /// A root that has just started listens, and a node that has lost its last parent
    /// keeps to itself, until then.
    quiet_until: Option<Instant>,
    /// Datagrams that found no room here, and until when the node counts as overloaded
    /// for the last of them.
    turned_away: u32,
    overloaded_until: Instant,
    root: RootState,
    shared: Shared<P>,
    /// Hosts that have registered with this router.
    hosts: Hosts<P::Memory>,
}

impl<P: Profile> Rpl<P> {
    #[inline(never)] // size
    pub(super) fn new(
        now: Instant,
        (rules, role, config): (P::Rules, RplRole, RplConfig),
        memory: RplMemory<P::Memory>,
        identity: &Identity,
    ) -> Self {
        let mut shared = Shared::new(rules, config);
        let own = Peer::of(identity.link);
        let mut rpl = Rpl {
            role: Role::of(&role),
            own,
            candidates: Candidates::new(memory.neighbours),
            dodag: None,
            rank: INFINITE_RANK,
            lowest: INFINITE_RANK,
            advertised: INFINITE_RANK,
            parent: None,
            trickle: Trickle::new(),
            dtsn: Sequence::FIRST,
            daos: Daos::new(&mut shared.rng),
            replies: Replies::default(),
            answered: [None; 2],
            limits: Limits::default(),
            dio_due: false,
            is_adrift: false,
            // Nodes that start together do not ask together.
            dis_at: now + downward::jittered(shared.config.dao_delay, &mut shared.rng),
            probe_at: now + downward::jittered(shared.config.probe_interval, &mut shared.rng),
            upkeep_at: now + upward::UPKEEP,
            quiet_until: None,
            turned_away: 0,
            overloaded_until: now,
            root: RootState::default(),
            hosts: Hosts::default(),
            shared,
        };
        rpl.begin_as_root(now, &role, identity);
        rpl
    }

    fn is_leaf(&self) -> bool {
        self.role == Role::Leaf
    }

    /// Whether the node is part of a DODAG, with a way to its root.
    fn is_joined(&self) -> bool {
        self.rank != INFINITE_RANK
    }

    /// See [`Routing::tunnel`](super::Routing::tunnel).
    pub(super) fn tunnel(&self) -> Option<Addr> {
        let dodag = self.dodag.as_ref().filter(|_| self.shared.config.tunnels)?;
        Some(dodag.id)
    }

    /// Whether this neighbour has been heard, as one that takes part.
    pub(super) fn names(&self, link: Address) -> bool {
        Peer::of(link).is_some_and(|peer| self.candidates.get(peer).is_some())
    }

    pub(super) fn rank(&self) -> u16 {
        self.rank
    }

    pub(super) fn parent(&self) -> Option<Address> {
        self.parent.map(Peer::link)
    }

    /// Whether ways down are known by every router.
    fn is_storing(&self) -> bool {
        STORES && self.dodag.as_ref().is_some_and(Dodag::is_storing)
    }

    /// Whether this is an address of the DODAG.
    pub(crate) fn holds(&self, addr: &Addr) -> bool {
        let dodag = self.dodag.as_ref();
        dodag.is_some_and(|dodag| addr.shares_prefix(&dodag.prefix, 64))
    }

    /// Where packets to `dst` go: down to a target that is known, else up.
    pub(super) fn lookup(&self, now: Instant, table: &Table<P::Memory>, dst: &Addr) -> Option<Via> {
        let down = self.lookup_down(now, table, dst);
        if down.is_some() {
            return down;
        }
        // What the DODAG's prefix holds and nobody has told of must not leave it at the
        // root.
        let is_inside = self.is_root() && self.holds(dst);
        match (self.is_root(), self.parent) {
            _ if is_inside => None,
            (false, Some(parent)) => Some(Via::Neighbour(parent.link())),
            _ => table.lookup(now, dst),
        }
    }

    fn lookup_down(&self, now: Instant, table: &Table<P::Memory>, dst: &Addr) -> Option<Via> {
        if let Some(dodag) = &self.dodag
            && self.is_root()
            && !dodag.is_storing()
            && !table.downward(now, dst).is_some_and(|it| it.is_host())
        {
            let path = self.path(now, table, dodag, dst)?;
            return path.first().map(Via::Neighbour);
        }
        let known = table.lookup_host(now, dst);
        known.or_else(|| self.host(now, dst))
    }

    /// Takes in a control message from the neighbour `from`: `body` stands behind the
    /// checksum.
    pub(super) fn on_message(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        table: &mut Table<P::Memory>,
        (src, dst): (Addr, Addr),
        (code, body): (u8, &[u8]),
        from: Option<Address>,
    ) -> Result<(), DropReason> {
        // A message that a neighbour has sent itself.
        let near = from.and_then(Peer::of);
        let near = near.filter(|peer| peer.link_local() == src);
        // §6: they have link-local addresses, or they are not for us.
        let neighbour = near.ok_or(DropReason::BadSource);
        let malformed = |_| DropReason::Malformed;
        let counters = &mut self.shared.counters;
        match code {
            code::DIS => {
                parse_dis(body).map_err(malformed)?;
                count(&mut counters.diss_received);
                self.on_dis(now, neighbour?, dst.is_multicast());
                Ok(())
            }
            code::DIO => {
                let dio = Dio::parse(body).map_err(malformed)?;
                count(&mut counters.dios_received);
                self.on_dio(now, identity, table, neighbour?, &dio)
            }
            code::DAO => {
                let dao = Dao::parse(body).map_err(malformed)?;
                count(&mut counters.daos_received);
                self.on_dao(now, identity, table, (src, near), &dao)
            }
            code::DAO_ACK => {
                let ack = DaoAck::parse(body).map_err(malformed)?;
                count(&mut counters.dao_acks_received);
                self.on_dao_ack(now, table, (src, near), &ack)
            }
            _ => Err(DropReason::Malformed),
        }
    }

    pub(super) fn on_implausible(&mut self) {
        count(&mut self.shared.counters.implausible);
    }

    /// A frame to a neighbour has ended.
    pub(super) fn on_link(&mut self, now: Instant, table: &mut Table<P::Memory>, quality: Quality) {
        let Some(link) = Peer::of(quality.neighbour) else {
            return;
        };
        if HAS_TARGETS {
            self.on_hop(now, table, link, quality.ok);
        }
        let Some(neighbour) = self.candidates.get_mut(link) else {
            return;
        };
        let objective = self.dodag.as_ref().map(|dodag| dodag.objective);
        match objective.and_then(|it| it.etx_after(neighbour.etx, quality.attempts)) {
            Some(etx) => neighbour.on_estimate(now, etx),
            None => neighbour.on_frame(now, quality.attempts, quality.ok),
        }
        self.reconsider(now, table);
    }

    pub(super) fn poll_at(&self) -> Option<Wake> {
        if self.has_message_due() {
            return Some(Wake::exactly(Instant::ZERO));
        }
        let mut at = self.upkeep_at;
        if !self.is_joined() {
            at = at.min(self.dis_at);
        } else if !self.is_root() {
            at = at.min(self.probe_at);
        }
        let at = self.trickle.earlier(at);
        let at = self.daos.earlier(at);
        let at = self.shared.probes.earlier(at);
        let at = self.root.earlier(at);
        Some(Wake::exactly(earlier(at, &self.quiet_until)))
    }

    /// Runs what is due; messages may wait then.
    #[inline(never)] // size
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
    ) {
        let is_news = self.dag_rank(self.rank) != self.dag_rank(self.advertised);
        if self.trickle.on_timeout(now, is_news, &mut self.shared.rng) {
            self.dio_due = true;
        }
        if has_come(&self.quiet_until, now) {
            self.quiet_until = None;
            self.end_quiet(now, table);
        }
        self.run_root(now, table);
        if !self.is_joined() && self.dis_at <= now {
            self.solicit(now);
        }
        if self.is_joined() && !self.is_root() && self.probe_at <= now {
            self.probe(now);
        }
        if self.shared.probes.has_come(now) {
            self.prove_any(now, table);
        }
        if self.upkeep_at <= now {
            self.upkeep_at = now + upward::UPKEEP;
            self.keep_up(now, table);
        }
        self.run_daos(now, identity, table);
    }
}

/// `span` so many times. Out of line, as a product of 64 bits.
#[inline(never)]
fn times(span: Duration, factor: u64) -> Duration {
    span.times(factor)
}

/// Whether this moment has come. Out of line, as [`earlier`]: there are many of them.
#[inline(never)]
fn has_come(at: &Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}

/// `at`, or the `other` moment if that is earlier.
#[inline(never)]
fn earlier(at: Instant, other: &Option<Instant>) -> Instant {
    other.map_or(at, |other| other.min(at))
}
