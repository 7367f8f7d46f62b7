//! The queue of readings.

use std::collections::VecDeque;

use crate::oracle::FlowId;
use crate::scenario::SensorSpec;
use crate::traffic::Context;
use crate::traffic::content::pattern;

/// Readings in the order of their creation. Those that a transport has not released stay in front.
/// Once there is a batch, the transport may send until the queue is empty, including readings
/// created meanwhile. The firmware of Kumar et al. 2020 does the same: its loop waits for a batch
/// and then sends all.
pub(super) struct Queue {
    flow: Option<FlowId>,
    bytes: usize,
    batch: usize,
    capacity: usize,
    waiting: VecDeque<u32>,
    /// Whether there has been a batch since the queue was empty.
    is_due: bool,
    /// Number of readings created so far, which is the number of the next reading.
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
            is_due: false,
            made: 0,
            overflow: 0,
        }
    }

    pub(super) fn belongs_to(&mut self, flow: FlowId) {
        self.flow = Some(flow);
    }

    pub(super) fn make(&mut self, cx: &mut Context<'_>) {
        let Some(flow) = self.flow else { return };
        cx.oracle.reading_made(flow, cx.world_time);
        let number = self.made;
        self.made = number.wrapping_add(1);
        if self.waiting.len() >= self.capacity {
            self.overflow += 1;
            cx.oracle.readings_lost(flow, number..number + 1);
            return;
        }
        self.waiting.push_back(number);
        self.is_due |= self.waiting.len() >= self.batch;
    }

    pub(super) fn reading_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn due(&self) -> usize {
        match self.is_due {
            true => self.waiting.len(),
            false => 0,
        }
    }

    pub(super) fn number(&self, index: usize) -> Option<u32> {
        self.waiting.get(index).copied()
    }

    pub(super) fn next_number(&self) -> u32 {
        self.made
    }

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

    pub(super) fn readings(&self, count: usize) -> Vec<u8> {
        (0..count).flat_map(|index| self.reading(index)).collect()
    }

    pub(super) fn let_go(&mut self, count: usize) {
        self.waiting.drain(..count.min(self.waiting.len()));
        self.is_due &= !self.waiting.is_empty();
    }

    /// Releases the first `count` readings, which were due and have been sent in one body. Readings
    /// created meanwhile wait for a batch of their own.
    pub(super) fn let_go_of_body(&mut self, count: usize) {
        self.let_go(count);
        self.is_due = self.waiting.len() >= self.batch;
    }

    pub(super) fn overflow(&self) -> u64 {
        self.overflow
    }
}
