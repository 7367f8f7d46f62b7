//! Transfers that a viewer starts, in addition to the scenario's apps.

use std::collections::BTreeMap;

use redpoll_base::Duration;
use redpoll_tcp::Endpoint;

use super::peers::Peers;
use super::{App, Route, bulk};

const PORT: u16 = 50_001;
/// Pause before another attempt.
const RETRY: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Transfers {
    peers: Peers,
    sinks: BTreeMap<usize, u16>,
    count: usize,
}

impl Transfers {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the port of the sink of node `to`, which has memory for `connections`, with a new
    /// sink if there was none.
    pub(crate) fn sink(&mut self, to: usize, connections: u16) -> (u16, Option<Box<dyn App>>) {
        if let Some(port) = self.sinks.get(&to) {
            return (*port, None);
        }
        self.sinks.insert(to, PORT);
        let sink = bulk::Sink::new(PORT, self.peers.clone(), connections, None);
        (PORT, Some(Box::new(sink)))
    }

    /// Creates the app that sends `bytes` from one of two nodes to the other.
    pub(crate) fn sender(
        &mut self,
        [from, to]: [String; 2],
        remote: Endpoint,
        bytes: u64,
    ) -> Box<dyn App> {
        self.count += 1;
        let route = Route {
            flow: format!("transfer {}", self.count),
            from,
            to,
            remote,
            is_inside: true,
            peers: self.peers.clone(),
        };
        Box::new(bulk::Sender::new(route, Some(bytes), RETRY, false))
    }
}
