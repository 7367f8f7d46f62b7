//! The dispatch of messages and timers to the three parts of RPL.

use redpoll_base::{Addr, Duration, Instant, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{Dao, DaoAck, Dio, PacketInformation, code, parse_dis};

use super::config::{RplMemory, RplRole, count};
use super::downward::{DaoOutcome, prove_any};
use super::loops::SenderRanks;
use super::upward::{Change, DioOutcome, emit_dis};
use super::{Context, DaoSender, Downward, Envelope, Loops, Passage, Peer, Shared, Upward};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::protocol::Signal;
use crate::net::routing::routes::{DownwardRoute, HAS_TARGETS};
use crate::net::routing::{Quality, Table, Via};
use crate::profile::Profile;
use crate::rules::RplRules;

/// The interval at which expired state is removed.
const UPKEEP: Duration = Duration::from_secs(60);

#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct RplParts<P: Profile> {
    pub(super) upward: Upward<P>,
    pub(super) downward: Downward<P>,
    pub(super) loops: Loops,
    upkeep_at: Instant,
}

impl<P: Profile> RplParts<P> {
    #[inline(never)] // size
    pub(super) fn new(
        now: Instant,
        role: &RplRole,
        memory: RplMemory<P::Memory>,
        identity: &Identity,
        shared: &mut Shared<P>,
    ) -> Self {
        let downward = Downward::new(&mut shared.rng);
        RplParts {
            upward: Upward::new(now, role, memory, identity, shared),
            downward,
            loops: Loops::default(),
            upkeep_at: now + UPKEEP,
        }
    }

    /// Returns the next hop of packets to `dst`: down to a known target, otherwise up.
    pub(super) fn lookup(&self, now: Instant, table: &Table<P::Memory>, dst: &Addr) -> Option<Via> {
        let down = self.downward.lookup(now, table, &self.upward, dst);
        if down.is_some() {
            return down;
        }
        // At the root, packets to unknown addresses of the DODAG must not leave it.
        let is_root = self.upward.is_root();
        let is_inside = is_root && self.upward.holds(dst);
        match (is_root, self.upward.parent()) {
            _ if is_inside => None,
            (false, Some(parent)) => Some(Via::Neighbour(parent.link())),
            _ => table.lookup(now, dst),
        }
    }

    // --- messages ---

    pub(super) fn on_message(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &mut Identity,
        signal: &Signal<'_>,
    ) -> Result<(), DropReason> {
        let (src, body) = (signal.src, signal.body);
        // `near` is set only if the neighbour created the message: its address is the IPv6 source.
        let near = signal.from.and_then(Peer::of);
        let near = near.filter(|peer| peer.link_local() == src);
        let sender = DaoSender { src, near };
        // RFC 6550 §6: DISs and DIOs have link-local addresses.
        let neighbour = near.ok_or(DropReason::BadSource);
        let malformed = |_| DropReason::Malformed;
        let counters = &mut cx.shared.counters;
        match signal.code {
            code::DIS => {
                parse_dis(body).map_err(malformed)?;
                count(&mut counters.diss_received);
                let to_group = signal.dst.is_multicast();
                self.upward.on_dis(cx, neighbour?, to_group);
                Ok(())
            }
            code::DIO => {
                let dio = Dio::parse(body).map_err(malformed)?;
                count(&mut counters.dios_received);
                let link = neighbour?;
                let is_answer = !signal.dst.is_multicast() && cx.shared.probes.was_asked(link);
                if !is_answer && self.upward.doubts(cx, link, &dio) {
                    let is_parent = self.upward.parent() == Some(link);
                    cx.shared.probes.confirm(cx.now, link, is_parent);
                    return Ok(());
                }
                self.on_dio(cx, identity, link, &dio)
            }
            code::DAO => {
                let dao = Dao::parse(body).map_err(malformed)?;
                count(&mut counters.daos_received);
                self.on_dao(cx, identity, sender, &dao)
            }
            code::DAO_ACK => {
                let ack = DaoAck::parse(body).map_err(malformed)?;
                count(&mut counters.dao_acks_received);
                if self.downward.on_dao_ack(cx, &self.upward, sender, &ack) {
                    self.avoid_parent(cx);
                }
                Ok(())
            }
            _ => Err(DropReason::Malformed),
        }
    }

