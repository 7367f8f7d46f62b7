//! Congestion control that the caller of a simulation provides, by the names in the scenario
//! ([`Scenario::parse_with`]).
//!
//! The engine calls a [`Controller`] through a `'static` reference ([`GivenCongestion`]), which can
//! pass only numbers. The numbers are keys of a thread-local table. A world stays on its thread,
//! and removes its entries from the table when it is dropped.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use redpoll_replay::{
    CongestionChoice, CongestionUpdate as Update, CongestionWindow as Window, GivenCongestion,
};

use crate::scenario::{CongestionSpec, NodeSpec, Scenario};

pub trait Controller {
    /// Returns the window after `update`; `None` keeps the engine's window.
    fn on(&mut self, update: &Update) -> Option<Window>;
}

/// Makes a controller, see [`WorldOptions::controllers`](crate::WorldOptions::controllers).
pub(crate) type Controllers = dyn Fn(&str, &str) -> Option<Box<dyn Controller>>;

/// Source of the controllers for one node's connections.
#[derive(Clone)]
struct Place {
    controllers: Rc<Controllers>,
    name: String,
    node: String,
}

#[derive(Default)]
struct Desk {
    places: BTreeMap<u32, Place>,
    /// Controllers by connection. A controller is not in the map while it is being called.
    connections: BTreeMap<u32, Box<dyn Controller>>,
    next_place: u32,
    next_connection: u32,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Calls `act` with the table of this thread. `act` must not call or drop a controller.
fn desk<R>(act: impl FnOnce(&mut Desk) -> R) -> Option<R> {
    // The access fails if the thread is ending and has already destroyed the table.
    DESK.try_with(|desk| act(&mut desk.borrow_mut())).ok()
}

/// Forwards calls of the engine to the controllers in the table of the current thread.
struct ToDesk;

impl GivenCongestion for ToDesk {
    fn begin(&self, place: u32) -> u32 {
        let found = desk(|desk| {
            let connection = desk.next_connection;
            desk.next_connection = connection.wrapping_add(1);
            (connection, desk.places.get(&place).cloned())
        });
        let Some((connection, place)) = found else {
            return u32::MAX;
        };
        let controller = place.and_then(|it| (it.controllers)(&it.name, &it.node));
        if let Some(controller) = controller {
            desk(|desk| desk.connections.insert(connection, controller));
        }
        connection
    }

    fn on(&self, connection: u32, update: &Update) -> Option<Window> {
        let mut controller = desk(|desk| desk.connections.remove(&connection))??;
        let answer = controller.on(update);
        desk(|desk| desk.connections.insert(connection, controller));
        answer
    }

    fn end(&self, connection: u32) {
        let ended = desk(|desk| desk.connections.remove(&connection));
        drop(ended);
    }
}

/// Keys of a world's [`Place`]s in the table, which are removed when the world is dropped.
#[derive(Default)]
pub(crate) struct Places(Vec<u32>);

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} places", self.0.len())
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let gone = desk(|desk| {
            let mut gone = Vec::new();
            for place in &self.0 {
                gone.extend(desk.places.remove(place));
            }
            gone
        });
        drop(gone);
    }
}

/// Connects the nodes of `scenario` to `controllers`. Returns the first node whose congestion
/// control is not provided, and the name of that congestion control.
pub(crate) fn bind(
    scenario: &mut Arc<Scenario>,
    controllers: Option<&Rc<Controllers>>,
) -> Result<Places, (String, String)> {
    let mut places = Places::default();
    let is_given = |node: &NodeSpec| matches!(node.congestion, CongestionSpec::Given(_));
    if !scenario.places().any(is_given) {
        return Ok(places);
    }
    for node in Arc::make_mut(scenario).places_mut() {
        let CongestionSpec::Given(name) = &node.congestion else {
            continue;
        };
        let Some(controllers) = controllers else {
            return Err((node.name.clone(), name.clone()));
        };
        let place = Place {
            controllers: controllers.clone(),
            name: name.clone(),
            node: node.name.clone(),
        };
        let number = desk(|desk| {
            let number = desk.next_place;
            desk.next_place = number.wrapping_add(1);
            desk.places.insert(number, place);
            number
        });
        places.0.extend(number);
        let number = number.unwrap_or(u32::MAX);
        node.congestion = CongestionSpec::Engine(CongestionChoice::given(&ToDesk, number));
    }
    Ok(places)
}
