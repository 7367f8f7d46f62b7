//! DAOs that are received (RFC 6550 §9.7, §9.8).

use redpoll_wire::rpl::{Dao, status};

use super::messages::Ack;
use super::targets::{Taken, is_child};
use super::{Downward, Upward, is_due};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::rpl::DaoSender;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::jittered;
use crate::profile::Profile;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::net::routing::rpl) enum DaoOutcome {
    /// The targets of the DAO have been processed.
    Processed,
    /// The parent, which is not the root, has sent the DAO: it mistakes this node for its parent.
    Loop(Peer),
}

impl<P: Profile> Downward<P> {
    /// Processes a DAO: its targets are reachable through the sender (storing mode), or the DAO
    /// names the parent of the sender (non-storing mode).
    pub(in crate::net::routing::rpl) fn on_dao(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
        sender: DaoSender,
        dao: &Dao<'_>,
    ) -> Result<DaoOutcome, DropReason> {
        let is_of = |id| dao.dodag.is_none_or(|dodag| dodag == id);
        let dodag = upward.joined();
        let Some(dodag) = dodag.filter(|it| it.instance == dao.instance && is_of(it.id)) else {
            count(&mut cx.shared.counters.foreign);
            return Ok(DaoOutcome::Processed);
        };
        let DaoSender { src, near } = sender;
        let hop = match (dodag.is_storing(), near) {
            (true, Some(link)) if Some(link) == upward.parent() => {
                return match dodag.is_rooted_at(link) {
                    true => Err(DropReason::BadSource),
                    false => Ok(DaoOutcome::Loop(link)),
                };
            }
            // RFC 6550 §9.1 (4): a DAO to a router has link-local addresses.
            (true, Some(link)) if !upward.is_leaf() => Some(link),
            // RFC 6550 §9.1 (5), (6): a DAO to the root comes from a routable address.
            (false, _) if upward.is_root() && dodag.holds(&src) => None,
            _ => return Err(DropReason::BadSource),
        };
        let advertiser = DaoSender { src, near: hop };
        let taken = self.take_targets(cx, upward, identity, advertiser, dao)?;
        // The neighbour that gets the answer. If nothing proves that it exists, `may_try`
        // limits frames to it.
        let hop = match dodag.is_storing() {
            true => near,
            false => Peer::at(&src).filter(|_| is_child(upward, dodag, dao)),
        };
        let now = cx.now;
        let answers = match taken {
            Taken::All => dao.acknowledge,
            Taken::Full if hop.is_some_and(|it| self.answers(cx.table, upward, dodag, it)) => true,
            Taken::Full if hop.is_none() => true,
            Taken::Full => cx.shared.probes.may_try(now, hop),
            // The sender is not a neighbour, so `may_try` does not limit the answer.
            Taken::Unproven if hop.is_none() => dao.acknowledge,
            Taken::Unproven | Taken::Later => {
                let may_try = cx.shared.probes.may_try(now, hop);
                let is_answer = taken == Taken::Unproven && dao.acknowledge;
                if may_try && !is_answer {
                    cx.shared.probes.schedule(hop);
                }
                may_try && is_answer
            }
        };
        if answers {
            let status = match taken {
                Taken::Full => status::REJECTED,
                _ => status::ACCEPTED,
            };
            self.push_ack(Ack {
                to: src,
                sequence: dao.sequence,
                status,
            });
        }
        let tells = dodag.is_storing() && !upward.is_root();
        if tells && cx.table.downwards().any(|(_, it)| is_due(it)) {
            let delay = jittered(cx.shared.config.dao_delay, &mut cx.shared.rng);
            self.daos.due.get_or_insert(now + delay);
        }
        Ok(DaoOutcome::Processed)
    }
}
