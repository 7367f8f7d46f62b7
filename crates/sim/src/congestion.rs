//! Congestion control that whoever runs a scenario brings along, by the names that the scenario
//! uses for it ([`Scenario::parse_with`]).
//!
//! The engine calls it in the middle of a connection's work, through a reference that lives for
//! ever and knows nothing but numbers ([`GivenCongestion`]). The numbers belong to the thread
//! that simulates; a world does not leave that, and takes its own along when it ends.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use redpoll_replay::{
    CongestionChoice, CongestionNews as News, CongestionWindow as Window, GivenCongestion,
};
pub use redpoll_replay::{CongestionEvent, CongestionNews, CongestionWindow};

use crate::scenario::{CongestionSpec, Scenario};

/// The controllers that are brought along.
pub trait Controllers {
    /// A connection of the node `node` begins, whose congestion control is called `name`. What
    /// controls it; `None`: the engine's own, as far as this connection goes.
    fn begin(&self, name: &str, node: &str) -> Option<Box<dyn Controller>>;
}

/// What controls one connection.
pub trait Controller {
    /// What the window is after `news`; `None`: the usual one.
    fn on(&mut self, news: &News) -> Option<Window>;
}

/// Who is asked when a connection begins.
#[derive(Clone)]
struct Place {
    controllers: Rc<dyn Controllers>,
    name: String,
    node: String,
}

#[derive(Default)]
struct Desk {
    places: BTreeMap<u32, Place>,
    /// A controller is taken out while it is being asked.
    connections: BTreeMap<u32, Box<dyn Controller>>,
    next_place: u32,
    next_connection: u32,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Has the desk do something. Nothing of others is called or dropped meanwhile.
fn desk<R>(act: impl FnOnce(&mut Desk) -> R) -> Option<R> {
    // While a thread ends there is none any more.
    DESK.try_with(|desk| act(&mut desk.borrow_mut())).ok()
}

/// The way from the engine to the desk of its thread.
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
        let controller = place.and_then(|it| it.controllers.begin(&it.name, &it.node));
        if let Some(controller) = controller {
            desk(|desk| desk.connections.insert(connection, controller));
        }
        connection
    }

    fn on(&self, connection: u32, news: &News) -> Option<Window> {
        let mut controller = desk(|desk| desk.connections.remove(&connection))??;
        let answer = controller.on(news);
        desk(|desk| desk.connections.insert(connection, controller));
        answer
    }

    fn end(&self, connection: u32) {
        let ended = desk(|desk| desk.connections.remove(&connection));
        drop(ended);
    }
}

/// The places of a world, as long as it lives.
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

/// Has the nodes of `scenario` ask `controllers`. Which node asks for which name that nobody
/// has brought along, if any does.
pub(crate) fn bind(
    scenario: &mut Scenario,
    controllers: Option<&Rc<dyn Controllers>>,
) -> Result<Places, (String, String)> {
    let mut places = Places::default();
    for node in scenario.places_mut() {
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
