//! What data packets say of their way, and what it tells (RFC 6550 §11.2, RFC 6553,
//! RFC 6554).

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;
use redpoll_wire::rpl::{PacketInformation, config_flag};

use super::config::count;
use super::{Path, Peer, Rpl, Table};
use crate::counters::DropReason;
use crate::net::routing::routes::Target;
use crate::profile::Profile;
use crate::rules::RplRules;

/// MAX_RPL_OPTION_RANK_ERRORS and MAX_RPL_OPTION_FORWARD_ERRORS (RFC 6553 §5): so many
/// in an hour have an effect.
const ERRORS_MAX: u8 = 20;
const HOUR: Duration = Duration::from_secs(3600);
/// A root asks for DAOs again no sooner; then twice as long passes, up to an hour.
const TRIGGER_PAUSE: Duration = Duration::from_secs(15);
/// A version that the parent does not have is taken after so long, and no other one for
/// the longer time: what somebody invents costs a node little.
const VERSION_DELAY: Duration = Duration::from_secs(10);
const VERSION_PAUSE: Duration = Duration::from_secs(300);

/// What others can make this node do is limited.
#[derive(Debug, Default)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(super) struct Limits {
    rank_errors: u8,
    forwarding_errors: u8,
    /// The end of the hour in which is counted.
    until: Instant,
    /// When a root asks for DAOs again, and how long it waits then.
    trigger: (Option<Instant>, Duration),
    /// When a version was heard first of a neighbour that is not the parent, and until when
    /// none is taken from such.
    heard: Option<Instant>,
    taken_until: Instant,
    /// When a root takes another version from others again.
    pub(super) version_at: Instant,
}

impl Limits {
    fn begin_hour(&mut self, now: Instant) {
        if self.until <= now {
            self.until = now + HOUR;
            self.rank_errors = 0;
            self.forwarding_errors = 0;
        }
    }

    /// Whether one more rank error has an effect.
    fn admit_rank_error(&mut self, now: Instant) -> bool {
        self.begin_hour(now);
        admit(&mut self.rank_errors)
    }

    /// Whether the version that somebody else than the parent has is taken: if the parent
    /// has had time to hear of it and has not.
    pub(super) fn admit_version(&mut self, now: Instant) -> bool {
        let heard = *self.heard.get_or_insert(now);
        let is_admitted = now >= heard + VERSION_DELAY && self.taken_until <= now;
        if is_admitted {
            self.taken_until = now + VERSION_PAUSE;
        }
        is_admitted
    }

    /// A version was joined.
    pub(super) fn version_joined(&mut self) {
        self.heard = None;
    }

    /// Whether a root may ask for DAOs.
    pub(super) fn admit_trigger(&mut self, now: Instant) -> bool {
        let (at, pause) = self.trigger;
        if at.is_some_and(|at| now < at) {
            return false;
        }
        // After an hour without need it is as at the beginning.
        let is_rare = at.is_none_or(|at| now >= at + HOUR);
        let next = match is_rare {
            true => TRIGGER_PAUSE,
            false => pause.times(2).min(HOUR),
        };
        self.trigger = (Some(now + next), next);
        true
    }

    /// Whether one more packet that came back removes a route.
    pub(super) fn admit_forwarding_error(&mut self, now: Instant) -> bool {
        self.begin_hour(now);
        admit(&mut self.forwarding_errors)
    }
}

fn admit(errors: &mut u8) -> bool {
    let is_admitted = *errors < ERRORS_MAX;
    *errors = errors.saturating_add(u8::from(is_admitted));
    is_admitted
}

/// What becomes of a packet that is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// It goes on.
    On,
    /// It goes back to the neighbour that has sent it, which knows no better.
    Back,
    /// It came back, and goes further back: to the parent.
    Up(Address),
}

/// What a packet that leaves by the radio is to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::large_enum_variant, reason = "a path exists only for one call")]
pub(super) enum Dress {
    /// Nothing: it stays on the link.
    Nothing,
    /// Nothing of RPL: who gets it does not know it.
    Bare,
    /// This information, in place of what it has if it has any.
    Information(PacketInformation),
    /// A source route to this place, which a root makes.
    #[allow(dead_code, reason = "a root makes it")]
    Route(Path),
}

impl<P: Profile> Rpl<P> {
    /// A rank as packet information has it.
    fn sender_rank(&self, rank: u16) -> u16 {
        match self.shared.rules.sends_plain_rank() {
            true => rank,
            false => self.dag_rank(rank),
        }
    }

