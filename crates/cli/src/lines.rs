//! Lines: Unix or TCP sockets to nodes that run outside the simulator.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redpoll_linux::line::{Arrived, LineAddress, LineWatch, SocketLine};
use redpoll_linux::privilege::Account;
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_sim::external::{Arrival, Line};
use redpoll_sim::{Scenario, World};

/// Opens the lines of a scenario: the sockets to its nodes that run outside the simulator.
pub(crate) struct Sockets {
    folder: PathBuf,
    watch: LineWatch,
    /// Owner of the files of Unix sockets; `None` is the user of this process.
    account: Option<Account>,
    opened: RefCell<Vec<LineAddress>>,
}

impl Sockets {
    /// Makes sockets whose files are in the folder of the scenario's file.
    pub(crate) fn beside(scenario: &Scenario) -> std::io::Result<Sockets> {
        let folder = scenario.files.first().and_then(|file| file.parent());
        Ok(Sockets {
            folder: folder.unwrap_or(Path::new("")).to_owned(),
            watch: LineWatch::new()?,
            account: None,
            opened: RefCell::default(),
        })
    }

    /// Sets the owner of the files of Unix sockets; `None` is the user of this process.
    pub(crate) fn of(self, account: Option<&Account>) -> Sockets {
        Sockets {
            account: account.cloned(),
            ..self
        }
    }

    /// Returns the rights that this process needs for the opened lines.
    pub(crate) fn sandbox(&self) -> Sandbox {
        let opened = self.opened.borrow();
        opened.iter().fold(Sandbox::default(), |sandbox, address| {
            match address {
                // The socket's file is removed when the line is closed.
                LineAddress::UnixListen(path) => sandbox.with_removal(path),
                LineAddress::Tcp(place) => sandbox.with_connections_to_place(place),
                LineAddress::Unix(_) | LineAddress::TcpListen(_) => sandbox,
            }
        })
    }

    /// Returns a watch that signals received bytes on any of the lines.
    pub(crate) fn watch(&self) -> LineWatch {
        self.watch.clone()
    }
}

struct Socket(SocketLine);

impl Sockets {
    pub(crate) fn open(&self, line: &str) -> Result<Box<dyn Line>, String> {
        let address = LineAddress::parse(line, &self.folder)?;
        self.opened.borrow_mut().push(address.clone());
        let open = || SocketLine::open(address, &self.watch);
        let socket = match &self.account {
            None => open(),
            Some(account) => account.act(open).and_then(|opened| opened),
        };
        let socket = socket.map_err(|error| format!("cannot open the line {line}: {error}"))?;
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

/// Returns a line of text for each event since the last call: an external node has connected, left
/// or fallen silent.
pub(crate) fn notices(world: &mut World) -> Vec<String> {
    let notices = world.take_notices();
    let line = |notice: &redpoll_sim::PrintedLine| {
        let name = &world.scenario().nodes[notice.node].name;
        let at = notice.at.as_micros() as f64 / 1e6;
        format!("{at:.3} s: {name} {}", notice.text)
    };
    notices.iter().map(line).collect()
}
