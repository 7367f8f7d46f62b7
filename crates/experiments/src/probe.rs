//! What is looked at during a run, beside the report at its end. A study adds a
//! probe in its own folder, in `probes.rs` or `probes/`: a file of another name is
//! not part of the fingerprint under which runs are kept.

use std::any::type_name;
use std::fmt;

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Between two looks, if a probe does not say otherwise.
pub const SLICE: Duration = Duration::from_millis(1_000);

/// Something that is looked at during a run. Its type and what `Debug` prints of it
/// tell it from all others: runs with equal scenarios and probes are one.
pub trait Probe: fmt::Debug + Send + Sync + 'static {
    /// What it finds; rows read its fields.
    type Found: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Virtual time between two looks.
    fn every(&self) -> Duration {
        SLICE
    }

    /// Begins, before the first event.
    fn begin(&self, world: &mut World) -> Box<dyn Look<Self::Found>>;
}

/// A probe at work in one run.
pub trait Look<F> {
    /// Looks, each time [`Probe::every`] has passed, and at the end.
    fn look(&mut self, _world: &mut World) {}

    /// What was found.
    fn end(self: Box<Self>, world: &mut World) -> F;
}

/// A probe of any type.
pub(crate) trait AnyProbe: fmt::Debug + Send + Sync {
    /// What tells it from all others.
    fn id(&self) -> String;
    fn every(&self) -> Duration;
    fn begin(&self, world: &mut World) -> Box<dyn AnyLook>;
}

/// A look of any type.
pub(crate) trait AnyLook {
    fn look(&mut self, world: &mut World);
    fn end(self: Box<Self>, world: &mut World) -> Result<Value, serde_json::Error>;
}

impl<P: Probe> AnyProbe for P {
    fn id(&self) -> String {
        format!("{} {self:?}", type_name::<P>())
    }

    fn every(&self) -> Duration {
        Probe::every(self)
    }

    fn begin(&self, world: &mut World) -> Box<dyn AnyLook> {
        Box::new(Erased(Probe::begin(self, world)))
    }
}

struct Erased<F>(Box<dyn Look<F>>);

impl<F: Serialize> AnyLook for Erased<F> {
    fn look(&mut self, world: &mut World) {
        self.0.look(world);
    }

    fn end(self: Box<Self>, world: &mut World) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self.0.end(world))
    }
}
