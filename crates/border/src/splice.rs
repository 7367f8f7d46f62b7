//! A port forward: bytes between a stream on the host and a connection into the mesh.

use redpoll_base::Instant;
use redpoll_stack::transport::{Endpoint, State};
use redpoll_stack::{ConnId, Error, Streams};

/// The result of [`Splice::to_host`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToHost {
    /// This number of bytes was written to the buffer.
    Data(usize),
    /// No data at the moment.
    Nothing,
    /// The mesh side has ended its direction: shut the host's stream down for writing.
    End,
    /// The connection into the mesh failed or could not be opened: reset the host's stream.
    Failed,
}

/// One forwarded connection. It buffers nothing: bytes that the connection does not take stay in
/// the host's socket, which the caller stops reading. Bytes that the host does not take stay in the
/// connection, whose window closes.
#[derive(Clone, Copy, Debug)]
pub struct Splice {
    conn: ConnId,
    opening: bool,
    host_ended: bool,
    /// Whether the connection was informed of the end of the host's stream.
    closed: bool,
    mesh_ended: bool,
    failed: bool,
}

impl Splice {
    /// Opens a connection from the border router to `target` in the mesh.
    ///
    /// # Errors
    /// As [`Streams::connect`].
    pub fn open(now: Instant, node: &mut impl Streams, target: Endpoint) -> Result<Self, Error> {
        Ok(Splice {
            conn: node.connect(now, target)?,
            opening: true,
            host_ended: false,
            closed: false,
            mesh_ended: false,
            failed: false,
        })
    }

    /// Returns the connection into the mesh, for comparison with events.
    pub fn conn(&self) -> ConnId {
        self.conn
    }

    /// Returns whether the target in the mesh had not yet answered at the last
    /// [`to_host`](Self::to_host).
    pub fn is_opening(&self) -> bool {
        self.opening
    }

    /// Returns the number of bytes that the connection would take now.
    pub fn room(&self, node: &impl Streams) -> usize {
        if self.failed || self.host_ended {
            return 0;
        }
        node.stream(self.conn).map_or(0, |stream| stream.send_room)
    }

    /// Passes bytes of the host's stream to the connection, and returns how many bytes the
    /// connection took. The caller must offer the rest again.
    pub fn from_host(&mut self, now: Instant, node: &mut impl Streams, bytes: &[u8]) -> usize {
        if self.failed || self.host_ended {
            return 0;
        }
        match node.send(now, self.conn, bytes) {
            Ok(taken) => taken,
            Err(Error::WouldBlock) => 0,
            Err(_) => {
                self.failed = true;
                0
            }
        }
    }

    /// Handles the end of the host's stream.
    pub fn on_host_end(&mut self, now: Instant, node: &mut impl Streams) {
        self.host_ended = true;
        self.pass_end_on(now, node);
    }

    /// Passes the end of the host's stream to the mesh. RFC 9293 §3.10.4: a CLOSE in SYN-SENT would
    /// discard the queued data, so the end of the stream waits for the handshake;
    /// [`to_host`](Self::to_host) then calls this function again.
    fn pass_end_on(&mut self, now: Instant, node: &mut impl Streams) {
        // Without a stream the connection has failed, and `opening` stays as it is.
        if let Some(stream) = node.stream(self.conn) {
            self.opening &= matches!(stream.state, State::SynSent | State::Closed);
        }
        if self.host_ended && !self.closed && !self.opening {
            self.closed = true;
            node.close(now, self.conn);
        }
    }

    /// Moves data from the mesh to the host's buffer.
    pub fn to_host(&mut self, now: Instant, node: &mut impl Streams, out: &mut [u8]) -> ToHost {
        if self.failed {
            return ToHost::Failed;
        }
        if self.mesh_ended {
            return ToHost::End;
        }
        self.pass_end_on(now, node);
        match node.recv(now, self.conn, out) {
            Ok(0) => {
                self.mesh_ended = true;
                ToHost::End
            }
            Ok(len) => ToHost::Data(len),
            Err(Error::WouldBlock) => ToHost::Nothing,
            Err(_) => {
                self.failed = true;
                ToHost::Failed
            }
        }
    }

    /// Returns whether both directions have ended, or the connection failed.
    pub fn is_done(&self) -> bool {
        self.failed || (self.host_ended && self.mesh_ended)
    }

    /// Releases the connection; resets it unless both directions had ended.
    pub fn release(self, now: Instant, node: &mut impl Streams) {
        if !(self.host_ended && self.mesh_ended) {
            node.abort(now, self.conn);
        }
        node.release(now, self.conn);
    }
}
