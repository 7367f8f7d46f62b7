//! The table of flows, indexed by their ends. If there is no room, a new flow replaces the flow
//! that has been idle for longest. Flows on probation have a quarter of the slots and confirmed
//! flows the others, so a flood of forged flows replaces only flows on probation.

use redpoll_base::half_sip_hash;

use super::flow::{FlowSlot, NONE, Standing, at, at_mut};
use super::segment::Ends;

/// Flows without waiting packets; the flow that has been idle for longest is first.
#[derive(Clone, Copy, Debug)]
struct Idle {
    oldest: u32,
    newest: u32,
}

impl Idle {
    const EMPTY: Idle = Idle {
        oldest: NONE,
        newest: NONE,
    };

    fn append(&mut self, flows: &mut [FlowSlot], flow: u32) {
        let before = core::mem::replace(&mut self.newest, flow);
        match at_mut(flows, before) {
            Some(entry) => entry.newer = flow,
            None => self.oldest = flow,
        }
        if let Some(entry) = at_mut(flows, flow) {
            (entry.older, entry.newer) = (before, NONE);
        }
    }

    fn prepend(&mut self, flows: &mut [FlowSlot], flow: u32) {
        let after = core::mem::replace(&mut self.oldest, flow);
        match at_mut(flows, after) {
            Some(entry) => entry.older = flow,
            None => self.newest = flow,
        }
        if let Some(entry) = at_mut(flows, flow) {
            (entry.older, entry.newer) = (NONE, after);
        }
    }

    fn remove(&mut self, flows: &mut [FlowSlot], flow: u32) {
        let Some(entry) = at_mut(flows, flow) else {
            return;
        };
        let (older, newer) = (entry.older, entry.newer);
        (entry.older, entry.newer) = (NONE, NONE);
        match at_mut(flows, older) {
            Some(entry) => entry.newer = newer,
            None if self.oldest == flow => self.oldest = newer,
            None => {}
        }
        match at_mut(flows, newer) {
            Some(entry) => entry.older = older,
            None if self.newest == flow => self.newest = older,
            None => {}
        }
    }
}

#[derive(Debug)]
pub(super) struct Flows<F, I> {
    slots: F,
    /// Hash table with linear probing: indices of flows plus one, 0 if empty.
    index: I,
    secret: [u32; 2],
    free: u32,
    /// First slot that has never been used.
    fresh: u32,
    on_probation: u32,
    confirmed: u32,
    idle_on_probation: Idle,
    idle_confirmed: Idle,
}

