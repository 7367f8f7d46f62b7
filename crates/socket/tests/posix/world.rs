//! Two nodes with their tables of sockets, in virtual time. A [`Waiter`] advances the time.

use redpoll_base::{Addr, Duration, Instant};
use redpoll_socket::Errno;
use redpoll_socket::posix::blocking::Waiter;
use redpoll_socket::posix::{Answer, Fd, Protocol, Socket, Sockets, Wait};
use redpoll_tcp::Endpoint;

use crate::common::{HeapMemory, MTU, Node, endpoint, node};

pub const EAGAIN: Errno = Errno::EAGAIN;

pub struct World {
    pub nodes: [Node; 2],
    pub tables: [[Socket; 6]; 2],
    pub now: Instant,
    /// Whether the link loses every packet.
    pub is_cut: bool,
    /// An action of the other side at this time, once.
    pub later: Option<(Instant, Act)>,
}

pub type Act = fn(&mut World);

/// The sockets of one node, for calls that wait.
pub struct Side<'w>(&'w mut World, usize);

impl World {
    pub fn new() -> World {
        World {
            nodes: [node(1), node(2)],
            tables: [const { [const { Socket::FREE }; 6] }; 2],
            now: Instant::ZERO,
            is_cut: false,
            later: None,
        }
    }

    /// Makes a call of node `side`, and exchanges all packets that follow without time passing.
    pub fn on<T>(
        &mut self,
        side: usize,
        call: impl FnOnce(&mut Sockets<'_, HeapMemory>) -> T,
    ) -> T {
        let (node, table) = (&mut self.nodes[side], &mut self.tables[side]);
        let now = self.now;
        let answer = call(&mut Sockets { node, table, now });
        self.settle();
        answer
    }

    fn settle(&mut self) {
        let mut packet = [0; MTU];
        for side in [0, 1, 0, 1, 0, 1] {
            while let Some(len) = self.nodes[side].poll_packet(self.now, &mut packet) {
                if !self.is_cut {
                    let _ = self.nodes[1 - side].input_packet(self.now, &packet[..len]);
                }
            }
            while self.nodes[side].poll_event().is_some() {}
        }
    }

    /// Advances the time to the next event, but not beyond `limit`.
    pub fn step(&mut self, limit: Instant) {
        let later = self.later.as_ref().map(|(at, _)| *at);
        let timers = self
            .nodes
            .iter()
            .filter_map(|node| Some(node.poll_at()?.at));
        let due = timers.chain(later).min();
        self.now = due.map_or(limit, |due| due.min(limit)).max(self.now);
        for node in &mut self.nodes {
            node.on_timeout(self.now);
        }
        self.settle();
        if let Some((_, act)) = self.later.take_if(|(at, _)| *at <= self.now) {
            act(self);
        }
    }

    pub fn side(&mut self, side: usize) -> Side<'_> {
        Side(self, side)
    }

    pub fn listen(&mut self, side: usize, port: u16, backlog: i32) -> Fd {
        self.on(side, |s| {
            let fd = s.socket(Protocol::Tcp).unwrap();
            s.bind(fd, any(port)).unwrap();
            s.listen(fd, backlog).unwrap();
            fd
        })
    }

    /// Opens a connection from node 0 to `port` of node 1, which is not accepted yet.
    pub fn connect(&mut self, port: u16) -> Fd {
        let fd = self.on(0, |s| s.socket(Protocol::Tcp)).unwrap();
        let answer = self.on(0, |s| s.connect(fd, endpoint(2, port)));
        assert_eq!(answer, Err(Errno::EINPROGRESS));
        assert_eq!(self.on(0, |s| s.connect_result(fd)), Ok(()));
        fd
    }

    pub fn pair(&mut self) -> (Fd, Fd) {
        let listener = self.listen(1, 80, 1);
        let here = self.connect(80);
        let (there, peer) = self.on(1, |s| s.accept(listener)).unwrap();
        assert_eq!(self.on(0, |s| s.local(here)), Ok(peer));
        (here, there)
    }
}

impl Waiter for Side<'_> {
    type Profile = HeapMemory;

    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Sockets<'_, HeapMemory>) -> Answer<T>,
    ) -> Answer<T> {
        self.0.on(self.1, call)
    }

    fn wait<T>(
        &mut self,
        wait: Wait<'_>,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Sockets<'_, HeapMemory>) -> Answer<T>,
    ) -> Answer<T> {
        let patience = Duration::from_secs(1_000);
        let deadline = self.0.now + timeout.unwrap_or(patience);
        loop {
            let answer = self.0.on(self.1, &mut attempt);
            if !matches!(answer, Err(EAGAIN)) || self.0.now >= deadline {
                return answer;
            }
            // Sleep only if the exchange of packets after the attempt brought no answer.
            if !self.0.on(self.1, |s| s.is_ready(wait)) {
                self.0.step(deadline);
            }
        }
    }
}

pub fn any(port: u16) -> Endpoint {
    Endpoint::new(Addr::UNSPECIFIED, port)
}
