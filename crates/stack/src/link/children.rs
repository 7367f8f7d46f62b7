//! The sleeping neighbours: nodes that are registered with this router and have polled it. The
//! router sends them frames only after a data request.
//!
//! A data request alone makes no child: any device in range can forge one, and the router would
//! then hold back the packets of the named neighbour. Registration and request come in either
//! order, because a leaf polls before it registers.
//!
//! Nor can forged requests harm a registered neighbour that never sleeps. If a neighbour sends data
//! while a packet waits for it, and does not poll until that packet is given up, it counts as
//! awake. It then gets frames at once, and requests in its name are ignored until it fails to
//! acknowledge a frame.

use redpoll_base::{Duration, Instant, least};
use redpoll_mac::PENDING_MAX;
use redpoll_wire::ieee802154::Address;

use crate::packet::is_unicast;

/// Capacity of the list of neighbours that have polled and are not children.
const ASKERS: usize = 8;
/// How long a data request is remembered: longer than the 31 s for which a leaf tries to register.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The end of a neighbour's registration, as routing reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tenure {
    pub(crate) link: Address,
    pub(crate) until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Habit {
    /// The child's radio is off, except after a request. Its last frame was a request.
    Sleeps,
    /// As `Sleeps`, but the child has sent data since its last request.
    Sends,
    /// The child's radio is always on.
    Awake,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    short: u16,
    habit: Habit,
    until: Instant,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    children: [Option<Child>; PENDING_MAX],
    /// Neighbours that have polled and are not children, each with the time of its last poll.
    asked: [Option<(u16, Instant)>; ASKERS],
}

impl Children {
    pub(crate) fn contains(&self, link: Address) -> bool {
        match link {
            Address::Short(short) => self.iter().any(|child| child == short),
            _ => false,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        let sleepers = self.children.iter().flatten();
        let sleepers = sleepers.filter(|child| child.habit != Habit::Awake);
        sleepers.map(|child| child.short)
    }

    fn child(&mut self, link: Address) -> Option<&mut Child> {
        let short = name(link)?;
        let mut children = self.children.iter_mut().flatten();
        children.find(|child| child.short == short)
    }

    pub(crate) fn on_data(&mut self, link: Address) {
        if let Some(child) = self.child(link)
            && child.habit == Habit::Sleeps
        {
            child.habit = Habit::Sends;
        }
    }

    /// Handles a packet that a neighbour did not poll for in time. Returns the neighbour's address
    /// if it counts as awake from now on.
    pub(crate) fn on_expired(&mut self, link: Address) -> Option<u16> {
        let child = self.child(link)?;
        if child.habit != Habit::Sends {
            return None;
        }
        child.habit = Habit::Awake;
        Some(child.short)
    }

    /// Records that a neighbour did not acknowledge a frame.
    pub(crate) fn on_silence(&mut self, link: Address) {
        if let Some(child) = self.child(link)
            && child.habit == Habit::Awake
        {
            child.habit = Habit::Sleeps;
        }
    }

    /// Records a data request. Returns whether a registration would make the neighbour a child.
    pub(crate) fn on_request(&mut self, now: Instant, link: Address) -> bool {
        if let Some(child) = self.child(link) {
            if child.habit == Habit::Sends {
                child.habit = Habit::Sleeps;
            }
            return false;
        }
        let Some(short) = name(link) else {
            return false;
        };
        let known = |place: &Option<(u16, Instant)>| place.is_some_and(|(it, _)| it == short);
        let at = match self.asked.iter().position(known) {
            Some(at) => at,
            None => {
                let places = self.asked.iter().enumerate();
                let ages = places.map(|(index, place)| (place.map(|(_, at)| at), index));
                least(ages).unwrap_or(0)
            }
        };
        if let Some(place) = self.asked.get_mut(at) {
            *place = Some((short, now));
        }
        true
    }

    /// Returns whether a registration would make the neighbour a child, but no place is free.
    pub(crate) fn is_crowded_by(&self, now: Instant, link: Address) -> bool {
        let full = self.children.iter().all(|place| !is_free(place));
        full && !self.contains(link) && self.has_asked(now, link)
    }

    fn has_asked(&self, now: Instant, link: Address) -> bool {
        let Some(short) = name(link) else {
            return false;
        };
        let mut asked = self.asked.iter().flatten();
        asked.any(|(it, at)| *it == short && now.since(*at) < REMEMBERED)
    }

    /// Records until when a neighbour is registered. A neighbour that has polled becomes a child.
    /// Returns `false` if no slot for a child is free.
    pub(crate) fn on_tenure(&mut self, now: Instant, tenure: Tenure) -> bool {
        let Some(short) = name(tenure.link) else {
            return true;
        };
        let until = tenure.until;
        if let Some(child) = self.child(tenure.link) {
            child.until = until;
            return true;
        }
        if until <= now || !self.has_asked(now, tenure.link) {
            return true;
        }
        let Some(free) = self.children.iter_mut().find(|place| is_free(place)) else {
            return false;
        };
        *free = Some(Child {
            short,
            habit: Habit::Sleeps,
            until,
        });
        for place in &mut self.asked {
            *place = place.filter(|(it, _)| *it != short);
        }
        true
    }

    /// Removes and returns the next child whose registration has ended.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<u16> {
        let ended = |place: &Option<Child>| place.is_some_and(|child| child.until <= now);
        let place = self.children.iter_mut().find(|place| ended(place))?;
        place.take().map(|child| child.short)
    }
}

