//! The order of the flows with waiting packets: a binary heap by [`FlowSlot::rank`]. Each flow
//! stores its place in the heap, so that it can be removed from the middle.

use super::flow::{FlowSlot, NONE, at, at_mut};

#[derive(Debug)]
pub(super) struct Schedule<T> {
    heap: T,
    len: u32,
}

impl<T: AsRef<[u32]> + AsMut<[u32]>> Schedule<T> {
    pub(super) fn new(heap: T) -> Self {
        Schedule { heap, len: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn first(&self) -> Option<u32> {
        (self.len > 0).then(|| self.flow_at(0))
    }

    pub(super) fn insert(&mut self, flows: &mut [FlowSlot], flow: u32) {
        let place = self.len;
        self.len = self.len.saturating_add(1);
        self.put(flows, place, flow);
        self.rise(flows, place);
    }

    pub(super) fn remove(&mut self, flows: &mut [FlowSlot], flow: u32) {
        let Some(place) = at_mut(flows, flow).map(|flow| core::mem::replace(&mut flow.place, NONE))
        else {
            return;
        };
        if place >= self.len {
            return;
        }
        self.len = self.len.saturating_sub(1);
        if place < self.len {
            let last = self.flow_at(self.len);
            self.put(flows, place, last);
            self.settle(flows, place);
        }
    }

    pub(super) fn update(&mut self, flows: &mut [FlowSlot], flow: u32) {
        if let Some(place) = at(flows, flow).map(|flow| flow.place)
            && place < self.len
        {
            self.settle(flows, place);
        }
    }

    /// Restores the order after the ranks of all flows may have changed.
    pub(super) fn order_again(&mut self, flows: &mut [FlowSlot]) {
        for place in (0..self.len >> 1).rev() {
            self.sink(flows, place);
        }
    }

    fn settle(&mut self, flows: &mut [FlowSlot], place: u32) {
        let flow = self.flow_at(place);
        self.rise(flows, place);
        if let Some(place) = at(flows, flow).map(|flow| flow.place) {
            self.sink(flows, place);
        }
    }

    fn rise(&mut self, flows: &mut [FlowSlot], mut place: u32) {
        while place > 0 {
            let above = place.wrapping_sub(1) >> 1;
            if !self.precedes(flows, place, above) {
                return;
            }
            self.swap(flows, place, above);
            place = above;
        }
    }

    fn sink(&mut self, flows: &mut [FlowSlot], mut place: u32) {
        loop {
            let left = place.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let mut least = place;
            for below in [left, right] {
                if below < self.len && self.precedes(flows, below, least) {
                    least = below;
                }
            }
            if least == place {
                return;
            }
            self.swap(flows, place, least);
            place = least;
        }
    }

    fn flow_at(&self, place: u32) -> u32 {
        at(self.heap.as_ref(), place).copied().unwrap_or(NONE)
    }

    fn precedes(&self, flows: &[FlowSlot], a: u32, b: u32) -> bool {
        let rank = |place| at(flows, self.flow_at(place)).map(FlowSlot::rank);
        match (rank(a), rank(b)) {
            (Some(a), Some(b)) => a < b,
            _ => false,
        }
    }

    fn swap(&mut self, flows: &mut [FlowSlot], a: u32, b: u32) {
        let (flow_a, flow_b) = (self.flow_at(a), self.flow_at(b));
        self.put(flows, a, flow_b);
        self.put(flows, b, flow_a);
    }

    fn put(&mut self, flows: &mut [FlowSlot], place: u32, flow: u32) {
        if let Some(entry) = at_mut(self.heap.as_mut(), place) {
            *entry = flow;
        }
        if let Some(flow) = at_mut(flows, flow) {
            flow.place = place;
        }
    }
}
