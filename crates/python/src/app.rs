//! Applications written in Python, on the sockets of a simulated node.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

use pyo3::exceptions::{PyConnectionError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use redpoll_base::{Duration, Instant};
use redpoll_sim::{App, Context, FlowEnd, FlowId, Scenario};
use redpoll_stack::{ConnId, Error, ListenerId, NodeEvent, Streams as _};
use redpoll_tcp::{Endpoint, Event};

/// The first exception of a run's applications and congestion controls, which ends the run.
#[derive(Clone, Default)]
pub struct Fault(Rc<RefCell<Option<PyErr>>>);

impl Fault {
    /// Returns and removes the exception, if one was raised.
    pub fn take(&self) -> Option<PyErr> {
        self.0.borrow_mut().take()
    }

    /// Returns whether an exception was raised.
    pub fn is_there(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Stores an exception; only the first one is kept.
    pub fn put(&self, error: PyErr) {
        self.0.borrow_mut().get_or_insert(error);
    }
}

/// An object with some of the methods of `redpoll.App`.
pub struct PythonApp {
    app: Py<PyAny>,
    fault: Fault,
    state: State,
}

/// The connections and timers of an application.
#[derive(Default)]
struct State {
    name: String,
    /// Names of all nodes with their addresses.
    addresses: Vec<(String, redpoll_base::Addr)>,
    conns: BTreeMap<u32, Conn>,
    listeners: BTreeMap<u16, (ListenerId, String)>,
    next: u32,
    timer: Option<Instant>,
}

/// A connection, and the oracle's flows for sent and received bytes.
struct Conn {
    id: ConnId,
    away: FlowId,
    here: FlowId,
}

/// The methods that an application may have.
const METHODS: [&str; 3] = ["start", "on_event", "on_timer"];

/// Checks that `app` has at least one of [`METHODS`], so that it can be an application.
pub fn check(app: &Bound<'_, PyAny>) -> PyResult<()> {
    for method in METHODS {
        if app.hasattr(method)? && app.getattr(method)?.is_callable() {
            return Ok(());
        }
    }
    let kind = app.get_type().qualname()?;
    Err(PyTypeError::new_err(format!(
        "got an object of type {kind} as an application; allowed: an object with `start`, \
         `on_event` or `on_timer`, such as a subclass of redpoll.App"
    )))
}

impl PythonApp {
    /// Returns the application `app` for node `index`.
    pub fn new(app: Py<PyAny>, index: usize, scenario: &Scenario, fault: &Fault) -> PythonApp {
        let nodes = scenario.nodes.iter().enumerate();
        let addresses =
            nodes.filter_map(|(at, node)| Some((node.name.clone(), scenario.address(at)?)));
        PythonApp {
            app,
            fault: fault.clone(),
            state: State {
                name: scenario.nodes[index].name.clone(),
                addresses: addresses.collect(),
                ..State::default()
            },
        }
    }

    /// Calls `method` of the application if the application defines it and no exception was raised.
    fn call(&mut self, cx: &mut Context<'_>, method: &str, event: Option<(&str, u32)>) {
        if self.fault.is_there() {
            return;
        }
        let state = &mut self.state;
        let called = Python::attach(|py| -> PyResult<()> {
            let app = self.app.bind(py);
            if !app.hasattr(method)? {
                return Ok(());
            }
            // The context is lent only for this call. `Loan` also ends the loan after a panic.
            let node = Bound::new(py, Node::lend(cx, state))?;
            let _loan = Loan(node.borrow());
            let called = match event {
                Some((event, conn)) => app.call_method1(method, (&node, event, conn)),
                None => app.call_method1(method, (&node,)),
            };
            called.map(drop)
        });
        if let Err(error) = called {
            self.fault.put(error);
        }
    }
}

impl App for PythonApp {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.call(cx, "start", None);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match event {
            NodeEvent::Accepted(listener) => {
                let mut ports = self.state.listeners.iter();
                let port = ports
                    .find(|(_, (id, _))| id == listener)
                    .map(|(port, _)| *port);
                let Some(port) = port else { return };
                while let Some(id) = cx.node.accept(*listener) {
                    if let Some(conn) = self.state.accepted(cx, port, id) {
                        self.call(cx, "on_event", Some(("accepted", conn)));
                    }
                }
            }
            NodeEvent::Tcp(id, event) => {
                let mut conns = self.state.conns.iter();
                let conn = conns
                    .find(|(_, conn)| conn.id == *id)
                    .map(|(conn, _)| *conn);
                let Some(conn) = conn else { return };
                let name = match event {
                    Event::Connected => "connected",
                    Event::Readable => "readable",
                    Event::Writable => "writable",
                    Event::PeerClosed => "peer_closed",
                    Event::Closed => "closed",
                    Event::Failed(_) => "failed",
                    Event::Trouble(_) => "trouble",
                    _ => return,
                };
                self.call(cx, "on_event", Some((name, conn)));
                if matches!(event, Event::Closed | Event::Failed(_))
                    && let Some(conn) = self.state.conns.remove(&conn)
                {
                    if let Event::Failed(_) = event {
                        cx.oracle.restart(conn.away);
                    }
                    cx.node.release(cx.now, conn.id);
                }
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if self.state.timer.is_some_and(|at| at <= cx.now) {
            self.state.timer = None;
            self.call(cx, "on_timer", None);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.state.timer
    }
}

impl State {
    fn address(&self, node: &str) -> Option<redpoll_base::Addr> {
        let found = self.addresses.iter().find(|(name, _)| name == node);
        found.map(|(_, addr)| *addr)
    }

    /// Assigns a number to a connection, and registers both of its flows with the oracle.
    fn add(
        &mut self,
        cx: &mut Context<'_>,
        id: ConnId,
        flow: &str,
        peer: &str,
        opens: bool,
    ) -> u32 {
        let answer = format!("{flow}-answer");
        let (of_own, of_peer) = match opens {
            true => (flow, answer.as_str()),
            false => (answer.as_str(), flow),
        };
        let away = cx.oracle.flow(of_own, &self.name, peer);
        let here = cx.oracle.flow(of_peer, peer, &self.name);
        cx.oracle.watch(away, FlowEnd::Sender, id);
        cx.oracle.watch(here, FlowEnd::Receiver, id);
        let number = self.next;
        self.next += 1;
        self.conns.insert(number, Conn { id, away, here });
        number
    }

    fn accepted(&mut self, cx: &mut Context<'_>, port: u16, id: ConnId) -> Option<u32> {
        let remote = cx.node.stream(id)?.remote;
        let known = self.addresses.iter().find(|(_, addr)| *addr == remote.addr);
        let peer = known.map_or_else(|| remote.addr.to_string(), |(name, _)| name.clone());
        let (_, flow) = self.listeners.get(&port)?;
        let flow = flow.clone();
        Some(self.add(cx, id, &flow, &peer, false))
    }
}

/// A simulated node, which can be used while a method of its application runs.
#[pyclass(frozen, module = "redpoll")]
pub struct Node {
    /// The thread of the run. Only this thread may use the node.
    thread: ThreadId,
    lent: Mutex<Option<Lent>>,
}

/// Ends the loan of values to a node when dropped, also during a panic.
struct Loan<'py>(PyRef<'py, Node>);

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.0.lent().take();
    }
}

/// The values that a call lends to a node. The pointers are valid until the [`Loan`] ends, and the
/// [`Loan`] ends before the caller's borrows.
struct Lent {
    cx: *mut Context<'static>,
    state: *mut State,
}

// SAFETY: only `Node::with` follows the pointers. It follows them only on the thread that lent
// them; another thread can at most drop the pointers.
unsafe impl Send for Lent {}

impl Node {
    fn lend(cx: &mut Context<'_>, state: &mut State) -> Node {
        let cx: *mut Context<'_> = cx;
        Node {
            thread: std::thread::current().id(),
            lent: Mutex::new(Some(Lent {
                // Only the lifetime in the type changes; `with` uses the value only within a call.
                cx: cx.cast(),
                state,
            })),
        }
    }

    /// Returns the pointers that a method call lends. They are also valid in a poisoned lock.
    fn lent(&self) -> MutexGuard<'_, Option<Lent>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<R>(
        &self,
        act: impl FnOnce(&mut Context<'_>, &mut State) -> PyResult<R>,
    ) -> PyResult<R> {
        if std::thread::current().id() != self.thread {
            return Err(PyRuntimeError::new_err(
                "a node can be used only on the thread that runs its application",
            ));
        }
        // Hold the lock during the call, so that no second call uses the pointers at the same time.
        let mut lent = match self.lent.try_lock() {
            Ok(lent) => lent,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(PyRuntimeError::new_err(
                    "another call on this node is in progress",
                ));
            }
        };
        let lent = lent.as_mut().ok_or_else(|| {
            PyRuntimeError::new_err("a node can be used only while its application is called")
        })?;
        // SAFETY: `PythonApp::call` has borrowed both values mutably until its `Loan` ends, and
        // does not use them in between. This thread is the one that lent them.
        let (cx, state) = unsafe { (&mut *lent.cx, &mut *lent.state) };
        act(cx, state)
    }
}

