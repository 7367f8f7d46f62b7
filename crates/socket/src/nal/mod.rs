//! Async sockets for any executor.
//!
//! [`Net`] holds a node; sockets borrow it. One task of the application is the *driver*: it passes
//! packets, frames and timeouts to the node through [`Net::with`], and takes output from it.
//! [`Net::work`] wakes the driver when a socket has given the node something to do.
//!
//! The crate has three drivers: [`Net::run_on`] for a node on a radio, `Net::run_over` for a node
//! over an IP device (feature `embassy`), and `Net::run_over_slip` for a node on a serial line.
//! Your own driver passes arrived input to the node in [`Net::with`] and takes its output. It then
//! waits for the first of [`Net::work`], further input, and [`Net::poll_at`].
//!
//! An echo service, which works with each of these drivers:
//!
//! ```
//! use embedded_io_async::{Read, Write};
//! use redpoll_socket::Errno;
//! use redpoll_socket::nal::{Clock, Net, Profile, Watch};
//!
//! async fn echo<P: Profile, C: Clock, T: AsMut<[Watch]>>(net: &Net<P, C, T>) -> Result<(), Errno> {
//!     let listener = net.tcp_listen(7)?;
//!     loop {
//!         let mut stream = listener.accept().await?;
//!         let mut bytes = [0; 256];
//! // 0 is the end of the stream.
//!         while let Ok(len @ 1..) = stream.read(&mut bytes).await {
//!             stream.write_all(&bytes[..len]).await?;
//!         }
//! // Dropping the stream closes it.
//!     }
//! }
//! # fn compiles<P: Profile, C: Clock, T: AsMut<[Watch]>>(net: &Net<P, C, T>) { drop(echo(net)) }
//! ```
//!
//! A [`Net`] is for one thread, such as an executor on a microcontroller. Dropping a future early
//! loses no data.

#[cfg(feature = "embassy")]
mod device;
#[cfg(feature = "edge")]
mod edge;
mod fast;
mod radio;
mod slip;
mod stream;
mod udp;

use core::cell::RefCell;
use core::future::poll_fn;
use core::net::{IpAddr, SocketAddr};
use core::task::{Context, Poll, Waker};

use embedded_io_async::ErrorKind;
use redpoll_base::{Addr, Instant, LeafMemory};
use redpoll_stack::{ConnId, ListenerId, Node, NodeEvent, UdpId};
use redpoll_tcp::{Endpoint, Event};

use crate::Errno;

pub use fast::FastStream;
pub use redpoll_stack::Profile;
pub use slip::LineMemory;
pub use stream::{TcpListener, TcpStream};
pub use udp::UdpSocket;

/// A source of the time.
pub trait Clock {
    /// Returns the time, which never decreases.
    fn now(&self) -> Instant;
}

impl<F: Fn() -> Instant> Clock for F {
    fn now(&self) -> Instant {
        self()
    }
}

/// A node and the tasks that wait for it. `T` is the table of [`Watch`]es: one for each connection,
/// listener and UDP socket that is used at the same time.
pub struct Net<P: Profile, C, T> {
    clock: C,
    inner: RefCell<Inner<P, T>>,
}

/// A leaf and the tasks that wait for it.
///
/// ```
/// use redpoll_socket::nal::{LeafNet, Watch};
/// use redpoll_socket::stack::base::{Addr, Instant, Rng};
/// use redpoll_socket::stack::{LeafNode, LeafStorage, NodeConfig};
///
/// # fn clock() -> Instant { Instant::ZERO }
/// let storage = Box::leak(Box::new(LeafStorage::NEW));
/// let config = NodeConfig::over_ip(Addr::UNSPECIFIED, [7; 16]);
/// let node = LeafNode::new(config, storage.memory(), Rng::new(1));
/// let net = LeafNet::new(node, clock, [const { Watch::FREE }; 3]);
/// assert!(net.tcp_listen(80).is_ok());
/// ```
pub type LeafNet<C, T> = Net<LeafMemory, C, T>;

struct Inner<P: Profile, T> {
    node: Node<P>,
    watches: T,
    driver: Option<Waker>,
    has_work: bool,
    takes_events: bool,
}

