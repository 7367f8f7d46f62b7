//! The queue of future events.
//!
//! Events are cancelled by generations: an event carries a number, and its handler ignores it if
//! the number is outdated. A cancelled event costs only its entry, without a search.
//!
//! Most events of a radio are the next in the queue when they are scheduled: the end of an action
//! that has just begun. Such an event waits in the field `next` instead of the heap.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use redpoll_base::Instant;

#[derive(Clone, Copy, Debug)]
pub struct Scheduled<E> {
    pub at: Instant,
    /// Order of events at the same instant: first scheduled, first handled.
    sequence: u64,
    pub event: E,
}

impl<E> Scheduled<E> {
    /// Returns time and order as one number, so that a comparison needs no branch.
    fn key(&self) -> u128 {
        u128::from(self.at.as_micros()) << 64 | u128::from(self.sequence)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    /// Reversed: the standard heap returns the greatest element, and the queue the earliest event.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Future events, earliest first.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    /// Event that precedes all events in the heap; `None` if the heap has the next event.
    next: Option<Scheduled<E>>,
    heap: BinaryHeap<Scheduled<E>>,
    next_sequence: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Queue {
            next: None,
            heap: BinaryHeap::new(),
            next_sequence: 0,
        }
    }
}

impl<E> Queue<E> {
    /// Schedules `event` at `at`, after all events scheduled so far for the same instant.
    pub fn schedule(&mut self, at: Instant, event: E) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let scheduled = Scheduled {
            at,
            sequence,
            event,
        };
        // If `event` has the time of `first`, it comes after `first`, because it was scheduled
        // later. It then goes into the heap.
        let first = self.next.as_ref().or_else(|| self.heap.peek());
        if first.is_some_and(|first| first.at <= at) {
            self.heap.push(scheduled);
        } else if let Some(second) = self.next.replace(scheduled) {
            self.heap.push(second);
        }
    }

    pub fn next_at(&self) -> Option<Instant> {
        let first = self.next.as_ref().or_else(|| self.heap.peek());
        first.map(|first| first.at)
    }

    /// Returns the next event, if its time is `until` or earlier.
    pub fn pop_until(&mut self, until: Instant) -> Option<Scheduled<E>> {
        if self.next_at()? > until {
            return None;
        }
        self.next.take().or_else(|| self.heap.pop())
    }

    /// Returns the number of events, including cancelled ones.
    pub fn len(&self) -> usize {
        self.heap.len() + usize::from(self.next.is_some())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Rng;

    #[test]
    fn order_is_time_then_request() {
        let mut rng = Rng::new(5);
        let mut queue = Queue::default();
        for i in 0..1_000u32 {
            queue.schedule(Instant::from_micros(u64::from(rng.below(50))), i);
        }
        let mut last = (Instant::ZERO, 0);
        for served in 0..1_000 {
            let next = queue.pop_until(Instant::FAR_FUTURE).unwrap();
            assert!(served == 0 || (next.at, next.event) > last);
            last = (next.at, next.event);
        }
        assert!(queue.is_empty());
    }

    /// Compares the queue with a sorted list while events are alternately added and removed.
    #[test]
    fn events_that_come_and_go_keep_their_order() {
        let mut rng = Rng::new(6);
        let (mut queue, mut list) = (Queue::default(), Vec::new());
        let mut now = 0;
        for i in 0..20_000u32 {
            if rng.below(100) < 52 {
                let most = 1 << rng.below(8);
                let at = now + u64::from(rng.below(most));
                queue.schedule(Instant::from_micros(at), i);
                list.push((at, i));
            } else {
                let first = list.iter().copied().min();
                assert_eq!(queue.next_at().map(Instant::as_micros), first.map(|f| f.0));
                let next = queue.pop_until(Instant::FAR_FUTURE);
                assert_eq!(next.map(|next| next.event), first.map(|f| f.1));
                now = first.map_or(now, |first| first.0);
                list.retain(|event| Some(*event) != first);
            }
            assert_eq!(
                (queue.len(), queue.is_empty()),
                (list.len(), list.is_empty())
            );
        }
    }

    #[test]
    fn later_events_stay() {
        let mut queue = Queue::default();
        queue.schedule(Instant::from_micros(7), 'a');
        assert!(queue.pop_until(Instant::from_micros(6)).is_none());
        assert_eq!(queue.next_at(), Some(Instant::from_micros(7)));
        assert_eq!(queue.pop_until(Instant::from_micros(7)).unwrap().event, 'a');
    }
}
