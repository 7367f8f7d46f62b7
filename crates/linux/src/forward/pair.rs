//! A forwarded connection: a socket of the host, a connection into the mesh, and two buffers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV6, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{setsockopt, sockopt};

use super::{Broken, Ending, Ends, ForwardCounters, MeshTcp, Received};

/// Bytes in transit in one direction: those that were read and not yet written.
#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// Size of a buffer in bytes: enough to keep the mesh busy until the host's program runs again.
    const SIZE: usize = 4096;

    fn new() -> Self {
        Buffer {
            bytes: vec![0; Self::SIZE].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.end);
    }

    /// Returns the whole buffer, empty, for new data.
    fn refill(&mut self) -> &mut [u8] {
        (self.start, self.end) = (0, 0);
        &mut self.bytes
    }

    fn filled(&mut self, len: usize) {
        self.end = len.min(self.bytes.len());
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Open,
    /// The source has ended; the buffer may still hold bytes.
    Ended,
    Closed,
}

enum Broke {
    Host,
    Mesh,
}

impl From<Broken> for Broke {
    fn from(Broken: Broken) -> Self {
        Broke::Mesh
    }
}

/// Returns the result of a non-blocking call on the host's socket: `None` if it would block.
fn now_or_later(result: io::Result<usize>) -> Result<Option<usize>, Broke> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(_) => Err(Broke::Host),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Stalled,
    Moved,
    /// No bytes remain to be moved, so the caller removes the pair.
    Over(Ending),
}

#[derive(Debug)]
pub(super) struct Pair<C> {
    host: TcpStream,
    mesh: C,
    ends: Ends,
    carried: [u64; 2],
    /// Host to mesh.
    inward: Buffer,
    inward_stream: Stream,
    /// Mesh to host.
    outward: Buffer,
    outward_stream: Stream,
}

impl<C> Pair<C> {
    pub(super) fn new(host: TcpStream, mesh: C, target: SocketAddrV6) -> Self {
        let ends = ends(&host, target);
        // Results are ignored: both calls succeed on a socket that has just been accepted.
        let _ = host.set_nonblocking(true);
        let _ = host.set_nodelay(true);
        Pair {
            host,
            mesh,
            ends,
            carried: [0; 2],
            inward: Buffer::new(),
            inward_stream: Stream::Open,
            outward: Buffer::new(),
            outward_stream: Stream::Open,
        }
    }

    pub(super) fn ends(&self) -> Ends {
        self.ends
    }

    pub(super) fn is_opening(&self, mesh: &impl MeshTcp<Conn = C>) -> bool {
        mesh.is_opening(&self.mesh)
    }

    pub(super) fn carried(&self) -> [u64; 2] {
        self.carried
    }

    /// Returns the awaited events of the host's socket: readable only if there is room for bytes,
    /// writable only if there are bytes to write.
    pub(super) fn interest(&self) -> Option<PollFd<'_>> {
        let mut flags = PollFlags::empty();
        if self.inward.is_empty() && self.inward_stream == Stream::Open {
            flags |= PollFlags::POLLIN;
        }
        if !self.outward.is_empty() {
            flags |= PollFlags::POLLOUT;
        }
        // No events awaited: the socket is not polled, because the kernel would report a hang-up
        // again and again.
        (!flags.is_empty()).then(|| PollFd::new(self.host.as_fd(), flags))
    }

    /// Moves bytes in both directions as far as possible.
    pub(super) fn pump(
        &mut self,
        mesh: &mut impl MeshTcp<Conn = C>,
        counters: &mut ForwardCounters,
    ) -> Progress {
        let before = (self.inward_stream, self.outward_stream, *counters);
        let result = self
            .pump_inward(mesh, counters)
            .and_then(|()| self.pump_outward(mesh, counters));
        let after = (self.inward_stream, self.outward_stream, *counters);
        self.carried[0] += after.2.bytes_in - before.2.bytes_in;
        self.carried[1] += after.2.bytes_out - before.2.bytes_out;
        match result {
            Err(Broke::Mesh) => {
                counters.broken_by_mesh += 1;
                reset(&self.host);
                Progress::Over(Ending::BrokenByMesh)
            }
            Err(Broke::Host) => {
                counters.broken_by_host += 1;
                Progress::Over(Ending::BrokenByHost)
            }
            Ok(()) if (after.0, after.1) == (Stream::Closed, Stream::Closed) => {
                Progress::Over(Ending::Closed)
            }
            Ok(()) if before == after => Progress::Stalled,
            Ok(()) => Progress::Moved,
        }
    }

    pub(super) fn finish(self, mesh: &mut impl MeshTcp<Conn = C>) {
        mesh.release(self.mesh);
    }

    fn pump_inward(
        &mut self,
        mesh: &mut impl MeshTcp<Conn = C>,
        counters: &mut ForwardCounters,
    ) -> Result<(), Broke> {
        loop {
            if !self.inward.is_empty() {
                let len = mesh.send(&mut self.mesh, self.inward.waiting())?;
                if len == 0 {
                    return Ok(());
                }
                self.inward.consume(len);
                counters.bytes_in += len as u64;
                continue;
            }
            match self.inward_stream {
                Stream::Open => match now_or_later(self.host.read(self.inward.refill()))? {
                    None => return Ok(()),
                    Some(0) => self.inward_stream = Stream::Ended,
                    Some(len) => self.inward.filled(len),
                },
                Stream::Ended => {
                    mesh.close(&mut self.mesh);
                    self.inward_stream = Stream::Closed;
                }
                Stream::Closed => return Ok(()),
            }
        }
    }

    fn pump_outward(
        &mut self,
        mesh: &mut impl MeshTcp<Conn = C>,
        counters: &mut ForwardCounters,
    ) -> Result<(), Broke> {
        loop {
            if !self.outward.is_empty() {
                let Some(len) = now_or_later(self.host.write(self.outward.waiting()))? else {
                    return Ok(());
                };
                self.outward.consume(len);
                counters.bytes_out += len as u64;
                continue;
            }
            match self.outward_stream {
                Stream::Open => match mesh.recv(&mut self.mesh, self.outward.refill())? {
                    Received::Nothing => return Ok(()),
                    Received::End => self.outward_stream = Stream::Ended,
                    Received::Data(len) => self.outward.filled(len),
                },
                Stream::Ended => {
                    self.host
                        .shutdown(Shutdown::Write)
                        .map_err(|_| Broke::Host)?;
                    self.outward_stream = Stream::Closed;
                }
                Stream::Closed => return Ok(()),
            }
        }
    }
}

pub(super) fn ends(host: &TcpStream, target: SocketAddrV6) -> Ends {
    // `peer_addr` fails on a socket that has been reset meanwhile.
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    (host.peer_addr().unwrap_or(nobody), target)
}

/// Makes the socket close by a reset, so that the host's program learns that bytes are missing.
pub(super) fn reset(host: &TcpStream) {
    let now = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // If this call fails, the program receives an early end of stream instead of a reset.
    let _ = setsockopt(host, sockopt::Linger, &now);
}
