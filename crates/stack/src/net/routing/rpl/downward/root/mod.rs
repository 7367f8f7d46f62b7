//! Downward routes of a root in non-storing mode: source routes and inquiries.

mod inquiry;
mod path;

use redpoll_base::{Addr, Instant};

use super::targets::brief_s;
use super::{Downward, UnackedHop, Upward};
use crate::net::routing::routes::DownwardRoute;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::upward::DodagOf;
use crate::profile::Profile;

pub(super) use inquiry::Inquiries;
pub(in crate::net::routing::rpl) use path::Path;

/// The longest source routing header in bytes: it has 64 stops whose addresses take two bytes
/// each, or eight whole addresses.
pub(in crate::net::routing::rpl) const ROUTE_MAX: usize = 136;

impl<P: Profile> Downward<P> {
    /// Limits the lifetime of a route in non-storing mode. If the root has no path to the parent of
    /// an unproven target, the target lasts one lifetime unit at most. That is enough: no DAO-ACK
    /// reaches the DAO's sender, which therefore repeats the DAO. A DAO does not shorten the route
    /// of a target that has answered.
    pub(super) fn limit(
        &self,
        cx: &Context<'_, P>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
        to: &Addr,
        known: Option<DownwardRoute>,
        downward: &mut DownwardRoute,
    ) {
        let is_behind = dodag.first_hop(upward.own(), to, downward.link).is_none();
        let parent = downward.link.within(&dodag.prefix);
        if let Some(known) = known.filter(|known| known.hop.is_proven() && !known.is_gone()) {
            downward.lengthen(&known);
            if !known.hop.answers() {
                // A new DAO resets the number of unanswered inquiries to one, because the target
                // still has to answer.
                downward.hop = UnackedHop::PROVEN;
                downward.hop.on_unanswered();
            }
        } else if is_behind
            && !downward.hop.is_proven()
            && self
                .path(cx.now, cx.table, upward, dodag, &parent)
                .is_none()
        {
            downward.shorten(cx.now, brief_s(dodag));
        }
    }

    /// Processes a No-Path for the target `known` in non-storing mode. Returns whether the root
    /// asks the target, which has answered before, instead of removing it.
    pub(super) fn doubts(&mut self, now: Instant, known: &mut DownwardRoute) -> bool {
        if !known.hop.is_proven() || known.is_gone() {
            return false;
        }
        if known.hop.answers() {
            known.hop.on_unanswered();
        }
        self.inquiries.schedule(now);
        true
    }
}
