//! The loop that joins a mesh to this host in real time. Packets pass through a TUN interface,
//! connections through port forwards; a signal wakes the loop.
//!
//! The mesh runs on this loop's clock. The loop advances the mesh to the current time before each
//! input, so frames have exact times. Only packets from and to the host are delayed.

use std::io;
use std::net::SocketAddrV6;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{self, Duration as StdDuration};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use redpoll_base::{Duration, Instant};
use redpoll_border::{Splice, ToHost};
use redpoll_stack::Streams;
use redpoll_stack::transport::Endpoint;

use crate::forward::{Broken, ForwardEvent, Forwarder, MeshTcp, Received};
use crate::reach::{Attempt, Reach, Service};
use crate::tun::Tun;

/// A mesh that ends in a border router, as its host sees it.
pub trait Mesh {
    /// The border router, whose sockets the forwards use.
    type Border: Streams;

    /// Advances the mesh to `now`, which never decreases.
    fn advance(&mut self, now: Instant);

    /// Returns the time at which the mesh next has an event of its own.
    fn next_at(&self) -> Option<Instant>;

    /// Handles a packet from the host, with any bytes.
    fn input_packet(&mut self, packet: &[u8]);

    /// Writes the next packet for the host to `out` and returns its length.
    fn poll_packet(&mut self, out: &mut [u8]) -> Option<usize>;

    /// Calls `act` with the current time and the border router, then sends what the router queued.
    fn border<R>(&mut self, act: impl FnOnce(Instant, &mut Self::Border) -> R) -> R;
}

/// Each forwarded connection is a [`Splice`] on a socket of the border router.
impl<T: Mesh> MeshTcp for T {
    type Conn = Splice;

    fn connect(&mut self, remote: SocketAddrV6) -> Option<Splice> {
        let remote = Endpoint {
            addr: (*remote.ip()).into(),
            port: remote.port(),
        };
        self.border(|now, node| Splice::open(now, node, remote))
            .ok()
    }

    fn is_opening(&self, splice: &Splice) -> bool {
        splice.is_opening()
    }

    fn send(&mut self, splice: &mut Splice, bytes: &[u8]) -> Result<usize, Broken> {
        let taken = self.border(|now, node| splice.from_host(now, node, bytes));
        // The host's stream has not ended, so a splice that is done has failed.
        if splice.is_done() {
            Err(Broken)
        } else {
            Ok(taken)
        }
    }

    fn recv(&mut self, splice: &mut Splice, out: &mut [u8]) -> Result<Received, Broken> {
        match self.border(|now, node| splice.to_host(now, node, out)) {
            ToHost::Data(len) => Ok(Received::Data(len)),
            ToHost::Nothing => Ok(Received::Nothing),
            ToHost::End => Ok(Received::End),
            ToHost::Failed => Err(Broken),
        }
    }

    fn close(&mut self, splice: &mut Splice) {
        self.border(|now, node| splice.on_host_end(now, node));
    }

    fn release(&mut self, splice: Splice) {
        self.border(|now, node| splice.release(now, node));
    }
}

/// Real time since the start of the mesh, whose own time begins at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: time::Instant,
}

impl Clock {
    pub fn start() -> Self {
        Clock {
            origin: time::Instant::now(),
        }
    }