    fn on_dio(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &mut Identity,
        link: Peer,
        dio: &Dio<'_>,
    ) -> Result<(), DropReason> {
        match self.upward.on_dio(cx, identity, link, dio)? {
            DioOutcome::Ignored => {}
            DioOutcome::NeighbourLost => self.reconsider(cx),
            DioOutcome::Member => self.on_dio_of_dodag(cx, link, dio),
        }
        Ok(())
    }

    #[inline(never)] // size
    fn on_dio_of_dodag(&mut self, cx: &mut Context<'_, P>, link: Peer, dio: &Dio<'_>) {
        let Some(before) = self.upward.follow(cx, link, dio) else {
            return;
        };
        if before.joins {
            self.downward.on_version(cx);
        }
        if !self.upward.record(cx, link, dio, &before) {
            return;
        }
        self.reconsider(cx);
        if before.asks_for_daos() {
            if self.downward.on_trigger(cx) && !self.upward.is_leaf() {
                self.upward.reset_trickle(cx);
            }
            self.downward.advertise_all(cx, &self.upward, true);
        }
        self.upward.compare(cx, dio, &before);
    }

    fn on_dao(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &Identity,
        sender: DaoSender,
        dao: &Dao<'_>,
    ) -> Result<(), DropReason> {
        match self
            .downward
            .on_dao(cx, &self.upward, identity, sender, dao)?
        {
            DaoOutcome::Processed => Ok(()),
            DaoOutcome::Loop(parent) => {
                self.on_loop(cx, parent);
                Err(DropReason::BadSource)
            }
        }
    }

    /// Writes into `out` the next message that is due, after type, code and checksum.
    pub(super) fn poll_message(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &Identity,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let (upward, downward) = (&mut self.upward, &mut self.downward);
        let solicited = upward.take_dis();
        if let Some(dst) = solicited.or_else(|| Some(cx.shared.probes.take()?.link_local())) {
            return emit_dis(cx.shared, dst, out);
        }
        if let Some(ack) = downward.poll_ack(cx.shared, upward.dodag()?, out) {
            return ack;
        }
        if let Some(dst) = upward.take_dio() {
            if dst.is_multicast() {
                downward.on_dio(cx);
            }
            return upward.emit_dio(cx, identity, downward.dtsn(), dst, out);
        }
        downward.poll_message(cx, upward, identity, out)
    }

    // --- consequences of an event in several parts ---

    /// Chooses the parent, and reports a change of it to the downward part.
    fn reconsider(&mut self, cx: &mut Context<'_, P>) {
        match self.upward.reconsider(cx, self.downward.is_known()) {
            Change::None => {}
            Change::Parent { former, joins } => {
                self.downward.on_new_parent(cx, &self.upward, former, joins);
            }
            Change::Detached => {
                cx.table.retain_downward(DownwardRoute::is_host);
                self.downward.on_detached();
            }
        }
    }

    /// In storing mode, looks for another parent, because the present parent has refused a DAO or
    /// has not acknowledged it.
    fn avoid_parent(&mut self, cx: &mut Context<'_, P>) {
        if self.upward.is_storing() {
            self.upward.on_parent_full();
            self.reconsider(cx);
        }
    }

    /// Processes a loop between this node and `parent`, and probes `parent`.
    fn on_loop(&mut self, cx: &mut Context<'_, P>, parent: Peer) {
        if self.upward.on_loop(cx, parent) {
            self.reconsider(cx);
        }
        cx.shared.probes.schedule(Some(parent));
    }

    /// Processes the link layer's result of a frame to a neighbour.
    pub(super) fn on_link(&mut self, cx: &mut Context<'_, P>, quality: Quality) {
        let Some(link) = Peer::of(quality.neighbour) else {
            return;
        };
        if HAS_TARGETS {
            self.downward.on_hop(cx, &self.upward, link, quality.ok);
        }
        if self.upward.on_link(cx.now, link, quality) {
            self.reconsider(cx);
        }
    }

    pub(super) fn on_unreachable(&mut self, cx: &mut Context<'_, P>, dst: &Addr) {
        if self.downward.on_unreachable(cx.now, &self.upward, dst) {
            self.upward.reset_trickle(cx);
        }
    }

