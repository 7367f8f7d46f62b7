//! DAOs, No-Paths and DAO-ACKs that are sent (RFC 6550 §6.4, §6.5).

use redpoll_base::Addr;
use redpoll_wire::Cursor;
use redpoll_wire::rpl::{Dao, DaoAck, Options, Sequence, TargetOption, Transit, code};

use super::advertise::{Left, NoPath, Written, units_left};
use super::targets::BRIEF;
use super::{Downward, STORES, Upward, is_due, is_renewal_due};
use crate::net::identity::Identity;
use crate::net::routing::routes::{Advertisement, HAS_TARGETS, Target};
use crate::net::routing::rpl::config::{TARGETS_MAX, count};
use crate::net::routing::rpl::shared::{Context, Shared};
use crate::net::routing::rpl::timing::jittered;
use crate::net::routing::rpl::upward::DodagOf;
use crate::net::routing::rpl::{Envelope, RplConfig};
use crate::profile::Profile;

/// Bytes of a DAO before its options.
const DAO_LEN: usize = 4;
/// Bytes of a target with transit information.
const TARGET_LEN: usize = 26;
/// Bytes of the longest DIO, with some to spare.
const DIO_MAX: usize = 128;
/// Bytes of the longest DAO.
const DAO_MAX: usize = DAO_LEN + TARGETS_MAX as usize * TARGET_LEN;

/// Bytes of the longest message of RPL.
pub(in crate::net::routing::rpl) const MESSAGE_MAX: usize =
    if DAO_MAX > DIO_MAX { DAO_MAX } else { DIO_MAX };

#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) to: Addr,
    pub(super) sequence: u8,
    pub(super) status: u8,
}

/// The transit information that targets of one DAO have in common.
#[derive(Clone, Copy, Debug)]
struct TargetGroup {
    /// Largest number of targets in the group.
    room: usize,
    /// The targets' parent, in non-storing mode.
    parent: Option<Addr>,
}

impl<P: Profile> Downward<P> {
    pub(super) fn push_ack(&mut self, ack: Ack) {
        if let Some(free) = self.acks.iter_mut().find(|place| place.is_none()) {
            *free = Some(ack);
        }
    }

    pub(super) fn has_ack_due(&self) -> bool {
        HAS_TARGETS && self.acks.iter().any(Option::is_some)
    }

    /// Writes into `out` the next message that is due.
    pub(in crate::net::routing::rpl) fn poll_message(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let dodag = upward.dodag()?;
        if STORES && let Some(no_path) = self.daos.no_path.filter(|it| it.at <= cx.now) {
            return self.no_path(cx, identity, dodag, no_path, out);
        }
        if self.daos.is_due(cx.now) && upward.is_joined() && !upward.is_root() {
            return self.dao(cx, upward, identity, out);
        }
        None
    }

    /// Writes the DAO-ACK that is due. Only a root, or a router in storing mode, acknowledges DAOs.
    pub(in crate::net::routing::rpl) fn poll_ack(
        &mut self,
        shared: &mut Shared<P>,
        dodag: &DodagOf<P>,
        out: &mut Cursor<'_>,
    ) -> Option<Option<Envelope>> {
        if !HAS_TARGETS {
            return None;
        }
        let ack = self.acks.iter_mut().find_map(Option::take)?;
        count(&mut shared.counters.dao_acks_sent);
        let message = DaoAck {
            instance: dodag.instance,
            sequence: ack.sequence,
            status: ack.status,
            dodag: None,
        };
        let (code, dst) = (code::DAO_ACK, ack.to);
        Some(message.emit(out).ok().map(|()| Envelope { code, dst }))
    }

    /// Writes No-Paths to the former parent, for this node and all targets behind it (RFC 6550
    /// §6.4.3).
    fn no_path(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &Identity,
        dodag: &DodagOf<P>,
        no_path: NoPath,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let most = targets_max(&cx.shared.config);
        let own = (identity.address, self.daos.path_sequence);
        let others = cx
            .table
            .downwards()
            .filter(|(_, downward)| !downward.is_gone() && downward.left_s(cx.now) != Some(0))
            .map(|(to, downward)| (*to, downward.sequence));
        let all = core::iter::once(own).chain(others);
        let mut all = all.skip(no_path.withdrawn).peekable();
        // Targets may have gone since the last No-Path. RFC 6550 §9.4 (1): a DAO has at least one
        // target.
        if all.peek().is_none() {
            self.daos.no_path = None;
            return None;
        }
        self.begin_dao(dodag, false, out)?;
        for (to, sequence) in all.by_ref().take(most) {
            let gone = transit(sequence, 0);
            target(out, to, &gone)?;
        }
        let at = cx.now + jittered(cx.shared.config.dao_delay, &mut cx.shared.rng);
        let withdrawn = no_path.withdrawn.saturating_add(most);
        self.daos.no_path = all.next().map(|_| NoPath {
            withdrawn,
            at,
            ..no_path
        });
        self.daos.written = Written::NoPath(NoPath { at, ..no_path });
        count(&mut cx.shared.counters.daos_sent);
        let (code, dst) = (code::DAO, no_path.parent.link_local());
        Some(Envelope { code, dst })
    }