fn gone(conn: u32) -> PyErr {
    PyConnectionError::new_err(format!("connection {conn} no longer exists"))
}

#[pymethods]
impl Node {
    /// The node's name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.with(|_, state| Ok(state.name.clone()))
    }

    /// Virtual time in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.with(|cx, _| Ok(cx.now.as_micros() as f64 / 1e6))
    }

    /// Calls `on_timer` once after `seconds`; a later call replaces the timer. The run ends if the
    /// timer expires 10,000 times at the same virtual time, such as after `wake_in(0)` in each
    /// `on_timer`.
    fn wake_in(&self, seconds: f64) -> PyResult<()> {
        if !(0.0..=1e9).contains(&seconds) {
            return Err(PyValueError::new_err(format!(
                "wake_in: got {seconds} s; allowed: 0 to 1000000000 s"
            )));
        }
        self.with(|cx, state| {
            state.timer = Some(cx.now + Duration::from_micros((seconds * 1e6) as u64));
            Ok(())
        })
    }

    /// Accepts connections at a port. The oracle measures their data as the flow `flow`.
    #[pyo3(signature = (port, flow="python"))]
    fn listen(&self, port: u16, flow: &str) -> PyResult<()> {
        self.with(|cx, state| {
            let id = cx.node.listen(port);
            let id = id.map_err(|error| PyConnectionError::new_err(format!("{error:?}")))?;
            state.listeners.insert(port, (id, flow.to_owned()));
            Ok(())
        })
    }

    /// Opens a connection to a node's port and returns its number.
    #[pyo3(signature = (to, port, flow="python"))]
    fn connect(&self, to: &str, port: u16, flow: &str) -> PyResult<u32> {
        self.with(|cx, state| {
            let addr = state.address(to);
            let addr = addr
                .ok_or_else(|| PyValueError::new_err(format!("there is no node called {to:?}")))?;
            let measured = cx.oracle.flow(flow, &state.name, to);
            if state.conns.values().any(|conn| conn.away == measured) {
                // Allow one connection per flow, because the oracle compares one stream per flow.
                let text = format!(
                    "the flow {flow:?} to {to} already has a connection; allowed: another name \
                     for the flow"
                );
                return Err(PyValueError::new_err(text));
            }
            let id = cx.node.connect(cx.now, Endpoint { addr, port });
            let id = id.map_err(|error| PyConnectionError::new_err(format!("{error:?}")))?;
            Ok(state.add(cx, id, flow, to, true))
        })
    }

    /// Sends bytes on a connection and returns the number of accepted bytes. If some were not
    /// accepted, the event "writable" follows when the send buffer has room.
    fn send(&self, conn: u32, data: &[u8]) -> PyResult<usize> {
        self.with(|cx, state| {
            let it = state.conns.get(&conn).ok_or_else(|| gone(conn))?;
            match cx.node.send(cx.now, it.id, data) {
                Ok(sent) => {
                    cx.oracle.sent(it.away, cx.world_time, &data[..sent]);
                    Ok(sent)
                }
                Err(Error::WouldBlock) => Ok(0),
                Err(error) => Err(PyConnectionError::new_err(format!("{error:?}"))),
            }
        })
    }

    /// Receives at most `most` bytes from a connection. Returns an empty result if no bytes are
    /// waiting, and `None` after the end of the stream.
    #[pyo3(signature = (conn, most=65_536))]
    fn recv<'py>(
        &self,
        py: Python<'py>,
        conn: u32,
        most: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.with(|cx, state| {
            let it = state.conns.get(&conn).ok_or_else(|| gone(conn))?;
            let mut bytes = Vec::new();
            let mut chunk = [0; 512];
            while bytes.len() < most {
                let room = chunk.len().min(most - bytes.len());
                match cx.node.recv(cx.now, it.id, &mut chunk[..room]) {
                    Ok(0) if bytes.is_empty() => return Ok(None),
                    Ok(0) => break,
                    Ok(len) => {
                        cx.oracle.received(it.here, cx.world_time, &chunk[..len]);
                        bytes.extend_from_slice(&chunk[..len]);
                    }
                    Err(Error::WouldBlock) => break,
                    Err(error) => return Err(PyConnectionError::new_err(format!("{error:?}"))),
                }
            }
            Ok(Some(bytes))
        })?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Closes the sending direction of a connection.
    fn close(&self, conn: u32) -> PyResult<()> {
        self.with(|cx, state| {
            let it = state.conns.get(&conn).ok_or_else(|| gone(conn))?;
            cx.node.close(cx.now, it.id);
            Ok(())
        })
    }
}
