//! Streams that open with their first data (TCP Fast Open, RFC 7413).

use embedded_io_async::{ErrorType, Read, Write};
use redpoll_tcp::Endpoint;

use super::{Clock, Key, Net, Profile, TcpStream, Watch};
use crate::Errno;

/// A stream that opens with its first write. If the node knows that the server accepts data with a
/// SYN, the SYN carries the written data, which then arrive a round trip earlier. These data may
/// arrive twice, in two connections (RFC 7413 §6.1). A second arrival is harmless for the first
/// flight of TLS 1.3 and for idempotent requests.
pub struct FastStream<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> {
    net: &'n Net<P, C, T>,
    remote: Endpoint,
    expects: bool,
    stream: Option<TcpStream<'n, P, C, T>>,
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Returns a connection to `remote` that opens with the first bytes written.
    pub fn tcp_connect_fast(&self, remote: Endpoint) -> FastStream<'_, P, C, T> {
        FastStream {
            net: self,
            remote,
            expects: false,
            stream: None,
        }
    }
}

impl<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> FastStream<'n, P, C, T> {
    /// Returns the connection, once data was written.
    pub fn stream(&mut self) -> Option<&mut TcpStream<'n, P, C, T>> {
        self.stream.as_mut()
    }

    /// Sets [`TcpStream::expect`], also before the connection opens.
    pub fn expect(&mut self, expected: bool) {
        self.expects = expected;
        if let Some(stream) = &mut self.stream {
            stream.expect(expected);
        }
    }

    fn open(&self, first: &[u8]) -> Result<(TcpStream<'n, P, C, T>, usize), Errno> {
        let (id, taken) = self.net.call(|inner, now| {
            let opened = inner
                .node
                .tcp_connect_with_data(now, 0, self.remote, first)?;
            let begun = inner.begin(Key::Tcp(opened.0));
            if begun.is_err() {
                inner.node.tcp_release(now, opened.0);
            }
            begun.map(|()| opened)
        })?;
        let net = self.net;
        let mut stream = TcpStream { net, id };
        if self.expects {
            stream.expect(true);
        }
        Ok((stream, taken))
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> ErrorType for FastStream<'_, P, C, T> {
    type Error = Errno;
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Read for FastStream<'_, P, C, T> {
    /// Reads; returns `ENOTCONN` before the first write.
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        self.stream.as_mut().ok_or(Errno::ENOTCONN)?.read(buf).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Write for FastStream<'_, P, C, T> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Errno> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.stream.is_none() {
            let (stream, taken) = self.open(buf)?;
            self.stream = Some(stream);
            if taken > 0 {
                return Ok(taken);
            }
        }
        match &mut self.stream {
            Some(stream) => stream.write(buf).await,
            None => Err(Errno::ENOTCONN),
        }
    }

    /// Waits until the other end has acknowledged all data.
    async fn flush(&mut self) -> Result<(), Errno> {
        match &mut self.stream {
            Some(stream) => stream.flush().await,
            None => Ok(()),
        }
    }
}
