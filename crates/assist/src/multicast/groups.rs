//! The groups of a node.

use redpoll_base::Addr;

/// Memory for a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupSlot(Option<(Addr, Role)>);

impl GroupSlot {
    /// A free slot.
    pub const EMPTY: GroupSlot = GroupSlot(None);
}

/// The relation of a node to a group.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Role {
    pub(super) is_member: bool,
    /// Whether packets to the group enter the mesh from the host side.
    pub(super) is_let_in: bool,
}

#[derive(Debug)]
pub(super) struct Groups<T>(T);

impl<T: AsRef<[GroupSlot]> + AsMut<[GroupSlot]>> Groups<T> {
    pub(super) fn new(slots: T) -> Self {
        Groups(slots)
    }

    pub(super) fn role(&self, group: &Addr) -> Role {
        let mut all = self.0.as_ref().iter().filter_map(|slot| slot.0);
        let known = all.find(|(addr, _)| addr == group);
        known.map_or(Role::default(), |(_, role)| role)
    }

    /// Changes the role of a group; a group without a role frees its slot. Returns `false` if
    /// `group` is not a multicast address, or if there is no room.
    pub(super) fn set(&mut self, group: &Addr, change: impl FnOnce(&mut Role)) -> bool {
        let slots = self.0.as_mut();
        let is_same = |slot: &GroupSlot| slot.0.is_some_and(|(addr, _)| addr == *group);
        let known = slots.iter().position(is_same);
        let place = known.or_else(|| slots.iter().position(|slot| slot.0.is_none()));
        let slot = place.and_then(|place| slots.get_mut(place));
        let Some(slot) = slot.filter(|_| group.is_multicast()) else {
            return false;
        };
        let (_, mut role) = slot.0.unwrap_or((*group, Role::default()));
        change(&mut role);
        slot.0 = (role != Role::default()).then_some((*group, role));
        true
    }
}