    pub fn now(&self) -> Instant {
        Instant::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayCounters {
    pub packets_in: u64,
    pub packets_out: u64,
    /// Packets from the mesh that the host's kernel did not accept.
    pub refused_by_host: u64,
    /// Packets from the mesh to destinations that its nodes may not reach.
    pub withheld: u64,
}

#[derive(Debug)]
pub struct Gateway {
    clock: Clock,
    tun: Option<Tun>,
    forwarder: Forwarder<Splice>,
    reach: Reach,
    counters: GatewayCounters,
    /// The greatest lateness of an event since the last query.
    lateness: Duration,
    packet: Box<[u8]>,
}

impl Gateway {
    /// Length of the steps in which a mesh that has fallen behind is advanced. The host's side and
    /// the user's Ctrl-C are handled between two steps.
    const STEP: Duration = Duration::from_millis(50);
    /// Packets taken from the host in a row before the mesh gets its turn.
    const BURST: usize = 16;
    /// Longest sleep of the loop if no event occurs; its value is not critical.
    const MAX_WAIT: StdDuration = StdDuration::from_secs(1);

    /// Makes a gateway between a mesh and `tun` and `forwarder`. The clock starts at zero now.
    pub fn new(tun: Option<Tun>, forwarder: Forwarder<Splice>) -> Self {
        Gateway::on_clock(Clock::start(), tun, forwarder)
    }

    /// Makes a gateway between a mesh and `tun` and `forwarder`, with a clock that runs already.
    pub fn on_clock(clock: Clock, tun: Option<Tun>, forwarder: Forwarder<Splice>) -> Self {
        Gateway {
            clock,
            tun,
            forwarder,
            reach: Reach::anything(),
            counters: GatewayCounters::default(),
            lateness: Duration::ZERO,
            packet: vec![0; 65536].into_boxed_slice(),
        }
    }

    /// Limits the destinations that nodes may reach; without this call they may reach all.
    #[must_use]
    pub fn with_reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Replaces the services that nodes may reach.
    pub fn expose(&mut self, services: Vec<Service>) {
        self.reach.expose(services);
    }

    /// Returns the next destination that a node was not allowed to reach.
    pub fn poll_attempt(&mut self) -> Option<Attempt> {
        self.reach.poll_attempt()
    }

    /// Returns the clock that the mesh runs on.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn forwarder(&self) -> &Forwarder<Splice> {
        &self.forwarder
    }

    pub fn poll_forward(&mut self) -> Option<ForwardEvent> {
        self.forwarder.poll_event()
    }

    pub fn tun(&self) -> Option<&Tun> {
        self.tun.as_ref()
    }

    pub fn counters(&self) -> &GatewayCounters {
        &self.counters
    }

    /// Returns the largest delay of an event of the mesh since the last call. The delay is normally
    /// some hundred microseconds. It grows without limit if the machine is too slow.
    pub fn take_lateness(&mut self) -> Duration {
        std::mem::take(&mut self.lateness)
    }

    /// Advances the mesh to the current time, and moves waiting packets and bytes between the mesh
    /// and the host. Fails if the TUN interface fails, for instance because it was set down.
    pub fn turn(&mut self, mesh: &mut impl Mesh) -> io::Result<()> {
        self.catch_up(mesh);
        self.take_from_host(mesh)?;
        while self.forwarder.pump(mesh) {}
        self.catch_up(mesh);
        self.give_to_host(mesh)
    }

    /// Sleeps until the mesh, the host or one of `others` (signals, an advertiser) has an event, or
    /// until `deadline`. Returns the kernel's error if it cannot wait.
    pub fn wait(
        &self,
        mesh: &impl Mesh,
        others: &[BorrowedFd<'_>],
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        let now = self.clock.now();
        let timeout = [mesh.next_at(), deadline]
            .into_iter()
            .flatten()
            .map(|at| StdDuration::from_micros(at.since(now).as_micros()))
            .fold(Self::MAX_WAIT, StdDuration::min);

        let mut fds = Vec::new();
        fds.extend(
            self.tun
                .as_ref()
                .map(|t| PollFd::new(t.as_fd(), PollFlags::POLLIN)),
        );
        let others = others.iter();
        fds.extend(others.map(|other| PollFd::new(*other, PollFlags::POLLIN)));
        self.forwarder.interests(&mut fds);
        match ppoll(&mut fds, Some(TimeSpec::from_duration(timeout)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn catch_up(&mut self, mesh: &mut impl Mesh) {
        let now = self.clock.now();
        let Some(due) = mesh.next_at().filter(|&at| at <= now) else {
            mesh.advance(now);
            return;
        };
        self.lateness = self.lateness.max(now.since(due));
        mesh.advance(now.min(due + Self::STEP));
    }

    fn take_from_host(&mut self, mesh: &mut impl Mesh) -> io::Result<()> {
        let Some(tun) = &self.tun else { return Ok(()) };
        for _ in 0..Self::BURST {
            let Some(len) = tun.recv(&mut self.packet)? else {
                break;
            };
            self.counters.packets_in += 1;
            self.reach.on_packet_to_mesh(&self.packet[..len]);
            mesh.input_packet(&self.packet[..len]);
        }
        Ok(())
    }

    fn give_to_host(&mut self, mesh: &mut impl Mesh) -> io::Result<()> {
        while let Some(len) = mesh.poll_packet(&mut self.packet) {
            let packet = &self.packet[..len.min(self.packet.len())];
            if !self.reach.may_leave(packet) {
                self.counters.withheld += 1;
                continue;
            }
            let taken = match &self.tun {
                Some(tun) => tun.send(packet)?,
                None => false,
            };
            if taken {
                self.counters.packets_out += 1;
            } else {
                self.counters.refused_by_host += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
