//! The queue of events to come.
//!
//! Cancelling is done by generations: whoever schedules an event puts a number
//! into it and ignores it when it comes if the number is old by then. That
//! costs nothing but the event's place, and no search.
//!
//! Most events of a radio are the next to happen when they are scheduled: the end of
//! what has just begun. Those wait before the heap, and never go through it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use redpoll_base::Instant;

/// An event and its place in the order of things.
#[derive(Clone, Copy, Debug)]
pub struct Scheduled<E> {
    /// When it happens.
    pub at: Instant,
    /// Orders events of the same instant: first asked for, first served.
    sequence: u64,
    /// What happens.
    pub event: E,
}

impl<E> Scheduled<E> {
    /// Time and place in one number: two of them are compared without a branch.
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
    /// Reversed: the standard heap gives the greatest first, and the earliest
    /// is wanted.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Events to come, earliest first.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    /// Earlier than all in the heap, if there is one.
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
    /// Has `event` happen at `at`, after all others scheduled so far for the
    /// same instant.
    pub fn schedule(&mut self, at: Instant, event: E) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let scheduled = Scheduled {
            at,
            sequence,
            event,
        };
        // What was asked for first is served first, so one of the same instant stays behind.
        let first = self.next.as_ref().or_else(|| self.heap.peek());
        if first.is_some_and(|first| first.at <= at) {
            self.heap.push(scheduled);
        } else if let Some(second) = self.next.replace(scheduled) {
            self.heap.push(second);
        }
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<Instant> {
        let first = self.next.as_ref().or_else(|| self.heap.peek());
        first.map(|first| first.at)
    }

    /// The next event, if it happens at `until` or before.
    pub fn pop_until(&mut self, until: Instant) -> Option<Scheduled<E>> {
        if self.next_at()? > until {
            return None;
        }
        self.next.take().or_else(|| self.heap.pop())
    }

    /// How many events wait, cancelled ones included.
    pub fn len(&self) -> usize {
        self.heap.len() + usize::from(self.next.is_some())
    }

    /// Whether no event waits.
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

    /// Held against a list that is searched: events come and go in turn, as in a run.
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
