//! Inquiries of a root in non-storing mode (ADR 38). No frame of the root shows whether a target
//! behind a router exists, so the root sends an echo request (RFC 4443 §4.1) along the path that a
//! DAO claims. The answer confirms the target; an error of the target's parent removes it.

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_wire::rpl::Transit;

use crate::net::routing::routes::{DownwardRoute, Target};
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::{DodagOf, Peer, Rpl, Table, UnackedHop, has_come};
use crate::profile::Profile;

/// The time for which the root waits for an answer.
const ANSWER: Duration = Duration::from_secs(3);
/// The time from an answer, or an error, to the next inquiry.
const PAUSE: Duration = Duration::from_secs(1);
/// The time from a DAO to the first inquiry: the DAO of the target's parent may follow.
const BEGIN: Duration = Duration::from_secs(2);

/// The contents of a DAO about one target.
#[derive(Clone, Copy, Debug)]
struct Claim {
    to: Addr,
    /// Its parent.
    link: Peer,
    transit: Transit,
}

/// An echo request that is due or on its way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    claim: Claim,
    /// Whether the table has another route to the target, or none.
    is_new: bool,
    /// Identifier and sequence number.
    number: (u16, u16),
    is_due: bool,
}

/// The inquiries of a root. There is one at a time.
#[derive(Debug, Default)]
pub(in crate::net::routing::rpl) struct Inquiries {
    /// A claim that changes the table when its target answers.
    claim: Option<Claim>,
    asked: Option<Asked>,
    /// The packet that is about to leave is the echo request.
    is_leaving: bool,
    /// A claim had the last turn.
    had_claim: bool,
    /// The target of the table that was asked last.
    last: Addr,
    /// The end of the inquiry, or the beginning of the next one.
    pub(in crate::net::routing::rpl) at: Option<Instant>,
    /// The claim that has just been answered.
    confirmed: Option<(Addr, Peer)>,
}

impl Inquiries {
    /// Parent of `dst` and whether it is an external target, if the packet that is about to leave
    /// for `dst` is the echo request.
    pub(in crate::net::routing::rpl) fn leaving(&self, dst: &Addr) -> Option<(Peer, bool)> {
        let asked = self.asked.as_ref().filter(|_| self.is_leaving)?;
        let claim = &asked.claim;
        (claim.to == *dst).then_some((claim.link, claim.transit.external))
    }

    pub(in crate::net::routing::rpl) fn is_due(&self) -> bool {
        self.asked.is_some_and(|asked| asked.is_due)
    }

    pub(in crate::net::routing::rpl) fn is_confirmed(&self, to: &Addr, link: Peer) -> bool {
        self.confirmed == Some((*to, link))
    }

    /// A target of the table has yet to answer.
    pub(in crate::net::routing::rpl) fn schedule(&mut self, now: Instant) {
        self.at.get_or_insert(now + BEGIN);
    }

    /// Asks for this target before its DAO changes the table.
    pub(in crate::net::routing::rpl) fn offer(
        &mut self,
        now: Instant,
        (to, link): (Addr, Peer),
        transit: &Transit,
    ) {
        let transit = *transit;
        self.claim.get_or_insert(Claim { to, link, transit });
        self.at.get_or_insert(now);
    }

    /// The inquiry about `to` behind `link` is over.
    fn end(&mut self, now: Instant, to: &Addr, link: Peer) -> Option<Asked> {
        let is_it = |it: &Asked| it.claim.to == *to && it.claim.link == link;
        let asked = self.asked.filter(is_it)?;
        self.asked = None;
        self.at = Some(now + PAUSE);
        Some(asked)
    }

    fn begin(&mut self, now: Instant, claim: Claim, is_new: bool, rng: &mut Rng) {
        self.asked = Some(Asked {
            claim,
            is_new,
            number: (rng.next_u32() as u16, rng.next_u32() as u16),
            is_due: true,
        });
        self.had_claim = is_new;
        self.at = Some(now + ANSWER);
    }
}

impl<P: Profile> Rpl<P> {
    /// Whether an answer could still change what is known of the target `to`.
    fn is_open(&self, dodag: &DodagOf<P>, to: &Addr, route: &DownwardRoute) -> bool {
        let is_behind = dodag.first_hop(self.own, to, route.link).is_none();
        let is_asked = !route.hop.is_silent() || route.hop.is_proven();
        let is_open = is_behind && is_asked || route.hop.is_proven();
        is_open && !route.hop.answers() && !route.is_host() && !route.is_gone()
    }

