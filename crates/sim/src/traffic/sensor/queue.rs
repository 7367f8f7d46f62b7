//! The readings that wait.

use std::collections::VecDeque;

use crate::oracle::FlowId;
use crate::scenario::SensorSpec;
use crate::traffic::Context;
use crate::traffic::content::pattern;

/// Readings in the order in which they were made. Those that a transport has
/// not let go of stay in front.
pub(super) struct Queue {
    flow: Option<FlowId>,
    bytes: usize,
    batch: usize,
    capacity: usize,
    waiting: VecDeque<u32>,
    /// The readings of full batches, which may go.
    due: usize,
    /// Readings made, for flows that the oracle does not number.
    made: u32,
    overflow: u64,
}

impl Queue {
    pub(super) fn new(spec: &SensorSpec) -> Queue {
        Queue {
            flow: None,
            bytes: spec.bytes.into(),
            batch: usize::from(spec.batch).max(1),
            capacity: spec.queue.into(),
            waiting: VecDeque::new(),
            due: 0,
            made: 0,
            overflow: 0,
        }
    }

    pub(super) fn belongs_to(&mut self, flow: FlowId) {
        self.flow = Some(flow);
    }

    /// Makes a reading, which is lost if there is no room.
    pub(super) fn make(&mut self, cx: &mut Context<'_>) {
        let Some(flow) = self.flow else { return };
        cx.oracle.reading_made(flow, cx.now);
        let number = self.made;
        self.made = number.wrapping_add(1);
        if self.waiting.len() >= self.capacity {
            self.overflow += 1;
            cx.oracle.readings_lost(flow, number..number + 1);
            return;
        }
        self.waiting.push_back(number);
        if self.waiting.len() >= self.due + self.batch {
            self.due = self.waiting.len();
        }
    }

    /// Bytes of a reading.
    pub(super) fn reading_bytes(&self) -> usize {
        self.bytes
    }

    /// How many readings may go.
    pub(super) fn due(&self) -> usize {
        self.due
    }

    /// The number of the reading at place `index` from the front.
    pub(super) fn number(&self, index: usize) -> Option<u32> {
        self.waiting.get(index).copied()
    }

    /// The number after those of all readings up to now.
    pub(super) fn next_number(&self) -> u32 {
        self.made
    }

    /// The bytes of the reading at place `index` from the front.
    pub(super) fn reading(&self, index: usize) -> Vec<u8> {
        let mut reading = vec![0; self.bytes];
        if let (Some(number), Some(flow)) = (self.number(index), self.flow) {
            let start = u64::from(number) * self.bytes as u64;
            pattern(flow, start, &mut reading);
            if let Some(head) = reading.first_chunk_mut() {
                *head = number.to_be_bytes();
            }
        }
        reading
    }

    /// The bytes of the first `count` readings.
    pub(super) fn readings(&self, count: usize) -> Vec<u8> {
        (0..count).flat_map(|index| self.reading(index)).collect()
    }

    /// The first `count` readings need not be kept any more.
    pub(super) fn let_go(&mut self, count: usize) {
        self.waiting.drain(..count.min(self.waiting.len()));
        self.due = self.due.saturating_sub(count);
    }

    pub(super) fn overflow(&self) -> u64 {
        self.overflow
    }
}
