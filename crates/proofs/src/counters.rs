//! The frame counter and its persistence (IEEE 802.15.4-2015 §9.2.1). No counter may be used twice
//! with a key, even if the power fails at any point of a write.

use crate::{Model, hash_of};
use counter::{FrameCounter, NoCounter};

crate::device!(counter, "mac-src-security-counter.rs");

/// An event at the node.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A frame needs a counter value.
    Take,
    /// The driver asks for the value to store.
    Poll,
    /// Persistent memory contains the requested value, but the driver has not reported it yet.
    Write,
    /// The driver reports success.
    Report,
    /// The driver reports that it has stored a lower value than requested.
    ReportPart,
    /// The driver reports a failure, although the value may be written.
    Fail,
    /// The power fails, and the node restarts from persistent memory.
    Reboot,
}

/// A defect of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// The driver reports success before persistent memory contains the value.
    EarlyReport,
    /// After a reboot the driver restores the value that was stored before the latest one.
    OldValue,
}

/// The node: its counter in RAM, persistent memory, and the reference values.
#[derive(Clone, Debug)]
pub struct World {
    counter: FrameCounter,
    stored: u32,
    before: u32,
    /// The value that the counter has asked to store, and whether persistent memory contains it.
    request: Option<(u32, bool)>,
    /// Lowest counter value that was never used.
    unused: u32,
    /// Whether a frame has found no usable counter value since the node's last restart.
    waits: bool,
}

/// The model: a counter with a first value, which reserves a stretch of values at a time.
pub struct CounterModel {
    /// Value in persistent memory at the start.
    pub first: u32,
    /// Number of counter values that are reserved at a time.
    pub stretch: u32,
    /// The planted defect.
    pub defect: Option<Defect>,
}

impl Model for CounterModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        World {
            counter: FrameCounter::new(self.first, self.stretch),
            stored: self.first,
            before: self.first,
            request: None,
            unused: self.first,
            waits: false,
        }
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions = vec![Action::Take, Action::Poll, Action::Reboot];
        match world.request {
            Some((_, false)) if self.defect == Some(Defect::EarlyReport) => {
                actions.extend([Action::Write, Action::Report, Action::Fail]);
            }
            Some((_, false)) => actions.extend([Action::Write, Action::ReportPart, Action::Fail]),
            Some((_, true)) => actions.extend([Action::Report, Action::Fail]),
            None => {}
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        match action {
            Action::Take => match world.counter.take() {
                Ok(counter) if counter < world.unused => {
                    return Err(format!("counter {counter} is used again"));
                }
                Ok(u32::MAX) => {
                    return Err("the counter returned its last value, which is reserved".to_owned());
                }
                Ok(counter) => world.unused = counter + 1,
                Err(NoCounter::NotStored) => world.waits = true,
                Err(NoCounter::Exhausted) => {}
            },
            Action::Poll => {
                if let Some(value) = world.counter.poll() {
                    if world.request.is_some() {
                        return Err(
                            "the counter made a second request before the answer to the first one"
                                .to_owned(),
                        );
                    }
                    world.request = Some((value, false));
                }
            }
            Action::Write => {
                if let Some((value, _)) = world.request {
                    world.request = Some((value, true));
                    (world.before, world.stored) = (world.stored, value);
                }
            }
            Action::Report => {
                if let Some((value, _)) = world.request.take() {
                    world.counter.on_stored(value);
                }
            }
            Action::ReportPart => {
                if let Some((value, _)) = world.request.take() {
                    let part = world.stored.max(value - 1);
                    (world.before, world.stored) = (world.stored, part);
                    world.counter.on_stored(part);
                }
            }
            Action::Fail => {
                world.request = None;
                world.counter.on_failed();
            }
            Action::Reboot => {
                let old = self.defect == Some(Defect::OldValue);
                let value = if old { world.before } else { world.stored };
                world.counter = FrameCounter::new(value, self.stretch);
                world.request = None;
                world.waits = false;
            }
        }
        Ok(())
    }

    fn key(&self, world: &World) -> u64 {
        hash_of(world)
    }

    fn copy(&self, world: &World) -> Option<World> {
        Some(world.clone())
    }

    /// Checks that the node gets a counter or has used all, if persistent memory works from now on.
    fn finish(&self, mut world: World) -> Result<(), String> {
        if let Some((value, _)) = world.request.take() {
            world.counter.on_stored(value);
        }
        if let Some(value) = world.counter.poll() {
            world.counter.on_stored(value);
        }
        match world.counter.take() {
            Ok(_) | Err(NoCounter::Exhausted) => Ok(()),
            Err(NoCounter::NotStored) => {
                Err("no counter is usable, although all requests to store were answered".to_owned())
            }
        }
    }
}
