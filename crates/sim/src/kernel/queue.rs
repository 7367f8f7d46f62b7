//! The queue of events to come.
//!
//! Cancelling is done by generations: whoever schedules an event puts a number
//! into it and ignores it when it comes if the number is old by then. That
//! costs nothing but the event's place, and no search.

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
    heap: BinaryHeap<Scheduled<E>>,
    next_sequence: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Queue {
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
        self.heap.push(Scheduled {
            at,
            sequence,
            event,
        });
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|next| next.at)
    }

    /// The next event, if it happens at `until` or before.
    pub fn pop_until(&mut self, until: Instant) -> Option<Scheduled<E>> {
        if self.heap.peek()?.at > until {
            return None;
        }
        self.heap.pop()
    }

    /// How many events wait, cancelled ones included.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
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

    #[test]
    fn later_events_stay() {
        let mut queue = Queue::default();
        queue.schedule(Instant::from_micros(7), 'a');
        assert!(queue.pop_until(Instant::from_micros(6)).is_none());
        assert_eq!(queue.next_at(), Some(Instant::from_micros(7)));
        assert_eq!(queue.pop_until(Instant::from_micros(7)).unwrap().event, 'a');
    }
}
