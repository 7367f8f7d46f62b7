//! Streams and listeners.

use core::net::SocketAddr;

use embedded_io_async::{ErrorType, Read, Write};
use embedded_nal_async::TcpConnect;
use redpoll_base::Duration;
use redpoll_stack::{ConnId, Listen, ListenerId};
use redpoll_tcp::{Endpoint, FreezeError, State};

use super::{Clock, Key, Net, Node, Profile, Side, Watch, endpoint};
use crate::Errno;

/// A TCP connection. Dropping it closes the connection; written data still arrives. A reference to
/// it also reads and writes, so two tasks may share the stream, one per direction.
pub struct TcpStream<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> {
    pub(super) net: &'n Net<P, C, T>,
    pub(super) id: ConnId,
}

/// A listener for TCP connections. Dropping it stops listening, and resets connections that were
/// not accepted.
pub struct TcpListener<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> {
    net: &'n Net<P, C, T>,
    id: ListenerId,
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Opens a connection.
    ///
    /// # Errors
    /// `ENETUNREACH`, `EMFILE`, `EADDRINUSE`, or the reason of the failure.
    pub async fn tcp_connect(&self, remote: Endpoint) -> Result<TcpStream<'_, P, C, T>, Errno> {
        let id = self.call(|inner, now| {
            let id = inner.node.tcp_connect(now, remote)?;
            let begun = inner.begin(Key::Tcp(id));
            if begun.is_err() {
                inner.node.tcp_release(now, id);
            }
            begun.map(|()| id)
        })?;
        // From here on, dropping the stream closes the connection.
        let stream = TcpStream { net: self, id };
        let key = Key::Tcp(id);
        self.until(key, Side::Write, |node, _| {
            let connection = node.tcp_connection(id).ok_or(Errno::ENOTCONN)?;
            match (connection.state(), connection.error()) {
                (_, Some(error)) => Err(error.into()),
                (State::SynSent | State::SynReceived, None) => Err(Errno::EAGAIN),
                _ => Ok(()),
            }
        })
        .await?;
        Ok(stream)
    }

    /// Restores a connection that [`TcpStream::freeze`] saved `slept` ago. The saved bytes can be
    /// used once; this call invalidates them.
    ///
    /// # Errors
    /// `EMFILE`, `EADDRINUSE` if the connection exists already, `ENETUNREACH` if it belongs to
    /// another node, `ETIMEDOUT` if it is too old, `ENOMEM` if it needs larger buffers, `EINVAL`
    /// for invalid bytes.
    pub fn tcp_thaw(
        &self,
        slept: Duration,
        frozen: &mut [u8],
    ) -> Result<TcpStream<'_, P, C, T>, Errno> {
        let id = self.call(|inner, now| {
            // Thawing invalidates the bytes, so check for a free entry first.
            if inner.watch(None).is_none() {
                return Err(Errno::EMFILE);
            }
            let id = inner.node.tcp_thaw(now, slept, frozen)?;
            inner.begin(Key::Tcp(id)).map(|()| id)
        })?;
        Ok(TcpStream { net: self, id })
    }

    /// Listens on a port.
    ///
    /// # Errors
    /// `EADDRINUSE`, `EMFILE`.
    pub fn tcp_listen(&self, port: u16) -> Result<TcpListener<'_, P, C, T>, Errno> {
        self.tcp_listen_with(port, Listen::default())
    }

    /// Listens on a port with Fast Open or another backlog.
    ///
    /// # Errors
    /// `EADDRINUSE`, `EMFILE`.
    pub fn tcp_listen_with(
        &self,
        port: u16,
        how: Listen,
    ) -> Result<TcpListener<'_, P, C, T>, Errno> {
        let id = self.call(|inner, now| {
            let id = inner.node.tcp_listen_with(port, how)?;
            let begun = inner.begin(Key::Listener(id));
            if begun.is_err() {
                inner.node.tcp_unlisten(now, id);
            }
            begun.map(|()| id)
        })?;
        Ok(TcpListener { net: self, id })
    }
}

