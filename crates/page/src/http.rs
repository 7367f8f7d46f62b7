//! HTTP connections: limits their number, and closes connections without progress.
//!
//! The program needs file descriptors also for its other work. The server accepts every new
//! connection: if there is no room, it closes the connection that has made no progress for the
//! longest time. The server also closes the connection of a client that neither sends nor reads for
//! some time.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{StatusCode, Version, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Maximum number of simultaneous connections. WebSockets do not count, because they have their own
/// limit. A browser uses at most six connections for the page.
const CONNECTIONS: usize = 96;
/// Maximum number of simultaneous connections from one [`Network`].
const OF_ONE_NETWORK: usize = 48;
/// Time after which a connection without a byte in either direction is closed. The header of a
/// request must be complete within the same time. WebSockets are not affected.
const SILENCE: Duration = Duration::from_secs(5);
/// Pause after the system fails to accept a connection, for example for lack of a descriptor.
const NO_DESCRIPTOR: Duration = Duration::from_millis(100);

/// Maximum number of connections that the system queues for acceptance. A burst of clients fills
/// the standard library's queue of 128, and further clients then wait for 1 s.
const BACKLOG: i32 = 1_024;

/// Returns a non-blocking listener at `address`.
pub fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    SockRef::from(&listener).listen(BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// A client's IPv4 address, or the first 64 bits of its IPv6 address, because one client can use
/// all addresses of a /64 prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network(IpAddr);

impl Network {
    pub fn of(address: IpAddr) -> Network {
        Network(match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                let prefix = u128::from(address) >> 64 << 64;
                Ipv6Addr::from(prefix).into()
            }
            other => other,
        })
    }
}

/// Serves all clients until the caller drops the future. Handlers find the client's [`Network`]
/// among the extensions of the request.
pub async fn serve(listener: TcpListener, router: Router) {
    let router = router.layer(middleware::from_fn(require_one_host));
    let table = Arc::new(Table::default());
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            table.lock().evict(|_| true);
            tokio::time::sleep(NO_DESCRIPTOR).await;
            continue;
        };
        let network = Network::of(peer.ip());
        let router = router.clone().layer(Extension(network));
        // Keep the table locked until the entry is in it. The task removes the entry when the task
        // ends, which may be at once.
        let mut places = table.lock();
        places.make_room(network);
        let id = places.next;
        places.next += 1;
        let moved = Moved::default();
        let leave = Leave(Arc::clone(&table), id);
        let task = tokio::spawn(converse(stream, router, moved.clone(), leave));
        places.entries.push(Entry {
            id,
            network,
            moved,
            task: task.abort_handle(),
        });
    }
}

/// Serves a connection until it ends, or makes no progress for [`SILENCE`].
async fn converse(stream: TcpStream, router: Router, moved: Moved, leave: Leave) {
    let stream = Watched {
        stream,
        moved: moved.clone(),
    };
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(SILENCE);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // Ignore the error: the connection has ended in any case.
        _ = connection.with_upgrades() => {}
        () = moved.stops_for(SILENCE) => {}
    }
    drop(leave);
}

#[derive(Default)]
struct Table(Mutex<Places>);

#[derive(Default)]
struct Places {
    entries: Vec<Entry>,
    next: u64,
}

struct Entry {
    id: u64,
    network: Network,
    moved: Moved,
    task: AbortHandle,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Places> {
        // Each change leaves a consistent list, so the list is usable even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    /// Makes room for a connection of `network`: at its limit, closes one of its connections. If
    /// the table is full, closes a connection of the network with the most connections.
    fn make_room(&mut self, network: Network) {
        let count = |of: Network| {
            self.entries
                .iter()
                .filter(|entry| entry.network == of)
                .count()
        };
        if count(network) >= OF_ONE_NETWORK {
            self.evict(|entry| entry.network == network);
        } else if self.entries.len() >= CONNECTIONS {
            let busiest = self.entries.iter().map(|entry| entry.network);
            if let Some(busiest) = busiest.max_by_key(|network| count(*network)) {
                self.evict(|entry| entry.network == busiest);
            }
        }
    }

    /// Among the connections for which `may` is true, closes the one that has made no progress for
    /// the longest time.
    fn evict(&mut self, may: impl Fn(&Entry) -> bool) {
        let candidates = self.entries.iter().enumerate().filter(|(_, it)| may(it));
        let oldest = candidates.min_by_key(|(_, it)| it.moved.last());
        if let Some((index, _)) = oldest {
            self.entries.swap_remove(index).task.abort();
        }
    }
}

/// Removes a connection from the table when its task ends for any reason.
struct Leave(Arc<Table>, u64);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.lock().entries.retain(|entry| entry.id != self.1);
    }
}

/// Time of the last byte in either direction of a connection.
#[derive(Clone)]
struct Moved(Arc<Mutex<Instant>>);

impl Default for Moved {
    fn default() -> Self {
        Moved(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Moved {
    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns when no byte has moved for `silence`.
    async fn stops_for(&self, silence: Duration) {
        loop {
            let until = self.last() + silence;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

/// A stream that records the time of the last byte.
struct Watched {
    stream: TcpStream,
    moved: Moved,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.moved.now();
        }
        polled
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if matches!(polled, Poll::Ready(Ok(1..))) {
            self.moved.now();
        }
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        if matches!(polled, Poll::Ready(Ok(1..))) {
            self.moved.now();
        }
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Rejects a request without exactly one valid Host with status 400; HTTP/1.0 may omit Host (RFC
/// 9112 §3.2). hyper itself rejects a space before the colon with 400 (RFC 9112 §5.1).
async fn require_one_host(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_valid = match hosts.next() {
        None => request.version() < Version::HTTP_11,
        Some(host) => {
            let is_name = |byte: &u8| byte.is_ascii_graphic() && !b"/?#@".contains(byte);
            hosts.next().is_none() && host.as_bytes().iter().all(is_name)
        }
    };
    if is_valid {
        next.run(request).await
    } else {
        StatusCode::BAD_REQUEST.into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_ipv4_address_or_64_bits_of_ipv6() {
        let of = |text: &str| Network::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3:4:5"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_ne!(of("::1"), of("::2"));
    }
}