impl<F, I> Flows<F, I>
where
    F: AsRef<[FlowSlot]> + AsMut<[FlowSlot]>,
    I: AsRef<[u32]> + AsMut<[u32]>,
{
    pub(super) fn new(slots: F, mut index: I, secret: [u32; 2]) -> Self {
        index.as_mut().fill(0);
        Flows {
            slots,
            index,
            secret,
            free: NONE,
            fresh: 0,
            on_probation: 0,
            confirmed: 0,
            idle_on_probation: Idle::EMPTY,
            idle_confirmed: Idle::EMPTY,
        }
    }

    /// Returns the number of flows on probation, and the number of confirmed flows.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.on_probation, self.confirmed)
    }

    pub(super) fn get(&self, flow: u32) -> Option<&FlowSlot> {
        at(self.slots.as_ref(), flow)
    }

    pub(super) fn get_mut(&mut self, flow: u32) -> Option<&mut FlowSlot> {
        at_mut(self.slots.as_mut(), flow)
    }

    pub(super) fn slots_mut(&mut self) -> &mut [FlowSlot] {
        self.slots.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FlowSlot> {
        let used = self.slots.as_ref().iter().take(self.fresh as usize);
        used.filter(|flow| flow.standing != Standing::Vacant)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut FlowSlot> {
        let used = self.slots.as_mut().iter_mut().take(self.fresh as usize);
        used.filter(|flow| flow.standing != Standing::Vacant)
    }

    /// Returns the flow with these ends, or adds it on probation, and whether it replaced another
    /// flow. `None` if there is no room.
    pub(super) fn find_or_add(&mut self, ends: &Ends) -> Option<(u32, bool)> {
        let hash = half_sip_hash(self.secret, &ends.words());
        if let Some(flow) = self.find(hash, ends) {
            return Some((flow, false));
        }
        let slots = self.slots.as_ref().len() as u32;
        let has_room = self.on_probation < (slots >> 2).max(1)
            && self.on_probation.saturating_add(self.confirmed) < slots;
        let evicts = !has_room;
        if evicts {
            let victim = self.idle_on_probation.oldest;
            self.get(victim)?;
            self.forget(victim);
        }
        let flow = self.allot()?;
        if let Some(slot) = self.get_mut(flow) {
            *slot = FlowSlot {
                standing: Standing::OnProbation,
                ends: *ends,
                hash,
                ..FlowSlot::EMPTY
            };
        }
        self.on_probation = self.on_probation.saturating_add(1);
        self.idle_on_probation.append(self.slots.as_mut(), flow);
        self.enter(hash, flow);
        Some((flow, evicts))
    }

    pub(super) fn touch(&mut self, flow: u32) {
        self.idle_on_probation.remove(self.slots.as_mut(), flow);
        self.idle_on_probation.append(self.slots.as_mut(), flow);
    }

    /// Confirms a flow on probation, which becomes an idle confirmed flow. Returns whether it
    /// replaced another; `None` if the table is full: all confirmed flows have waiting packets.
    pub(super) fn confirm(&mut self, flow: u32) -> Option<bool> {
        let slots = self.slots.as_ref().len() as u32;
        let room = slots.saturating_sub((slots >> 2).max(1));
        let evicts = self.confirmed >= room;
        if evicts {
            let victim = self.idle_confirmed.oldest;
            self.get(victim)?;
            self.forget(victim);
        }
        self.idle_on_probation.remove(self.slots.as_mut(), flow);
        self.on_probation = self.on_probation.saturating_sub(1);
        self.confirmed = self.confirmed.saturating_add(1);
        if let Some(slot) = self.get_mut(flow) {
            slot.standing = Standing::Confirmed;
        }
        self.idle_confirmed.append(self.slots.as_mut(), flow);
        Some(evicts)
    }

    pub(super) fn begin_waiting(&mut self, flow: u32) {
        self.idle_confirmed.remove(self.slots.as_mut(), flow);
    }

    pub(super) fn end_waiting(&mut self, flow: u32) {
        let is_over = self.get(flow).is_some_and(|flow| flow.estimate.is_over());
        match is_over {
            true => self.idle_confirmed.prepend(self.slots.as_mut(), flow),
            false => self.idle_confirmed.append(self.slots.as_mut(), flow),
        }
    }

    fn allot(&mut self) -> Option<u32> {
        if let Some(slot) = at(self.slots.as_ref(), self.free) {
            return Some(core::mem::replace(&mut self.free, slot.newer));
        }
        let slot = self.fresh;
        at(self.slots.as_ref(), slot)?;
        self.fresh = slot.saturating_add(1);
        Some(slot)
    }

    fn forget(&mut self, flow: u32) {
        let Some(slot) = self.get(flow) else { return };
        match slot.standing {
            Standing::Vacant => return,
            Standing::OnProbation => {
                self.on_probation = self.on_probation.saturating_sub(1);
                self.idle_on_probation.remove(self.slots.as_mut(), flow);
            }
            Standing::Confirmed => {
                self.confirmed = self.confirmed.saturating_sub(1);
                self.idle_confirmed.remove(self.slots.as_mut(), flow);
            }
        }
        self.leave(flow);
        let free = core::mem::replace(&mut self.free, flow);
        if let Some(slot) = self.get_mut(flow) {
            *slot = FlowSlot::EMPTY;
            slot.newer = free;
        }
    }

    fn mask(&self) -> usize {
        // The length is a power of two, so the length minus one is the mask.
        self.index.as_ref().len().wrapping_sub(1)
    }

    fn entry(&self, place: usize) -> u32 {
        self.index.as_ref().get(place).copied().unwrap_or(0)
    }

    fn set_entry(&mut self, place: usize, entry: u32) {
        if let Some(slot) = self.index.as_mut().get_mut(place) {
            *slot = entry;
        }
    }

    fn find(&self, hash: u32, ends: &Ends) -> Option<u32> {
        let mask = self.mask();
        let mut place = hash as usize & mask;
        // The index has twice as many entries as flows, so the search ends.
        for _ in 0..=mask {
            let flow = self.entry(place).checked_sub(1)?;
            let slot = self.get(flow)?;
            if slot.hash == hash && slot.ends == *ends {
                return Some(flow);
            }
            place = place.wrapping_add(1) & mask;
        }
        None
    }

    fn enter(&mut self, hash: u32, flow: u32) {
        let mask = self.mask();
        let mut place = hash as usize & mask;
        for _ in 0..=mask {
            if self.entry(place) == 0 {
                self.set_entry(place, flow.saturating_add(1));
                return;
            }
            place = place.wrapping_add(1) & mask;
        }
    }

    /// Removes a flow from the index, and moves displaced entries into the gap.
    fn leave(&mut self, flow: u32) {
        let mask = self.mask();
        let Some(hash) = self.get(flow).map(|flow| flow.hash) else {
            return;
        };
        let mut hole = hash as usize & mask;
        let own = flow.saturating_add(1);
        for _ in 0..=mask {
            match self.entry(hole) {
                0 => return,
                entry if entry == own => break,
                _ => hole = hole.wrapping_add(1) & mask,
            }
        }
        let mut place = hole;
        for _ in 0..=mask {
            place = place.wrapping_add(1) & mask;
            let entry = self.entry(place);
            let Some(home) = entry.checked_sub(1).and_then(|flow| self.get(flow)) else {
                break;
            };
            let home = home.hash as usize & mask;
            // An entry may move to the hole unless its home is after the hole.
            let from_home = place.wrapping_sub(home) & mask;
            let from_hole = place.wrapping_sub(hole) & mask;
            if from_home >= from_hole {
                self.set_entry(hole, entry);
                hole = place;
            }
        }
        self.set_entry(hole, 0);
    }
}