    /// The target of the table that is asked next, in the order of addresses; and whether others
    /// are to be asked when there are paths to them.
    fn next_open(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        dodag: &DodagOf<P>,
    ) -> (Option<Claim>, bool) {
        let mut any = false;
        let mut first = None;
        let mut next = None;
        for (to, route) in table.downwards() {
            if !self.is_open(dodag, to, route) {
                continue;
            }
            any = true;
            let is_next = next.is_none() && *to > self.root.inquiries.last;
            if (is_next || first.is_none()) && self.path(now, table, dodag, to).is_some() {
                let transit = Transit {
                    external: route.target == Target::External,
                    control: 0,
                    sequence: route.sequence,
                    lifetime: 0,
                    parent: None,
                };
                let (to, link) = (*to, route.link);
                let claim = Some(Claim { to, link, transit });
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
        now: Instant,
        table: &mut Table<P::Memory>,
    ) {
        if !has_come(&self.root.inquiries.at, now) {
            return;
        }
        self.root.inquiries.at = None;
        let asked = self.root.inquiries.asked.take().filter(|it| !it.is_new);
        if let Some(Claim { to, link, .. }) = asked.map(|it| it.claim) {
            let known = table.downward_mut(&to).filter(|it| it.link == link);
            // A host that sleeps may answer late; its router tells of it, or returns an error.
            let is_lost = known.is_some_and(|it| {
                let is_kept = it.target == Target::External && !it.hop.is_proven();
                it.hop.on_unanswered() && !is_kept
            });
            if is_lost {
                count(&mut self.shared.counters.routes_unacked);
                table.forget_downward(&to);
            }
        }
        let Some(dodag) = self.dodag.filter(|it| self.is_root() && !it.is_storing()) else {
            return;
        };
        let (open, any) = self.next_open(now, table, &dodag);
        let inquiries = &mut self.root.inquiries;
        let is_turn = !inquiries.had_claim || open.is_none();
        if let Some(claim) = inquiries.claim.take_if(|_| is_turn) {
            inquiries.begin(now, claim, true, &mut self.shared.rng);
        } else if let Some(claim) = open {
            inquiries.last = claim.to;
            inquiries.begin(now, claim, false, &mut self.shared.rng);
        } else if any {
            inquiries.at = Some(now + ANSWER);
        }
    }

    /// Destination, identifier and sequence number of the echo request that is due. It leaves by
    /// the path of the claim until [`Self::on_inquiry`].
    pub(in crate::net::routing::rpl) fn poll_inquiry(&mut self) -> Option<(Addr, u16, u16)> {
        let asked = self.root.inquiries.asked.as_mut().filter(|it| it.is_due)?;
        asked.is_due = false;
        self.root.inquiries.is_leaving = true;
        let (ident, seq) = asked.number;
        Some((asked.claim.to, ident, seq))
    }

    /// A message has left, or there was no room or no path for it. It may be the echo request.
    pub(in crate::net::routing::rpl) fn on_inquiry(&mut self, has_left: bool) {
        let is_inquiry = core::mem::take(&mut self.root.inquiries.is_leaving);
        if is_inquiry && !has_left {
            self.root.inquiries.asked = None;
        }
    }

    /// Takes an echo reply of `src`. Returns whether it answers an inquiry.
    pub(in crate::net::routing::rpl) fn on_answer(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        src: &Addr,
        number: (u16, u16),
    ) -> bool {
        let is_it = |it: &Asked| it.claim.to == *src && it.number == number && !it.is_due;
        let Some(asked) = self.root.inquiries.asked.filter(is_it) else {
            return false;
        };
        let Claim { to, link, transit } = asked.claim;
        self.root.inquiries.end(now, &to, link);
        if asked.is_new
            && let Some(dodag) = self.dodag
        {
            self.root.inquiries.confirmed = Some((to, link));
            self.take_target(now, table, &dodag, (to, link), &transit);
            self.root.inquiries.confirmed = None;
        } else if let Some(known) = table.downward_mut(&to).filter(|it| it.link == link) {
            known.hop = UnackedHop::PROVEN;
        }
        true
    }

    /// An error says that `link` does not reach its child `to`.
    pub(in crate::net::routing::rpl) fn on_unreached(
        &mut self,
        now: Instant,
        to: &Addr,
        link: Peer,
    ) {
        self.root.inquiries.end(now, to, link);
    }
}