    fn dao(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        let dodag = upward.dodag()?;
        let parent = upward.parent()?;
        let storing = dodag.is_storing();
        let has_own = matches!(self.daos.own, Advertisement::Due);
        let has_others = cx
            .table
            .downwards()
            .any(|(_, it)| is_due(it) || is_renewal_due(it));
        if !has_own && !has_others {
            self.daos.due = None;
            self.daos.renewal_due = None;
            return None;
        }
        let acknowledged = cx.shared.config.dao_ack;
        self.begin_dao(dodag, acknowledged, out)?;
        let most = targets_max(&cx.shared.config);
        let mut room = match storing {
            true => most,
            // A target whose transit information names its parent takes 42 bytes, not 26.
            false => (most.saturating_mul(5) >> 3).max(1),
        };
        if has_own {
            self.daos.own = Advertisement::Sent;
            let lifetime = dodag.configuration.lifetime.max(1);
            let own = Transit {
                parent: (!storing).then(|| parent.within(&dodag.prefix)),
                ..transit(self.daos.path_sequence, lifetime)
            };
            target(out, identity.address, &own)?;
            room = room.saturating_sub(1);
        }
        // RFC 9010 §9.2.2: in non-storing mode this router is the parent of its hosts.
        let parent_of_hosts = (!storing).then_some(identity.address);
        let group = TargetGroup {
            room,
            parent: parent_of_hosts,
        };
        let left = advertise_targets(cx, dodag.configuration.lifetime_unit_s, group, out)?;
        self.on_dao_sent(cx, upward, has_own, left);
        let dst = match storing {
            true => parent.link_local(),
            false => dodag.id,
        };
        let code = code::DAO;
        Some(Envelope { code, dst })
    }

    fn begin_dao(
        &mut self,
        dodag: &DodagOf<P>,
        acknowledge: bool,
        out: &mut Cursor<'_>,
    ) -> Option<()> {
        // RFC 6550 §6.4.1: DAOs with different contents have different numbers. A late
        // acknowledgement also acknowledges the repetition of its DAO.
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
}

/// Returns the largest number of targets in a DAO of this node.
fn targets_max(config: &RplConfig) -> usize {
    usize::from(config.dao_targets).clamp(1, usize::from(TARGETS_MAX))
}

/// Appends at most `group.room` of the targets that must be advertised to the parent. Targets that
/// are only renewed come last. `unit_s`: the lifetime unit in seconds.
fn advertise_targets<P: Profile>(
    cx: &mut Context<'_, P>,
    unit_s: u16,
    group: TargetGroup,
    out: &mut Cursor<'_>,
) -> Option<Left> {
    let TargetGroup { mut room, parent } = group;
    let mut left = Left::default();
    let mut fits = Some(());
    let now = cx.now;
    for renews in [false, true] {
        cx.table.each_downward(|to, downward| {
            let is_next = match renews {
                false => is_due(downward),
                true => is_renewal_due(downward),
            };
            if !is_next || fits.is_none() {
                return;
            }
            if room == 0 {
                match renews {
                    false => left.due = true,
                    true => left.renewals = true,
                }
                return;
            }
            room = room.saturating_sub(1);
            let lifetime = match (downward.is_gone(), downward.is_proven()) {
                (true, _) => 0,
                (false, true) => units_left(now, unit_s, downward),
                // A DAO with the full lifetime follows once the next hop is proven.
                (false, false) => BRIEF,
            };
            let advertised = Transit {
                external: downward.target != Target::Member,
                parent,
                ..transit(downward.sequence, lifetime)
            };
            fits = target(out, *to, &advertised);
            downward.advertisement = match downward.is_gone() {
                true => Advertisement::WithdrawalSent,
                false => Advertisement::Sent,
            };
        });
    }
    fits.map(|()| left)
}

fn target(out: &mut Cursor<'_>, to: Addr, transit: &Transit) -> Option<()> {
    let target = TargetOption {
        prefix: to,
        len: 128,
    };
    target.emit(out).ok()?;
    transit.emit(out).ok()
}

/// Returns the transit information of a node of the DODAG.
fn transit(sequence: Sequence, lifetime: u8) -> Transit {
    Transit {
        external: false,
        control: 0,
        sequence,
        lifetime,
        parent: None,
    }
}