/// The wakers of the tasks that wait for one socket.
#[derive(Debug, Default)]
pub struct Watch {
    of: Option<Key>,
    read: Option<Waker>,
    write: Option<Waker>,
    /// The task that waits for the acknowledgment of all data, for which no event exists.
    flush: Option<Waker>,
}

impl Watch {
    /// An unused entry.
    pub const FREE: Watch = Watch {
        of: None,
        read: None,
        write: None,
        flush: None,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    Tcp(ConnId),
    Listener(ListenerId),
    Udp(UdpId),
}

/// The condition for which a task waits.
#[derive(Clone, Copy)]
enum Side {
    Read,
    Write,
    Flush,
}

impl<P: Profile, T: AsMut<[Watch]>> Inner<P, T> {
    fn watch(&mut self, key: Option<Key>) -> Option<&mut Watch> {
        let mut watches = self.watches.as_mut().iter_mut();
        watches.find(|watch| watch.of == key)
    }

    fn begin(&mut self, key: Key) -> Result<(), Errno> {
        let watch = self.watch(None).ok_or(Errno::EMFILE)?;
        watch.of = Some(key);
        Ok(())
    }

    fn end(&mut self, key: Key) {
        if let Some(watch) = self.watch(Some(key)) {
            *watch = Watch::FREE;
        }
    }

    fn wait(&mut self, key: Key, side: Side, cx: &Context<'_>) {
        if let Some(watch) = self.watch(Some(key)) {
            let waker = match side {
                Side::Read => &mut watch.read,
                Side::Write => &mut watch.write,
                Side::Flush => &mut watch.flush,
            };
            remember(waker, cx);
        }
    }

    fn wake(&mut self, key: Key) {
        if let Some(watch) = self.watch(Some(key)) {
            for waker in [&mut watch.read, &mut watch.write] {
                waker.take().into_iter().for_each(Waker::wake);
            }
        }
    }

    fn on_event(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Tcp(_, Event::Trouble(_)) => {}
            NodeEvent::Tcp(id, _) => self.wake(Key::Tcp(id)),
            NodeEvent::Accepted(id) => self.wake(Key::Listener(id)),
            NodeEvent::UdpReadable(id) => self.wake(Key::Udp(id)),
            _ => {}
        }
    }

    fn wake_ready(&mut self) {
        while self.takes_events
            && let Some(event) = self.node.poll_event()
        {
            self.on_event(event);
        }
        for watch in self.watches.as_mut() {
            if let (Some(Key::Tcp(id)), Some(_)) = (watch.of, &watch.flush)
                && self
                    .node
                    .tcp_connection(id)
                    .is_none_or(|c| c.unacked() == 0)
            {
                watch.flush.take().into_iter().for_each(Waker::wake);
            }
        }
    }
}

