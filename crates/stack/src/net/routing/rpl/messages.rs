//! The messages that are due, as bytes.

use redpoll_base::{Addr, Instant};
use redpoll_wire::Cursor;
use redpoll_wire::rpl::{
    ALL_NODES, Dao, DaoAck, Dio, Message, Options, PrefixInformation, RplOption, Sequence,
    TargetOption, Transit, code,
};

use super::config::{TARGETS_MAX, count};
use super::downward::{NoPath, is_news};
use super::targets::BRIEF;
use super::{DodagOf, Rpl, STORES, Table};
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::routes::{HAS_TARGETS, News, Target};
use crate::profile::Profile;

/// Bytes of the longest message: a DAO with [`TARGETS_MAX`] targets.
pub(crate) const MESSAGE_MAX: usize = 128;

/// Targets with the parents of each that fit into it.
const TARGETS_OF_PARENTS: usize = 2;

/// Where a message goes, and its code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub(crate) code: u8,
    pub(crate) dst: Addr,
}

/// An acknowledgement that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) to: Addr,
    pub(super) sequence: u8,
    pub(super) status: u8,
}

/// Answers that are due. One too many is left out, as if it were lost: whoever asks
/// asks again.
#[derive(Debug, Default)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(super) struct Replies {
    pub(super) dis_due: bool,
    /// How often the DAO that is due was sent before.
    pub(super) dao_tries: u8,
    /// Who has asked for a DIO.
    dios: [Option<Peer>; 2],
    acks: [Option<Ack>; 4],
}

impl Replies {
    pub(super) fn push_ack(&mut self, ack: Ack) {
        if let Some(free) = self.acks.iter_mut().find(|place| place.is_none()) {
            *free = Some(ack);
        }
    }

    /// `link` is to get a DIO of its own.
    pub(super) fn answer_dis(&mut self, link: Peer) {
        let is_known = self.dios.contains(&Some(link));
        if let Some(free) = self.dios.iter_mut().find(|place| place.is_none())
            && !is_known
        {
            *free = Some(link);
        }
    }

    fn any(&self) -> bool {
        let acks = HAS_TARGETS && self.acks.iter().any(Option::is_some);
        acks || self.dis_due || self.dios.iter().any(Option::is_some)
    }

    fn take_ack(&mut self) -> Option<Ack> {
        self.acks.iter_mut().find_map(Option::take)
    }

    fn take_dio(&mut self) -> Option<Peer> {
        self.dios.iter_mut().find_map(Option::take)
    }
}

impl<P: Profile> Rpl<P> {
    pub(super) fn has_message_due(&self) -> bool {
        self.root.asks() || self.dio_due || self.shared.probes.is_due() || self.replies.any()
    }

    /// Writes the next message that is due to `out`, behind type, code and checksum.
    #[inline(never)] // size
    pub(crate) fn poll_message(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        if core::mem::take(&mut self.replies.dis_due) {
            return self.dis(ALL_NODES, out);
        }
        if let Some(probed) = self.shared.probes.take() {
            return self.dis(probed.link_local(), out);
        }
        let dodag = self.dodag?;
        // Only a root or a router in storing mode acknowledges DAOs.
        if HAS_TARGETS && let Some(ack) = self.replies.take_ack() {
            return self.dao_ack(&dodag, &ack, out);
        }
        if let Some(asker) = self.replies.take_dio() {
            let dst = asker.link_local();
            return self.dio(now, identity, &dodag, dst, out);
        }
        if core::mem::take(&mut self.dio_due) {
            return self.dio(now, identity, &dodag, ALL_NODES, out);
        }
        if STORES && let Some(no_path) = self.daos.no_path.filter(|it| it.at <= now) {
            return self.no_path(now, identity, &dodag, no_path, table, out);
        }
        if self.daos.is_due(now) && self.is_joined() && !self.is_root() {
            return self.dao(now, identity, &dodag, table, out);
        }
        None
    }

    fn dis(&mut self, dst: Addr, out: &mut Cursor<'_>) -> Option<Envelope> {
        count(&mut self.shared.counters.diss_sent);
        let options = Options::default();
        Message::Dis { options }.emit(out).ok()?;
        let code = code::DIS;
        Some(Envelope { code, dst })
    }

    fn dao_ack(&mut self, dodag: &DodagOf<P>, ack: &Ack, out: &mut Cursor<'_>) -> Option<Envelope> {
        count(&mut self.shared.counters.dao_acks_sent);
        let message = DaoAck {
            instance: dodag.instance,
            sequence: ack.sequence,
            status: ack.status,
            dodag: None,
        };
        message.emit(out).ok()?;
        let (code, dst) = (code::DAO_ACK, ack.to);
        Some(Envelope { code, dst })
    }

    fn dio(
        &mut self,
        now: Instant,
        identity: &Identity,
        dodag: &DodagOf<P>,
        dst: Addr,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let rank = self.advertised_rank();
        count(&mut self.shared.counters.dios_sent);
        if dst.is_multicast() {
            self.advertised = self.rank;
            if self.shared.config.dtsn_each_dio {
                self.dtsn = self.dtsn.next();
            }
        }
        let message = Dio {
            instance: dodag.instance,
            version: dodag.version,
            rank,
            grounded: dodag.grounded,
            mode: dodag.mode,
            preference: dodag.preference,
            dtsn: self.dtsn,
            dodag: dodag.id,
            // They follow.
            options: Options::default(),
        };
        message.emit(out).ok()?;
        dodag.configuration.emit(out).ok()?;
        let prefix = PrefixInformation {
            len: 64,
            autonomous: true,
            // §9.4: the whole address, for transit information.
            router_address: true,
            prefix: identity.address,
            lifetime_s: u32::MAX,
        };
        prefix.emit(out).ok()?;
        let is_leaf = self.is_leaf();
        if self.is_overloaded(now) && !is_leaf {
            let state = RplOption::NodeState { overloaded: true };
            state.emit(out).ok()?;
        }
        let code = code::DIO;
        Some(Envelope { code, dst })
    }