impl<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> TcpListener<'n, P, C, T> {
    /// Returns the next connection.
    ///
    /// # Errors
    /// `EMFILE` if there is no [`Watch`] for the connection, which is then reset.
    pub async fn accept(&self) -> Result<TcpStream<'n, P, C, T>, Errno> {
        let (net, listener) = (self.net, self.id);
        let accept = |node: &mut Node<P>, _| node.tcp_accept(listener).ok_or(Errno::EAGAIN);
        let key = Key::Listener(listener);
        let id = net.until(key, Side::Read, accept).await?;
        net.call(|inner, now| {
            let begun = inner.begin(Key::Tcp(id));
            if begun.is_err() {
                inner.node.tcp_release(now, id);
            }
            begun
        })?;
        Ok(TcpStream { net, id })
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpStream<'_, P, C, T> {
    /// Returns the address and port of the other end; `None` after the connection is released.
    pub fn remote(&self) -> Option<Endpoint> {
        let inner = self.net.inner.borrow();
        Some(inner.node.tcp_connection(self.id)?.remote())
    }

    /// Waits for received data, passes them in place to `see` in two parts, and consumes as many
    /// bytes as `see` returns. Both parts are empty at the end of the stream.
    ///
    /// # Errors
    /// The reason why the connection ended.
    pub async fn read_with(
        &mut self,
        see: impl FnMut(&[u8], &[u8]) -> usize,
    ) -> Result<usize, Errno> {
        self.peek_with(see).await
    }

    pub(super) async fn peek_with(
        &self,
        mut see: impl FnMut(&[u8], &[u8]) -> usize,
    ) -> Result<usize, Errno> {
        let id = self.id;
        let attempt = |node: &mut Node<P>, now| {
            let (first, second) = node.tcp_peek(id);
            if !first.is_empty() {
                let count = see(first, second);
                return Ok(node.tcp_consume(now, id, count));
            }
            // `tcp_recv` returns 0 at the end of the stream, and an error if no data is there yet.
            let none = node.tcp_recv(now, id, &mut [0]).map_err(Errno::from)?;
            see(&[], &[]);
            Ok(none)
        };
        self.net.until(Key::Tcp(id), Side::Read, attempt).await
    }

    /// Closes the sending direction: the peer reads the end of the stream, and may still send.
    pub fn shutdown(&mut self) {
        self.net
            .call(|inner, now| inner.node.tcp_close(now, self.id));
    }

    /// Sets whether the application expects data from the other end, such as an answer. A sleepy
    /// node then polls often ([`Node::tcp_expect`](redpoll_stack::Node::tcp_expect)).
    pub fn expect(&mut self, expected: bool) {
        let id = self.id;
        self.net
            .call(|inner, _| inner.node.tcp_expect(id, expected));
    }

    /// Saves the connection in `out` before a deep sleep, and releases it without informing the
    /// other end; returns the length. [`Net::tcp_thaw`] restores the connection.
    ///
    /// # Errors
    /// The errors of [`Connection::freeze`](redpoll_tcp::Connection::freeze). After an error, the
    /// connection is unchanged.
    pub fn freeze(&mut self, out: &mut [u8]) -> Result<usize, FreezeError> {
        let id = self.id;
        self.net
            .call(|inner, now| inner.node.tcp_freeze(now, id, out))
    }

    /// Resets the connection.
    pub fn abort(self) {
        self.reset();
    }

    pub(super) fn reset(&self) {
        self.net
            .call(|inner, now| inner.node.tcp_abort(now, self.id));
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> ErrorType for &TcpStream<'_, P, C, T> {
    type Error = Errno;
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Read for &TcpStream<'_, P, C, T> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        if buf.is_empty() {
            return Ok(0);
        }
        let (key, id) = (Key::Tcp(self.id), self.id);
        self.net
            .until(
                key,
                Side::Read,
                |node, now| Ok(node.tcp_recv(now, id, buf)?),
            )
            .await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Write for &TcpStream<'_, P, C, T> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Errno> {
        let (key, id) = (Key::Tcp(self.id), self.id);
        self.net
            .until(key, Side::Write, |node, now| {
                match node.tcp_send(now, id, buf) {
                    Err(redpoll_stack::Error::NotConnected) => Err(Errno::EPIPE),
                    answer => Ok(answer?),
                }
            })
            .await
    }

    /// Waits until the other end has acknowledged all data.
    async fn flush(&mut self) -> Result<(), Errno> {
        let (key, id) = (Key::Tcp(self.id), self.id);
        self.net
            .until(key, Side::Flush, |node, _| {
                let connection = node.tcp_connection(id).ok_or(Errno::ENOTCONN)?;
                match (connection.unacked(), connection.error()) {
                    (_, Some(error)) => Err(error.into()),
                    (0, None) => Ok(()),
                    _ => Err(Errno::EAGAIN),
                }
            })
            .await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> ErrorType for TcpStream<'_, P, C, T> {
    type Error = Errno;
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Read for TcpStream<'_, P, C, T> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        (&*self).read(buf).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Write for TcpStream<'_, P, C, T> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Errno> {
        (&*self).write(buf).await
    }

    async fn flush(&mut self) -> Result<(), Errno> {
        (&*self).flush().await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Drop for TcpStream<'_, P, C, T> {
    fn drop(&mut self) {
        let id = self.id;
        self.net.call(|inner, now| {
            inner.node.tcp_close(now, id);
            inner.node.tcp_release(now, id);
            inner.end(Key::Tcp(id));
        });
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Drop for TcpListener<'_, P, C, T> {
    fn drop(&mut self) {
        let id = self.id;
        self.net.call(|inner, now| {
            inner.node.tcp_unlisten(now, id);
            inner.end(Key::Listener(id));
        });
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpConnect for Net<P, C, T> {
    type Error = Errno;
    type Connection<'a>
        = TcpStream<'a, P, C, T>
    where
        Self: 'a;

    async fn connect<'a>(&'a self, remote: SocketAddr) -> Result<Self::Connection<'a>, Errno> {
        self.tcp_connect(endpoint(remote)?).await
    }
}