    /// The rank by which children have theirs: what has been added to it since the last
    /// DIO they do not know of. Between them and this node it is the one that counts.
    fn rank_to_children(&self) -> u16 {
        self.rank.min(self.advertised)
    }

    /// What a packet to `dst` that leaves by the radio is to have, if it has `present`.
    pub(super) fn dress(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        dst: &Addr,
        present: Option<PacketInformation>,
    ) -> Dress {
        let Some(dodag) = &self.dodag else {
            return Dress::Nothing;
        };
        if dst.is_multicast() || addr::is_link_local(dst) {
            return Dress::Nothing;
        }
        let storing = dodag.is_storing();
        if self.is_root() && !storing {
            match self.path(now, table, dodag, dst) {
                Some(path) if path.stops() > 0 => return Dress::Route(path),
                _ => {}
            }
        }
        // RFC 9008 §7: who does not know RPL gets nothing of it, and nothing is put before a
        // packet of which nobody would take it away.
        match table.downward(now, dst).map(|known| known.target) {
            Some(Target::Host) => return Dress::Bare,
            Some(Target::External) if present.is_none() => return Dress::Nothing,
            _ => {}
        }
        let down = self.is_root() || storing && table.lookup_host(now, dst).is_some();
        let rank = match down {
            true => self.rank_to_children(),
            false => self.rank,
        };
        let flags = dodag.configuration.flags;
        let fresh = PacketInformation {
            instance: dodag.instance,
            ignorable: flags & config_flag::RPI_0X23 != 0,
            ..PacketInformation::default()
        };
        Dress::Information(PacketInformation {
            down,
            // §11.2: zero at the source, unless it is a router of the DODAG.
            sender_rank: self.sender_rank(rank),
            ..present.unwrap_or(fresh)
        })
    }

    /// A packet from the neighbour `from` is to be passed on: whether it makes progress
    /// (§11.2.2). `information` is what it says, and says then.
    pub(crate) fn on_passing(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        dst: &Addr,
        from: Peer,
        information: &mut PacketInformation,
    ) -> Result<Passage, DropReason> {
        let joined = self.is_joined();
        let Some(dodag) = self.dodag.as_ref().filter(|_| joined) else {
            return Ok(Passage::On);
        };
        let is_from_root = dodag.is_rooted_at(from);
        let storing = dodag.is_storing();
        // §11.2.2.1.
        if information.instance != dodag.instance {
            count(&mut self.shared.counters.foreign);
            return Err(DropReason::NoRoute);
        }
        // §11.2.2.3: it was given back. The route by which it went is wrong.
        if core::mem::take(&mut information.forwarding_error) {
            count(&mut self.shared.counters.returned);
            let is_behind = table.downward(now, dst).is_some_and(|it| it.link == from);
            if is_behind && self.limits.admit_forwarding_error(now) {
                table.forget_downward(dst);
                // Its children tell anew whom they reach.
                self.dtsn = self.dtsn.next();
                self.reset_trickle(now);
            } else if is_behind {
                return Err(DropReason::NoRoute);
            }
            let is_known = table.lookup_host(now, dst).is_some();
            return Ok(match self.parent.filter(|_| !is_known) {
                Some(parent) => {
                    information.forwarding_error = true;
                    Passage::Up(parent.link())
                }
                None => Passage::On,
            });
        }
        // §11.2.2.2. Zero is a source's.
        let theirs = information.sender_rank;
        let contradicts = |ours| match information.down {
            true => theirs > ours,
            false => theirs < ours && theirs != 0,
        };
        if contradicts(self.sender_rank(self.rank)) {
            count(&mut self.shared.counters.rank_errors);
            if self.limits.admit_rank_error(now) {
                self.reset_trickle(now);
            }
            // Children that have not heard yet how the rank has changed are no loop.
            let was_told = contradicts(self.sender_rank(self.rank_to_children()));
            if core::mem::replace(&mut information.rank_error, true) && was_told {
                return Err(DropReason::RankError);
            }
        }
        let is_from_parent = self.parent == Some(from) && !is_from_root;
        if !information.down && is_from_parent && self.limits.admit_rank_error(now) {
            self.on_loop(now, table, from);
        }
        let is_lost =
            information.down && storing && !self.is_root() && table.lookup_host(now, dst).is_none();
        if is_lost {
            count(&mut self.shared.counters.forwarding_errors);
            information.forwarding_error = true;
            return Ok(Passage::Back);
        }
        Ok(Passage::On)
    }
}