/// Returns whether a new child may take the place: it is empty, or its child counts as awake.
fn is_free(place: &Option<Child>) -> bool {
    place.is_none_or(|child| child.habit == Habit::Awake)
}

/// Returns the short address of a neighbour; only a neighbour with one can be a child.
fn name(link: Address) -> Option<u16> {
    match link {
        Address::Short(short) if is_unicast(link) => Some(short),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1_000)
    }

    fn tenure(short: u16, until: Instant) -> Tenure {
        let link = Address::Short(short);
        Tenure { link, until }
    }

    #[test]
    fn a_registered_node_that_polls_is_a_child_until_its_registration_ends() {
        let mut children = Children::default();
        let nine = Address::Short(9);
        children.on_tenure(at(1), tenure(9, at(1) + HOUR));
        assert!(!children.contains(nine), "it has not polled");
        children.on_request(at(2), nine);
        assert!(!children.contains(nine), "a request alone proves nothing");
        children.on_tenure(at(3), tenure(9, at(3) + HOUR));
        assert!(children.contains(nine));
        assert_eq!(children.expire(at(3_602)), None);
        assert_eq!(children.expire(at(3_603)), Some(9));
        assert!(!children.contains(nine));
    }

    #[test]
    fn old_requests_and_invalid_addresses_make_no_child() {
        let mut children = Children::default();
        children.on_request(at(0), Address::Short(9));
        children.on_tenure(at(60), tenure(9, at(60) + HOUR));
        for short in [0xfffe, 0xffff] {
            children.on_request(at(60), Address::Short(short));
            children.on_tenure(at(60), tenure(short, at(60) + HOUR));
        }
        assert_eq!(children.iter().count(), 0);
    }

    /// Eight children that count as awake leave room for a leaf.
    #[test]
    fn awake_hosts_are_replaced_by_leaves() {
        let mut children = Children::default();
        for short in 1..=8 {
            let link = Address::Short(short);
            children.on_request(at(1), link);
            assert!(children.on_tenure(at(1), tenure(short, at(1) + HOUR)));
            children.on_data(link);
            children.on_expired(link);
        }
        assert_eq!(children.iter().count(), 0, "all are awake");
        let leaf = Address::Short(9);
        assert!(children.on_request(at(2), leaf));
        assert!(!children.is_crowded_by(at(2), leaf));
        assert!(children.on_tenure(at(2), tenure(9, at(2) + HOUR)));
        assert!(children.contains(leaf));
    }

    /// A ninth child must not replace one of the eight, which would then miss its frames.
    #[test]
    fn a_ninth_child_is_refused() {
        let mut children = Children::default();
        for short in 1..=9 {
            let link = Address::Short(short);
            children.on_request(at(1), link);
            assert_eq!(children.is_crowded_by(at(1), link), short == 9);
            let room = children.on_tenure(at(1), tenure(short, at(1) + HOUR));
            assert_eq!(room, short < 9);
        }
        assert!(!children.is_crowded_by(at(1), Address::Short(1)));
        assert!(
            !children.is_crowded_by(at(1), Address::Short(20)),
            "never asked"
        );
        assert_eq!(children.iter().count(), 8);
    }
}
