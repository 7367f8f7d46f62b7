//! Inquiries of a root in non-storing mode (ADR 38). No frame of the root shows whether a target
//! behind a router exists. So the root sends an echo request (RFC 4443 §4.1) along the path of a
//! claim: the target and parent in a DAO. The answer confirms the claim. An error of the target's
//! parent removes a target that has never answered.

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_wire::rpl::Transit;

use crate::net::routing::Peer;
use crate::net::routing::protocol::EchoId;
use crate::net::routing::routes::{DownwardRoute, Target};
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::downward::targets::AdvertisedTarget;
use crate::net::routing::rpl::downward::{Downward, UnackedHop};
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::{earlier, has_come};
use crate::net::routing::rpl::upward::{Dodag, DodagOf, Upward};
use crate::profile::Profile;

/// The time for which the root waits for an answer.
const ANSWER: Duration = Duration::from_secs(3);
/// The time from an answer, or an error, to the next inquiry.
const PAUSE: Duration = Duration::from_secs(1);
/// The time from a DAO to the first inquiry: the DAO of the target's parent may follow.
const BEGIN: Duration = Duration::from_secs(2);

/// An echo request that is due or on its way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    claim: AdvertisedTarget,
    /// Whether the route of the claim is not in the table yet.
    is_new: bool,
    echo: EchoId,
    is_due: bool,
}

/// The inquiries of a root. There is one at a time.
#[derive(Debug, Default)]
pub(in crate::net::routing::rpl::downward) struct Inquiries {
    /// The next claim to inquire about; its route enters the table when the target answers.
    claim: Option<AdvertisedTarget>,
    asked: Option<Asked>,
    /// Whether the packet that is about to leave is the echo request.
    is_leaving: bool,
    /// Whether the last inquiry was about a claim that was not in the table.
    had_claim: bool,
    /// The target in the table to which the root sent an echo request last.
    last: Addr,
    /// The time at which the inquiry ends or, if there is none, the next inquiry begins.
    at: Option<Instant>,
    /// The claim that has just been answered.
    confirmed: Option<(Addr, Peer)>,
}

impl Inquiries {
    /// Returns the parent of `dst` and whether `dst` is an external target, if the packet that is
    /// about to leave for `dst` is the echo request.
    pub(in crate::net::routing::rpl::downward) fn leaving(
        &self,
        dst: &Addr,
    ) -> Option<(Peer, bool)> {
        let asked = self.asked.as_ref().filter(|_| self.is_leaving)?;
        let claim = &asked.claim;
        (claim.to == *dst).then_some((claim.link, claim.transit.external))
    }

    pub(in crate::net::routing::rpl::downward) fn earlier(&self, at: Instant) -> Instant {
        earlier(at, &self.at)
    }

    pub(in crate::net::routing::rpl::downward) fn is_due(&self) -> bool {
        self.asked.is_some_and(|asked| asked.is_due)
    }

    pub(in crate::net::routing::rpl::downward) fn is_confirmed(
        &self,
        to: &Addr,
        link: Peer,
    ) -> bool {
        self.confirmed == Some((*to, link))
    }

    /// Schedules an inquiry, because a target in the table has not answered yet or must answer
    /// again. Does nothing if a time is already set.
    pub(in crate::net::routing::rpl::downward) fn schedule(&mut self, now: Instant) {
        self.at.get_or_insert(now + BEGIN);
    }

    /// Schedules an inquiry about a target whose DAO has not changed the table, unless the root
    /// already has another such claim to inquire about.
    pub(in crate::net::routing::rpl::downward) fn offer(
        &mut self,
        now: Instant,
        target: &AdvertisedTarget,
    ) {
        self.claim.get_or_insert(*target);
        self.at.get_or_insert(now);
    }

    /// Ends the inquiry about `to` behind `link`, if it is the present one, and returns it.
    fn end(&mut self, now: Instant, to: &Addr, link: Peer) -> Option<Asked> {
        let is_it = |it: &Asked| it.claim.to == *to && it.claim.link == link;
        let asked = self.asked.filter(is_it)?;
        self.asked = None;
        self.at = Some(now + PAUSE);
        Some(asked)
    }

    fn begin(&mut self, now: Instant, claim: AdvertisedTarget, is_new: bool, rng: &mut Rng) {
        self.asked = Some(Asked {
            claim,
            is_new,
            echo: EchoId {
                ident: rng.next_u32() as u16,
                seq: rng.next_u32() as u16,
            },
            is_due: true,
        });
        self.had_claim = is_new;
        self.at = Some(now + ANSWER);
    }
}