    /// §6.4.3: neither this node nor who is behind it can be reached through the former
    /// parent.
    fn no_path(
        &mut self,
        now: Instant,
        identity: &Identity,
        dodag: &DodagOf<P>,
        no_path: NoPath,
        table: &Table<P::Memory>,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        self.begin_dao(dodag, false, out)?;
        let most = self.targets_max();
        let own = (identity.address, self.daos.path_sequence);
        let others = table
            .downwards()
            .filter(|(_, downward)| !downward.is_gone() && downward.left_s(now) != Some(0))
            .map(|(to, downward)| (*to, downward.sequence));
        let mut all = core::iter::once(own).chain(others).skip(no_path.told);
        for (to, sequence) in all.by_ref().take(most) {
            let gone = transit(sequence, 0);
            target(out, to, &gone)?;
        }
        let told = no_path.told.saturating_add(most);
        self.daos.no_path = all.next().map(|_| NoPath { told, ..no_path });
        count(&mut self.shared.counters.daos_sent);
        let (code, dst) = (code::DAO, no_path.parent.link_local());
        Some(Envelope { code, dst })
    }

    fn dao(
        &mut self,
        now: Instant,
        identity: &Identity,
        dodag: &DodagOf<P>,
        table: &mut Table<P::Memory>,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let parent = self.parent?;
        let storing = dodag.is_storing();
        let has_own = matches!(self.daos.own, News::Fresh);
        let has_others = table.downwards().any(|(_, it)| is_news(it));
        if !has_own && !has_others {
            self.daos.due = None;
            return None;
        }
        let acknowledged = self.shared.config.dao_ack;
        self.begin_dao(dodag, acknowledged, out)?;
        let mut left = match storing {
            true => self.targets_max(),
            false => self.targets_max().min(TARGETS_OF_PARENTS),
        };
        if has_own {
            self.daos.own = if acknowledged { News::Told } else { News::Old };
            let lifetime = dodag.configuration.lifetime.max(1);
            let own = Transit {
                parent: (!storing).then(|| parent.within(&dodag.prefix)),
                ..transit(self.daos.path_sequence, lifetime)
            };
            target(out, identity.address, &own)?;
            left = left.saturating_sub(1);
        }
        // RFC 9010 §9.2.2: in non-storing mode this router is the parent of its hosts.
        let router = (!storing).then_some(identity.address);
        let more = self.tell_targets(now, table, (left, router), out)?;
        self.on_dao_sent(now, has_own, more);
        let dst = match storing {
            true => parent.link_local(),
            false => dodag.id,
        };
        let code = code::DAO;
        Some(Envelope { code, dst })
    }

    /// Writes a DAO, behind which follow its targets.
    fn begin_dao(
        &mut self,
        dodag: &DodagOf<P>,
        acknowledge: bool,
        out: &mut Cursor<'_>,
    ) -> Option<()> {
        // §6.4.1: a number for each DAO that is another one. What comes late acknowledges
        // the one that was repeated, too.
        if dodag.is_storing() || !self.daos.repeats {
            self.daos.sequence = self.daos.sequence.wrapping_add(1);
        }
        let message = Dao {
            instance: dodag.instance,
            acknowledge,
            sequence: self.daos.sequence,
            dodag: None,
            options: Options::default(),
        };
        message.emit(out).ok()
    }

    /// How many targets a DAO of this node's has at most.
    fn targets_max(&self) -> usize {
        usize::from(self.shared.config.dao_targets).clamp(1, usize::from(TARGETS_MAX))
    }

    /// Appends the targets of which there is news, as many as are `left`; whether there
    /// are more.
    fn tell_targets(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        (mut left, parent): (usize, Option<Addr>),
        out: &mut Cursor<'_>,
    ) -> Option<bool> {
        let told = match self.shared.config.dao_ack {
            true => News::Told,
            false => News::Old,
        };
        let mut more = false;
        let mut fits = Some(());
        let rpl = &*self;
        table.each_downward(|to, downward| {
            if !is_news(downward) || fits.is_none() {
                return;
            }
            if left == 0 {
                more = true;
                return;
            }
            left = left.saturating_sub(1);
            let lifetime = match (downward.is_gone(), downward.is_proven()) {
                (true, _) => 0,
                (false, true) => rpl.units(now, downward),
                // The parent hears of the target again when it is proven.
                (false, false) => BRIEF,
            };
            let told_of = Transit {
                external: downward.target != Target::Member,
                parent,
                ..transit(downward.sequence, lifetime)
            };
            fits = target(out, *to, &told_of);
            downward.news = match downward.is_gone() {
                true => News::GoneTold,
                false => told,
            };
        });
        fits.map(|()| more)
    }
}

/// Writes a target and its transit information.
fn target(out: &mut Cursor<'_>, to: Addr, transit: &Transit) -> Option<()> {
    let target = TargetOption {
        prefix: to,
        len: 128,
    };
    target.emit(out).ok()?;
    transit.emit(out).ok()
}

/// The transit information of a node of the DODAG.
fn transit(sequence: Sequence, lifetime: u8) -> Transit {
    Transit {
        external: false,
        control: 0,
        sequence,
        lifetime,
        parent: None,
    }
}
