//! Probes: observations during a run, in addition to the report at its end. A study keeps its
//! probes in `probes.rs` or in the folder `probes/`, because the fingerprint covers no other files
//! of a study.

use std::any::type_name;
use std::fmt;

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Default interval between two samples.
pub const SLICE: Duration = Duration::from_millis(1_000);

/// An observation of a run. The type and the `Debug` output identify the probe. Runs with equal
/// scenarios and equal probes have equal results.
pub trait Probe: fmt::Debug + Send + Sync + 'static {
    /// The result of the probe, from which rows read numbers.
    type Found: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Returns the virtual time between two samples.
    fn every(&self) -> Duration {
        SLICE
    }

    /// Starts the probe before the first event.
    fn begin(&self, world: &mut World) -> Box<dyn Look<Self::Found>>;
}

pub trait Look<F> {
    /// Records a sample after each interval of [`Probe::every`], and at the end.
    fn look(&mut self, _world: &mut World) {}

    /// Returns whether the run can end before the scenario's duration.
    fn is_over(&self) -> bool {
        false
    }

    fn end(self: Box<Self>, world: &mut World) -> F;
}

pub(crate) trait AnyProbe: fmt::Debug + Send + Sync {
    fn id(&self) -> String;
    fn every(&self) -> Duration;
    fn begin(&self, world: &mut World) -> Box<dyn AnyLook>;
}

pub(crate) trait AnyLook {
    fn look(&mut self, world: &mut World);
    fn is_over(&self) -> bool;
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

    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn end(self: Box<Self>, world: &mut World) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self.0.end(world))
    }
}