fn remember(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(known) => known.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Returns a net that owns a node.
    pub fn new(node: Node<P>, clock: C, watches: T) -> Self {
        let inner = Inner {
            node,
            watches,
            driver: None,
            has_work: true,
            takes_events: true,
        };
        Net {
            clock,
            inner: RefCell::new(inner),
        }
    }

    /// Returns a net for a driver that keeps the node elsewhere and takes its events itself. The
    /// driver lends the node ([`swap`](Self::swap)) while tasks run; `placeholder` replaces it at
    /// other times.
    pub fn lent(placeholder: Node<P>, clock: C, watches: T) -> Self {
        let net = Net::new(placeholder, clock, watches);
        net.inner.borrow_mut().takes_events = false;
        net
    }

    /// Calls `call` with the node, so that the driver passes input, output and timeouts. Then wakes
    /// the tasks concerned, but, unlike [`ask`](Self::ask), not the driver. `call` must not use the
    /// sockets.
    pub fn with<R>(&self, call: impl FnOnce(&mut Node<P>, Instant) -> R) -> R {
        let now = self.clock.now();
        let mut inner = self.inner.borrow_mut();
        let result = call(&mut inner.node, now);
        inner.wake_ready();
        result
    }

    /// Calls `call` with the node for an application, in addition to its sockets: for a ping, a
    /// route, or a thawed connection. Then wakes the tasks concerned, including the driver. `call`
    /// must not use the sockets.
    pub fn ask<R>(&self, call: impl FnOnce(&mut Node<P>, Instant) -> R) -> R {
        self.call(|inner, now| call(&mut inner.node, now))
    }

    /// Exchanges the node for `node`, which the sockets then use.
    pub fn swap(&self, node: &mut Node<P>) {
        core::mem::swap(&mut self.inner.borrow_mut().node, node);
    }

    /// Handles an event of a lent node: wakes the tasks concerned.
    pub fn on_event(&self, event: NodeEvent) {
        self.inner.borrow_mut().on_event(event);
    }

    /// Returns whether a task waits for the acknowledgment of all data. No event reports this
    /// acknowledgment. While the result is true, the driver of a lent node therefore calls
    /// [`with`](Self::with) after each packet.
    pub fn is_flushing(&self) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner
            .watches
            .as_mut()
            .iter()
            .any(|watch| watch.flush.is_some())
    }

    /// Returns the next timeout of the node.
    pub fn poll_at(&self) -> Option<Instant> {
        Some(self.inner.borrow().node.poll_at()?.at)
    }

    /// Waits until a socket has given the node something to do since the previous call. Only the
    /// driver, one task, may call this function.
    pub async fn work(&self) {
        poll_fn(|cx| match self.take_work(cx) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Returns whether a socket has given the node something to do since the previous call. If not,
    /// the next such socket wakes the driver.
    fn take_work(&self, cx: &Context<'_>) -> bool {
        let mut inner = self.inner.borrow_mut();
        let has_work = core::mem::take(&mut inner.has_work);
        if !has_work {
            remember(&mut inner.driver, cx);
        }
        has_work
    }

    /// Runs a call of a socket, after which the driver has work.
    fn call<R>(&self, call: impl FnOnce(&mut Inner<P, T>, Instant) -> R) -> R {
        let now = self.clock.now();
        let mut inner = self.inner.borrow_mut();
        let result = call(&mut inner, now);
        inner.wake_ready();
        inner.has_work = true;
        inner.driver.take().into_iter().for_each(Waker::wake);
        result
    }

    /// Calls `attempt` now, and again after each event that may let it succeed, until its result is
    /// not `EAGAIN`.
    async fn until<R>(
        &self,
        key: Key,
        side: Side,
        mut attempt: impl FnMut(&mut Node<P>, Instant) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        poll_fn(|cx| {
            let now = self.clock.now();
            let mut inner = self.inner.borrow_mut();
            match attempt(&mut inner.node, now) {
                Err(Errno::EAGAIN) => {
                    inner.wait(key, side, cx);
                    Poll::Pending
                }
                answer => {
                    drop(inner);
                    self.call(|_, _| ());
                    Poll::Ready(answer)
                }
            }
        })
        .await
    }
}

impl embedded_io_async::Error for Errno {
    fn kind(&self) -> ErrorKind {
        match *self {
            Errno::ECONNREFUSED => ErrorKind::ConnectionRefused,
            Errno::ECONNRESET => ErrorKind::ConnectionReset,
            Errno::ECONNABORTED => ErrorKind::ConnectionAborted,
            Errno::ENOTCONN => ErrorKind::NotConnected,
            Errno::EADDRINUSE => ErrorKind::AddrInUse,
            Errno::EADDRNOTAVAIL => ErrorKind::AddrNotAvailable,
            Errno::EPIPE => ErrorKind::BrokenPipe,
            Errno::EINVAL | Errno::EMSGSIZE => ErrorKind::InvalidInput,
            Errno::ETIMEDOUT => ErrorKind::TimedOut,
            Errno::EMFILE => ErrorKind::OutOfMemory,
            Errno::EAFNOSUPPORT | Errno::EOPNOTSUPP => ErrorKind::Unsupported,
            _ => ErrorKind::Other,
        }
    }
}

/// Converts an address; the node has no IPv4.
fn endpoint(addr: SocketAddr) -> Result<Endpoint, Errno> {
    match addr.ip() {
        IpAddr::V6(ip) => Ok(Endpoint::new(Addr(ip.octets()), addr.port())),
        IpAddr::V4(_) => Err(Errno::EAFNOSUPPORT),
    }
}

fn socket_addr(endpoint: Endpoint) -> SocketAddr {
    SocketAddr::new(IpAddr::V6(endpoint.addr.0.into()), endpoint.port)
}

/// Lets the executor's other tasks run once.
async fn yield_now() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if core::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
