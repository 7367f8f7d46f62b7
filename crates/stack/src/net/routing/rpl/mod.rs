//! RPL (RFC 6550): a DODAG towards a root, and ways down from it.
//!
//! - `trickle.rs`: when DIOs are due (RFC 6206);
//! - `neighbours.rs`: the candidate neighbours and the ETX of their links (RFC 6551);
//! - `objective.rs`: which of them is the parent (RFC 6719, RFC 6552);
//! - `upward.rs`: DIOs, joining, repair (§8);
//! - `downward.rs`: DAOs (§9), with the targets in the table of routes;
//! - `passing.rs`: what data packets say of their way (§11, RFC 6553, RFC 6554);
//! - `messages.rs`: the messages that are due, as bytes.
//!
//! Not here: security (§10), multicast (§12), local instances and more than one DODAG
//! (§5), floating DODAGs (§8.2.2.6), metric containers beside the node's state.

mod config;
mod downward;
mod messages;
mod neighbours;
mod objective;
mod passing;
mod trickle;
mod upward;

use redpoll_base::{Addr, Instant, Memory, Rng, Wake};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{Configuration, INFINITE_RANK, Message, Sequence, mode};

use super::{Peer, Quality, Table, Via};
use crate::counters::DropReason;
use crate::net::identity::Identity;

pub use config::{RplConfig, RplCounters, RplMemory, RplRole, RplRoot};
pub(crate) use messages::{Envelope, MESSAGE_MAX};
pub use neighbours::RplNeighbour;
pub(crate) use passing::{Dress, Passage, Path};

use config::count;
use downward::Daos;
use messages::Replies;
use neighbours::Candidates;
use objective::Objective;
use passing::Limits;
use trickle::Trickle;

/// The DODAG that a node is a member of.
#[derive(Clone, Copy, Debug)]
struct Dodag {
    id: Addr,
    instance: u8,
    version: Sequence,
    mode: u8,
    grounded: bool,
    preference: u8,
    /// The prefix of its nodes' addresses.
    prefix: Addr,
    configuration: Configuration,
    objective: Objective,
}

impl Dodag {
    fn is_storing(&self) -> bool {
        cfg!(feature = "rpl-storing") && self.mode == mode::STORING
    }
}

/// A node's part in RPL.
pub(super) struct Rpl<M: Memory + 'static> {
    config: RplConfig,
    /// This node, if it has an address that others can know it by.
    own: Option<Peer>,
    candidates: Candidates<M::Table<Option<RplNeighbour>>>,
    dodag: Option<Dodag>,
    /// [`INFINITE_RANK`] without a parent.
    rank: u16,
    /// The lowest rank in this version (§8.2.2.4 (3): L).
    lowest: u16,
    /// The rank that was advertised last.
    advertised: u16,
    /// The preferred parent.
    parent: Option<Peer>,
    trickle: Trickle,
    /// This node's DTSN.
    dtsn: Sequence,
    daos: Daos,
    replies: Replies,
    limits: Limits,
    /// A DIO is due at once.
    dio_due: bool,
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
    rng: Rng,
    pub(super) counters: RplCounters,
}

