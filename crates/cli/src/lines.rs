//! Lines to nodes that run elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redpoll_linux::line::{Arrived, LineAddress, LineWatch, SocketLine};
use redpoll_sim::external::{Arrival, Line, Lines};
use redpoll_sim::scenario::{NodeSpec, Scenario};
use redpoll_sim::world::World;

/// Opens the lines of a scenario.
pub(crate) struct Sockets {
    folder: PathBuf,
    watch: LineWatch,
}

impl Sockets {
    /// Files are beside the scenario's own.
    pub(crate) fn beside(scenario: &Scenario) -> std::io::Result<Sockets> {
        let folder = scenario.files.first().and_then(|file| file.parent());
        Ok(Sockets {
            folder: folder.unwrap_or(Path::new("")).to_owned(),
            watch: LineWatch::new()?,
        })
    }

    /// What tells that something has come over one of them.
    pub(crate) fn watch(&self) -> LineWatch {
        self.watch.clone()
    }
}

struct Socket(SocketLine);

impl Lines for Sockets {
    fn open(&self, _: &NodeSpec, line: &str) -> Result<Box<dyn Line>, String> {
        let address = LineAddress::parse(line, &self.folder)?;
        let socket = SocketLine::open(address, &self.watch);
        let socket = socket.map_err(|error| format!("cannot wait at {line}: {error}"))?;
        Ok(Box::new(Socket(socket)))
    }
}

impl Line for Socket {
    fn send(&mut self, bytes: &[u8]) {
        self.0.send(bytes);
    }

    fn receive(&mut self, wait: Duration, bytes: &mut Vec<u8>) -> Arrival {
        match self.0.receive(wait, bytes) {
            Arrived::Nothing => Arrival::Nothing,
            Arrived::Peer => Arrival::Peer,
            Arrived::Bytes => Arrival::Bytes,
            Arrived::Gone => Arrival::Gone,
        }
    }
}

/// Lines about what has happened to nodes elsewhere.
pub(crate) fn notices(world: &mut World) -> Vec<String> {
    let notices = world.take_notices();
    let line = |notice: &redpoll_sim::world::PrintedLine| {
        let name = &world.scenario().nodes[notice.node].name;
        let at = notice.at.as_micros() as f64 / 1e6;
        format!("{at:.3} s: {name} {}", notice.text)
    };
    notices.iter().map(line).collect()
}