impl<P: Profile> Downward<P> {
    /// Returns the next target to ask, in the order of addresses, if there is a path to one; and
    /// whether any target in the table has yet to answer, even one without a path.
    fn next_open(
        &self,
        cx: &Context<'_, P>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
    ) -> (Option<AdvertisedTarget>, bool) {
        let mut any = false;
        let mut first = None;
        let mut next = None;
        for (to, route) in cx.table.downwards() {
            if !is_open(dodag, upward.own(), to, route) {
                continue;
            }
            any = true;
            let is_next = next.is_none() && *to > self.inquiries.last;
            if (is_next || first.is_none())
                && self.path(cx.now, cx.table, upward, dodag, to).is_some()
            {
                let transit = Transit {
                    external: route.target == Target::External,
                    control: 0,
                    sequence: route.sequence,
                    lifetime: 0,
                    parent: None,
                };
                let (to, link) = (*to, route.link);
                let claim = Some(AdvertisedTarget { to, link, transit });
                first = first.or(claim);
                if is_next {
                    next = claim;
                    break;
                }
            }
        }
        (next.or(first), any)
    }

    /// Ends the inquiry that was not answered, and begins the next one.
    pub(in crate::net::routing::rpl) fn run_inquiries(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
    ) {
        let now = cx.now;
        if !has_come(&self.inquiries.at, now) {
            return;
        }
        self.inquiries.at = None;
        let asked = self.inquiries.asked.take().filter(|it| !it.is_new);
        if let Some(AdvertisedTarget { to, link, .. }) = asked.map(|it| it.claim) {
            let known = cx.table.downward_mut(&to).filter(|it| it.link == link);
            // A host that never answered stays: it may sleep. Its router can withdraw it.
            let is_lost = known.is_some_and(|it| {
                let is_kept = it.target == Target::External && !it.hop.is_proven();
                it.hop.on_unanswered() && !is_kept
            });
            if is_lost {
                count(&mut cx.shared.counters.routes_unacked);
                cx.table.forget_downward(&to);
            }
        }
        let Some(dodag) = upward.routed_by_source() else {
            return;
        };
        let (open, any) = self.next_open(cx, upward, dodag);
        let inquiries = &mut self.inquiries;
        let is_turn = !inquiries.had_claim || open.is_none();
        if let Some(claim) = inquiries.claim.take_if(|_| is_turn) {
            inquiries.begin(now, claim, true, &mut cx.shared.rng);
        } else if let Some(claim) = open {
            inquiries.last = claim.to;
            inquiries.begin(now, claim, false, &mut cx.shared.rng);
        } else if any {
            inquiries.at = Some(now + ANSWER);
        }
    }

    /// Returns destination and numbers of the echo request that is due. Until [`Self::on_inquiry`],
    /// packets to this destination take the path of the inquiry.
    pub(in crate::net::routing::rpl) fn poll_inquiry(&mut self) -> Option<(Addr, EchoId)> {
        let asked = self.inquiries.asked.as_mut().filter(|it| it.is_due)?;
        asked.is_due = false;
        self.inquiries.is_leaving = true;
        Some((asked.claim.to, asked.echo))
    }

    /// Records whether a message, perhaps the echo request, has left. An echo request that has not
    /// left ends the inquiry, and does not count as unanswered.
    pub(in crate::net::routing::rpl) fn on_inquiry(&mut self, has_left: bool) {
        let is_inquiry = core::mem::take(&mut self.inquiries.is_leaving);
        if is_inquiry && !has_left {
            self.inquiries.asked = None;
        }
    }

    /// Processes an echo reply of `src`. Returns whether it answers an inquiry.
    pub(in crate::net::routing::rpl) fn on_answer(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        src: &Addr,
        echo: EchoId,
    ) -> bool {
        let is_it = |it: &Asked| it.claim.to == *src && it.echo == echo && !it.is_due;
        let Some(asked) = self.inquiries.asked.filter(is_it) else {
            return false;
        };
        let AdvertisedTarget { to, link, .. } = asked.claim;
        self.inquiries.end(cx.now, &to, link);
        if asked.is_new
            && let Some(dodag) = upward.dodag()
        {
            self.inquiries.confirmed = Some((to, link));
            self.take_target(cx, upward, dodag, &asked.claim);
            self.inquiries.confirmed = None;
        } else if let Some(known) = cx.table.downward_mut(&to).filter(|it| it.link == link) {
            known.hop = UnackedHop::PROVEN;
        }
        true
    }

    /// Ends the inquiry for `to`: an error says that `link` does not reach this child.
    pub(super) fn on_unreached(&mut self, now: Instant, to: &Addr, link: Peer) {
        self.inquiries.end(now, to, link);
    }
}

/// Returns whether the root still asks the target `to`, because an answer would change the state of
/// its route.
fn is_open<O>(dodag: &Dodag<O>, own: Option<Peer>, to: &Addr, route: &DownwardRoute) -> bool {
    let is_behind = dodag.first_hop(own, to, route.link).is_none();
    let is_asked = !route.hop.is_silent() || route.hop.is_proven();
    let is_open = is_behind && is_asked || route.hop.is_proven();
    is_open && !route.hop.answers() && !route.is_host() && !route.is_gone()
}