impl<M: Memory + 'static> Rpl<M> {
    pub(super) fn new(
        now: Instant,
        config: RplConfig,
        memory: RplMemory<M>,
        identity: &Identity,
    ) -> Self {
        let mut rng = Rng::new(config.seed);
        let own = Peer::of(identity.link);
        #[cfg_attr(not(feature = "rpl-root"), allow(unused_mut, reason = "a root begins"))]
        let mut rpl = Rpl {
            own,
            candidates: Candidates::new(memory.neighbours),
            dodag: None,
            rank: INFINITE_RANK,
            lowest: INFINITE_RANK,
            advertised: INFINITE_RANK,
            parent: None,
            trickle: Trickle::new(),
            dtsn: Sequence::FIRST,
            daos: Daos::new(&mut rng),
            replies: Replies::default(),
            limits: Limits::default(),
            dio_due: false,
            // Nodes that start together do not ask together.
            dis_at: now + downward::jittered(config.dao_delay, &mut rng),
            probe_at: now + downward::jittered(config.probe_interval, &mut rng),
            upkeep_at: now + upward::UPKEEP,
            quiet_until: None,
            turned_away: 0,
            overloaded_until: now,
            rng,
            counters: RplCounters::default(),
            config,
        };
        #[cfg(feature = "rpl-root")]
        if let RplRole::Root(root) = rpl.config.role {
            rpl.begin_as_root(now, &root, identity);
        }
        rpl
    }

    const fn is_root(&self) -> bool {
        #[cfg(feature = "rpl-root")]
        return matches!(self.config.role, RplRole::Root(_));
        #[cfg(not(feature = "rpl-root"))]
        false
    }

    fn is_leaf(&self) -> bool {
        self.config.role == RplRole::Leaf
    }

    /// Whether the node is part of a DODAG, with a way to its root.
    fn is_joined(&self) -> bool {
        self.rank != INFINITE_RANK
    }

    pub(super) fn on_malformed(&mut self) {
        count(&mut self.counters.implausible);
    }

    /// See [`Routing::tunnel`](super::Routing::tunnel).
    pub(super) fn tunnel(&self) -> Option<Addr> {
        self.dodag
            .filter(|_| self.config.tunnels)
            .map(|dodag| dodag.id)
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
        self.dodag.is_some_and(|dodag| dodag.is_storing())
    }

    /// Where packets to `dst` go: down to a target that is known, else up.
    pub(super) fn lookup(&self, now: Instant, table: &Table<M>, dst: &Addr) -> Option<Via> {
        let down = match (self.is_storing() || !self.is_root(), self.dodag) {
            (false, Some(dodag)) => {
                let path = self.path(now, table, &dodag, dst);
                path.and_then(|path| path.first()).map(Via::Neighbour)
            }
            _ => table.lookup_host(now, dst),
        };
        if down.is_some() {
            return down;
        }
        // What the DODAG's prefix holds and nobody has told of must not leave it at the
        // root.
        let is_inside = self
            .dodag
            .is_some_and(|dodag| dst.shares_prefix(&dodag.prefix, 64));
        match (self.is_root(), self.parent) {
            (true, _) if is_inside => None,
            (false, Some(parent)) => Some(Via::Neighbour(parent.link())),
            _ => table.lookup(now, dst),
        }
    }

    /// Takes in a control message from the neighbour `from`.
    pub(super) fn on_message(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        table: &mut Table<M>,
        (src, dst): (Addr, Addr),
        message: Message<'_>,
        from: Option<Address>,
    ) -> Result<(), DropReason> {
        let to_group = dst.is_multicast();
        // A message that a neighbour has sent itself.
        let near = from.and_then(Peer::of);
        let near = near.filter(|peer| peer.link_local() == src);
        let counters = &mut self.counters;
        count(match message {
            Message::Dis { .. } => &mut counters.diss_received,
            Message::Dio(_) => &mut counters.dios_received,
            Message::Dao(_) => &mut counters.daos_received,
            Message::DaoAck(_) => &mut counters.dao_acks_received,
        });
        let result = match (message, near) {
            (Message::Dis { .. }, Some(link)) => {
                self.on_dis(now, link, to_group);
                Ok(())
            }
            (Message::Dio(dio), Some(link)) => self.on_dio(now, identity, table, link, &dio),
            (Message::Dao(dao), _) => self.on_dao(now, identity, table, (src, near), &dao),
            (Message::DaoAck(ack), _) => self.on_dao_ack(now, table, (src, near), &ack),
            // §6: they have link-local addresses, or they are not for us.
            _ => Err(DropReason::BadSource),
        };
        if result.is_err() {
            count(&mut self.counters.implausible);
        }
        result
    }

    /// A frame to a neighbour has ended.
    pub(super) fn on_link(&mut self, now: Instant, table: &mut Table<M>, quality: Quality) {
        let Some(link) = Peer::of(quality.neighbour) else {
            return;
        };
        let Some(neighbour) = self.candidates.get_mut(link) else {
            return;
        };
        neighbour.on_frame(now, quality.attempts, quality.ok);
        self.reconsider(now, table);
    }

    pub(super) fn poll_at(&self) -> Option<Wake> {
        let mut at = self.upkeep_at;
        if self.has_message_due() {
            return Some(Wake::exactly(Instant::ZERO));
        }
        if !self.is_joined() {
            at = at.min(self.dis_at);
        } else if !self.is_root() {
            at = at.min(self.probe_at);
        }
        let others = [
            self.trickle.poll_at(),
            self.daos.poll_at(),
            self.quiet_until,
        ];
        let at = others.into_iter().flatten().fold(at, Instant::min);
        Some(Wake::exactly(at))
    }

    /// Runs what is due; messages may wait then.
    pub(super) fn on_timeout(&mut self, now: Instant, identity: &Identity, table: &mut Table<M>) {
        let is_news = self.dag_rank(self.rank) != self.dag_rank(self.advertised);
        if self.trickle.on_timeout(now, is_news, &mut self.rng) {
            self.dio_due = true;
        }
        if self.quiet_until.is_some_and(|at| at <= now) {
            self.quiet_until = None;
            self.end_quiet(now, table);
        }
        if !self.is_joined() && self.dis_at <= now {
            self.solicit(now);
        }
        if self.is_joined() && !self.is_root() && self.probe_at <= now {
            self.probe(now);
        }
        if self.upkeep_at <= now {
            self.upkeep_at = now + upward::UPKEEP;
            self.keep_up(now, table);
        }
        self.run_daos(now, identity, table);
    }
}
