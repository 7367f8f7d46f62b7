//! Compares the byte ring of `redpoll-base` with a list. The send store and the receive buffer use
//! this ring.

use crate::{Model, hash_of};
use redpoll_base::Ring;

/// Capacity of the ring in bytes.
const CAPACITY: usize = 5;

/// An operation on the ring.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Write this many bytes with the given value, at an offset from the end of the queue.
    Write(usize, usize, u8),
    /// Append this many bytes of the free space to the queue.
    Keep(usize),
    /// Remove this many bytes from the front of the queue.
    Free(usize),
}

/// The ring and the reference: queued bytes, and the free space after them.
#[derive(Debug)]
pub struct World {
    ring: Ring<[u8; CAPACITY]>,
    queued: Vec<u8>,
    free: Vec<u8>,
}

/// The model. A test can replace `write_at` by a faulty function.
pub struct RingModel {
    /// Writes bytes at an offset; returns how many were written.
    pub write_at: fn(&mut Ring<[u8; CAPACITY]>, usize, &[u8]) -> usize,
}

/// The model of `redpoll-base`.
pub const REAL: RingModel = RingModel {
    write_at: |ring, offset, bytes| ring.write_at(offset, bytes),
};

impl Model for RingModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        World {
            ring: Ring::new([0; CAPACITY]),
            queued: Vec::new(),
            free: vec![0; CAPACITY],
        }
    }

    fn actions(&self, _: &World) -> Vec<Action> {
        let mut actions = Vec::new();
        for len in 0..=CAPACITY + 1 {
            actions.extend([Action::Keep(len), Action::Free(len)]);
            for offset in 0..=CAPACITY {
                actions.extend([1, 2].map(|value| Action::Write(offset, len, value)));
            }
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        match action {
            Action::Write(offset, len, value) => {
                let bytes = vec![value; len];
                let count = (self.write_at)(&mut world.ring, offset, &bytes);
                let places = world.free.iter_mut().skip(offset).take(len);
                let mut expected = 0;
                for place in places {
                    *place = value;
                    expected += 1;
                }
                if count != expected {
                    return Err(format!("{count} instead of {expected} bytes were written"));
                }
            }
            Action::Keep(count) => {
                let count = count.min(world.free.len());
                world.ring.keep(count);
                world.queued.extend(world.free.drain(..count));
            }
            Action::Free(count) => {
                let freed = world.ring.free(count);
                let expected = count.min(world.queued.len());
                if freed != expected {
                    return Err(format!("{freed} instead of {expected} bytes were freed"));
                }
                world.free.extend(world.queued.drain(..expected));
            }
        }
        let World { ring, queued, free } = world;
        if (ring.len(), ring.room()) != (queued.len(), free.len()) {
            return Err(format!(
                "the ring reports a wrong length of {} bytes, or a wrong room of {} bytes",
                ring.len(),
                ring.room()
            ));
        }
        for offset in 0..=queued.len() {
            for count in 0..=queued.len() - offset {
                let read = ring.pieces(offset, count).concat();
                if read != queued[offset..offset + count] {
                    return Err(format!(
                        "{read:?} was read at offset {offset} of the queued bytes {queued:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn key(&self, world: &World) -> u64 {
        hash_of(world)
    }
}