    /// Checks whether a forwarded packet of the neighbour `from` makes progress (RFC 6550 §11.2.2).
    pub(super) fn on_passing(
        &mut self,
        cx: &mut Context<'_, P>,
        dst: &Addr,
        from: Peer,
        information: &mut PacketInformation,
    ) -> Result<Passage, DropReason> {
        let Some(dodag) = self.upward.joined() else {
            return Ok(Passage::On);
        };
        let is_from_root = dodag.is_rooted_at(from);
        let storing = dodag.is_storing();
        // RFC 6550 §11.2.2.1: the packet's RPLInstanceID must match the instance.
        if information.instance != dodag.instance {
            count(&mut cx.shared.counters.foreign);
            return Err(DropReason::NoRoute);
        }
        if core::mem::take(&mut information.forwarding_error) {
            return self.on_returned(cx, dst, from, information);
        }
        let ranks = SenderRanks {
            own: self.sender_rank(&cx.shared.rules, self.upward.rank()),
            to_children: self.sender_rank(&cx.shared.rules, self.upward.rank_to_children()),
        };
        let counters = &mut cx.shared.counters;
        let check = self.loops.check_rank(cx.now, counters, ranks, information);
        if check.resets {
            self.upward.reset_trickle(cx);
        }
        if check.drops {
            return Err(DropReason::RankError);
        }
        let is_from_parent = self.upward.parent() == Some(from) && !is_from_root;
        if !information.down && is_from_parent && self.loops.admit_rank_error(cx.now) {
            self.on_loop(cx, from);
        }
        let is_lost = information.down
            && storing
            && !self.upward.is_root()
            && cx.table.lookup_host(cx.now, dst).is_none();
        if is_lost {
            count(&mut cx.shared.counters.forwarding_errors);
            information.forwarding_error = true;
            return Ok(Passage::Back);
        }
        Ok(Passage::On)
    }

    /// Processes a packet that the next hop has returned (RFC 6550 §11.2.2.3): the route is wrong.
    fn on_returned(
        &mut self,
        cx: &mut Context<'_, P>,
        dst: &Addr,
        from: Peer,
        information: &mut PacketInformation,
    ) -> Result<Passage, DropReason> {
        let now = cx.now;
        count(&mut cx.shared.counters.returned);
        let is_behind = cx
            .table
            .downward(now, dst)
            .is_some_and(|it| it.link == from);
        if is_behind && self.loops.admit_forwarding_error(now) {
            cx.table.forget_downward(dst);
            self.downward.ask_for_daos();
            self.upward.reset_trickle(cx);
        } else if is_behind {
            return Err(DropReason::NoRoute);
        }
        let is_known = cx.table.lookup_host(now, dst).is_some();
        Ok(match self.upward.parent().filter(|_| !is_known) {
            Some(parent) => {
                information.forwarding_error = true;
                Passage::Up(parent.link())
            }
            None => Passage::On,
        })
    }

    /// Returns SenderRank of packet information for this `rank` (RFC 6550 §11.2).
    pub(super) fn sender_rank(&self, rules: &P::Rules, rank: u16) -> u16 {
        match rules.sends_plain_rank() {
            true => rank,
            false => self.upward.dag_rank(rank),
        }
    }

    // --- time ---

    pub(super) fn poll_at(&self, shared: &Shared<P>) -> Option<Wake> {
        let (upward, downward) = (&self.upward, &self.downward);
        if downward.has_message_due() || upward.has_message_due() || shared.probes.is_due() {
            return Some(Wake::exactly(Instant::ZERO));
        }
        let at = upward.earlier(self.upkeep_at);
        let at = downward.earlier(at);
        Some(Wake::exactly(shared.probes.earlier(at)))
    }

    /// Runs the timers that are due. Messages may be due after that.
    #[inline(never)] // size
    pub(super) fn on_timeout(&mut self, cx: &mut Context<'_, P>, identity: &Identity) {
        self.upward.run_trickle(cx);
        if self.upward.run_quiet(cx) {
            self.reconsider(cx);
        }
        self.upward.run_versions(cx);
        self.downward.run_inquiries(cx, &self.upward);
        self.upward.run_solicitations(cx);
        if cx.shared.probes.has_come(cx.now) {
            prove_any(cx, &self.upward);
        }
        if self.upkeep_at <= cx.now {
            self.upkeep_at = cx.now + UPKEEP;
            self.keep_up(cx);
        }
        if self.downward.run_daos(cx, &self.upward, identity) {
            self.avoid_parent(cx);
        }
    }

    /// Removes expired state.
    fn keep_up(&mut self, cx: &mut Context<'_, P>) {
        self.downward.end_hosts(cx, &self.upward);
        if HAS_TARGETS {
            cx.table.expire(cx.now);
            prove_any(cx, &self.upward);
        }
        self.upward.forgive_refusals();
        self.reconsider(cx);
    }

    pub(super) fn parent(&self) -> Option<Address> {
        self.upward.parent().map(Peer::link)
    }
}
