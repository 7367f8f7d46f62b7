//! Congestion control written in Python.

use std::collections::BTreeMap;

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use redpoll_replay::{CongestionEvent, CongestionUpdate, CongestionWindow};
use redpoll_sim::congestion::Controller;

use crate::app::Fault;

/// Congestion controls by their names in scenarios, as classes or functions that create objects.
pub struct Classes {
    classes: BTreeMap<String, Py<PyAny>>,
    fault: Fault,
}

impl Classes {
    pub fn new(classes: Vec<(String, Py<PyAny>)>, fault: &Fault) -> Classes {
        Classes {
            classes: classes.into_iter().collect(),
            fault: fault.clone(),
        }
    }
}

impl Classes {
    /// Returns a congestion control called `name` for a new connection of `node`.
    pub fn begin(&self, name: &str, node: &str) -> Option<Box<dyn Controller>> {
        let class = self.classes.get(name)?;
        Some(Box::new(Connection {
            of: Of::Class(Python::attach(|py| class.clone_ref(py))),
            node: node.to_owned(),
            fault: self.fault.clone(),
        }))
    }
}

/// The congestion control of a connection.
struct Connection {
    of: Of,
    node: String,
    fault: Fault,
}

enum Of {
    /// A class whose object is created at the first call, because some connections never open.
    Class(Py<PyAny>),
    Object(Py<PyAny>),
}

impl Controller for Connection {
    fn on(&mut self, update: &CongestionUpdate) -> Option<CongestionWindow> {
        if self.fault.is_there() {
            return None;
        }
        Python::attach(|py| {
            let asked = self.ask(py, update);
            asked.unwrap_or_else(|error| {
                self.fault
                    .put(raised(py, error, &self.node, seconds(update)));
                None
            })
        })
    }
}

impl Connection {
    fn ask(
        &mut self,
        py: Python<'_>,
        update: &CongestionUpdate,
    ) -> PyResult<Option<CongestionWindow>> {
        if let Of::Class(class) = &self.of {
            self.of = Of::Object(class.call0(py)?);
        }
        let (Of::Object(object) | Of::Class(object)) = &self.of;
        let (method, object) = (method(update.event), object.bind(py));
        if !object.hasattr(method)? {
            return Ok(None);
        }
        let told = Update {
            node: self.node.clone(),
            update: *update,
        };
        let answer = object.call_method1(method, (told,))?;
        if answer.is_none() {
            return Ok(None);
        }
        let window: (Option<f64>, Option<f64>) = answer.extract().map_err(|_| {
            let got = answer
                .repr()
                .map_or_else(|_| "?".to_owned(), |it| it.to_string());
            PyTypeError::new_err(format!(
                "{method}: got {got}; allowed: None, or redpoll.Window"
            ))
        })?;
        Ok(Some(CongestionWindow {
            cwnd: bytes(method, "cwnd", window.0)?.unwrap_or(update.usual.cwnd),
            ssthresh: bytes(method, "ssthresh", window.1)?.unwrap_or(update.usual.ssthresh),
        }))
    }
}

fn method(event: CongestionEvent) -> &'static str {
    match event {
        CongestionEvent::Established => "on_start",
        CongestionEvent::Acked { .. } => "on_ack",
        CongestionEvent::Loss => "on_loss",
        CongestionEvent::Timeout { .. } => "on_rto",
        CongestionEvent::Mark => "on_ecn",
        CongestionEvent::Recovered => "on_recovered",
        CongestionEvent::Undone => "on_undo",
        CongestionEvent::Idle => "on_idle",
    }
}

fn bytes(method: &str, what: &str, value: Option<f64>) -> PyResult<Option<u32>> {
    match value {
        None => Ok(None),
        // The engine applies its own limits to the value.
        Some(value) if value >= 0.0 => Ok(Some(value.min(f64::from(u16::MAX)) as u32)),
        Some(value) => Err(PyValueError::new_err(format!(
            "{method}: {what}: got {value}; allowed: 0 bytes or more"
        ))),
    }
}

fn seconds(update: &CongestionUpdate) -> f64 {
    f64::from(update.now_ms) / 1e3
}

/// Returns a `redpoll.CongestionError` with the raised exception as its cause. Returns exceptions
/// that programs do not handle, such as Ctrl-C, unchanged.
fn raised(py: Python<'_>, cause: PyErr, node: &str, time_s: f64) -> PyErr {
    if !cause.is_instance_of::<PyException>(py) {
        return cause;
    }
    let text = format!("congestion control of {node} at {time_s:.3} s: {cause}");
    let make = || {
        let class = py.import("redpoll.errors")?.getattr("CongestionError")?;
        class.call1((text, node, time_s))
    };
    match make() {
        Ok(error) => {
            let error = PyErr::from_value(error);
            error.set_cause(py, Some(cause));
            error
        }
        Err(error) => error,
    }
}

/// An event of a connection, with the state of the connection.
#[pyclass(frozen, module = "redpoll", name = "CongestionUpdate")]
pub struct Update {
    node: String,
    update: CongestionUpdate,
}

#[pymethods]
impl Update {
    /// Name of the node that sends the data.
    #[getter]
    fn node(&self) -> &str {
        &self.node
    }

    /// Time of the node's clock in seconds.
    #[getter]
    fn now(&self) -> f64 {
        seconds(&self.update)
    }

    /// Payload of a full segment in bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.update.mss
    }

    /// The congestion window before the event, in bytes.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.update.window.cwnd
    }

    /// The slow start threshold before the event, in bytes.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.update.window.ssthresh
    }

    /// Congestion window and slow start threshold that RFC 5681 would set, or RFC 8511 after an ECN
    /// mark, in bytes.
    #[getter]
    fn usual(&self) -> (u32, u32) {
        (self.update.usual.cwnd, self.update.usual.ssthresh)
    }

    /// Bytes in flight.
    #[getter]
    fn flight(&self) -> u32 {
        self.update.flight
    }

    /// Bytes of new data that the acknowledgment covers.
    #[getter]
    fn acked(&self) -> u32 {
        self.update.acked
    }

    /// Smoothed round-trip time in milliseconds, if one was measured.
    #[getter]
    fn srtt_ms(&self) -> Option<u16> {
        self.update.srtt_ms
    }

    /// For an acknowledgment: whether at least half of the window was in use.
    #[getter]
    fn is_filled(&self) -> bool {
        self.update.event == CongestionEvent::Acked { filled: true }
    }

    /// For a timeout: whether it is the first timeout since new data were acknowledged.
    #[getter]
    fn is_first(&self) -> bool {
        self.update.event == CongestionEvent::Timeout { first: true }
    }

    fn __repr__(&self) -> String {
        format!(
            "<redpoll.CongestionUpdate of {} at {:.3} s: {}, cwnd {}, ssthresh {}>",
            self.node,
            seconds(&self.update),
            &method(self.update.event)[3..],
            self.update.window.cwnd,
            self.update.window.ssthresh
        )
    }
}
