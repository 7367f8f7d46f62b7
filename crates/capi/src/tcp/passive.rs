//! Listeners, and connections that wait at them.

use redpoll_base::Addr;
use redpoll_socket::Errno;
use redpoll_tcp::{
    Answer, Connection, Endpoint, HalfOpen, Handshake, Incoming, Overflow, SendRing, State,
    SynCache, Terms,
};

use super::connection::{BUFFER_MIN, Conn, RpTcpBuffers, RpTcpConnection, buffers};
use super::listed::{Kind, Listed};
use super::segments::Reply;
use super::{Host, RpTcp};
use crate::endpoint::RpEndpoint;
use crate::error::{Code, code, value};

/// The treatment of connection requests that arrive when no half-open entry is free: SYN cookies
/// with the feature `full`.
#[derive(Debug)]
pub(crate) enum Flooded {}

impl Overflow for Flooded {
    const COOKIES: bool = cfg!(feature = "full");
}

/// A listener.
#[derive(Debug)]
pub struct Listening {
    /// Length of the smallest receive buffer of the listener's connections, in bytes.
    window: u16,
    /// Whether the listener is bound to the unspecified address. It then accepts handshakes at any
    /// local address, but at one address at a time.
    is_any: bool,
    /// Address and port of the listener. With `is_any`, the address is that of the handshakes in
    /// progress, or of the last segment if there are none.
    pub(crate) at: Endpoint,
    pub(crate) half_open: SynCache<&'static mut [HalfOpen], Flooded>,
}

impl Kind for Listening {
    const MARK: u32 = 0x7270_746c;
}

/// `struct rp_tcp_listener`, whose members C does not know.
pub type RpTcpListener = Listed<Listening>;

/// `struct rp_tcp_half_open`, whose members C does not know.
#[repr(transparent)]
#[derive(Debug)]
pub struct RpTcpHalfOpen(HalfOpen);

const _: () = assert!(size_of::<RpTcpHalfOpen>() <= 48 && align_of::<RpTcpHalfOpen>() <= 4);

impl Listening {
    /// Returns whether the listener accepts a segment to this address and port.
    fn takes(&mut self, to: Endpoint) -> bool {
        if self.at.port != to.port {
            return false;
        }
        if self.is_any && self.half_open.is_empty() {
            self.at.addr = to.addr;
        }
        self.at.addr == to.addr
    }

    /// Returns the parameters with which the engine answers connection requests to this listener.
    pub(crate) fn terms<'a>(&self, host: &'a Host) -> Terms<'a> {
        Terms {
            config: &host.config,
            isn: &host.isn,
            window: self.window,
            fast_open: false,
        }
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose listeners are valid,
/// `listener` to the memory of a listener, `at` to a `struct rp_endpoint`, and `half_open` to
/// `count` structs `rp_tcp_half_open`. No other code uses this array and the memory of the listener
/// until the listener is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_listen(
    tcp: *mut RpTcp,
    listener: *mut RpTcpListener,
    at: *const RpEndpoint,
    half_open: *mut RpTcpHalfOpen,
    count: usize,
    receive_buffer: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, at) = unsafe { (Listed::find(tcp), value(at)) };
    code(found.and_then(|tcp| {
        let (host, at) = (&mut tcp.it, at?.endpoint());
        if half_open.is_null() || !half_open.is_aligned() {
            return Err(Errno::EFAULT);
        }
        let window = u16::try_from(receive_buffer).or(Err(Errno::EINVAL))?;
        let refused = at.port == 0
            || at.addr.is_multicast()
            || receive_buffer < BUFFER_MIN
            || !(1..=255).contains(&count);
        if refused {
            return Err(Errno::EINVAL);
        }
        let is_any = at.addr.is_unspecified();
        // SAFETY: by this function's conditions.
        let others = unsafe {
            host.listeners.admit(listener)?;
            host.listeners.walk()
        };
        for other in others {
            let is_same = other.it.is_any || is_any || other.it.at.addr == at.addr;
            if other.it.at.port == at.port && is_same {
                return Err(Errno::EADDRINUSE);
            }
        }
        let entries = half_open.cast::<HalfOpen>();
        // SAFETY: by this function's conditions; all of the array is written before it is read.
        let entries = unsafe {
            for index in 0..count {
                entries.add(index).write(HalfOpen::default());
            }
            core::slice::from_raw_parts_mut(entries, count)
        };
        let it = Listening {
            window,
            is_any,
            at,
            half_open: SynCache::with_overflow(entries),
        };
        // SAFETY: by this function's conditions.
        unsafe { host.listeners.add(listener, it) };
        Ok(0)
    }))
}

/// # Safety
/// `tcp` is null or points to a `struct rp_tcp` whose connections and listeners are valid.
/// `listener` may be any pointer, because it is only compared with the pointers to the host's
/// listeners.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_unlisten(tcp: *mut RpTcp, listener: *mut RpTcpListener) -> Code {
    // SAFETY: by this function's conditions.
    let found = unsafe { Listed::find(tcp) };
    code(found.and_then(|tcp| {
        let host = &mut tcp.it;
        // SAFETY: by this function's conditions.
        unsafe {
            if !host.listeners.has(listener) {
                return Err(Errno::EINVAL);
            }
            host.listeners.remove(listener);
            for it in host.connections.walk() {
                if it.it.waits_at(listener) {
                    it.it = Conn::Over(true);
                }
            }
        }
        Ok(0)
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections and
/// listeners are valid, `listener` to a `struct rp_tcp_listener`, `connection` to the memory of a
/// connection, and `space` to a `struct rp_tcp_buffers`. Each buffer of `space` is null or has its
/// stated length. No other code uses the buffers and the memory of the connection until the
/// connection is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_accept(
    tcp: *mut RpTcp,
    listener: *mut RpTcpListener,
    connection: *mut RpTcpConnection,
    space: *const RpTcpBuffers,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, at) = unsafe { (Listed::find(tcp), Listed::find(listener)) };
    code(found.and_then(|tcp| {
        let (host, window) = (&mut tcp.it, at?.it.window);
        // SAFETY: by this function's conditions.
        unsafe {
            if !host.listeners.has(listener) {
                return Err(Errno::EINVAL);
            }
            host.connections.admit(connection)?;
            let (send, receive) = buffers(space, connection)?;
            if receive.len() < window.into() {
                return Err(Errno::EINVAL);
            }
            let it = Conn::Waiting {
                at: listener,
                send,
                receive,
            };
            host.connections.add(connection, it);
        }
        Ok(0)
    }))
}

/// Returns the listener for a segment to this end.
///
/// # Safety
/// The memory of the host's listeners is valid.
pub(crate) unsafe fn listener_at<'a>(host: &Host, to: Endpoint) -> Option<&'a mut RpTcpListener> {
    // SAFETY: by this function's conditions.
    let mut all = unsafe { host.listeners.walk() };
    all.find_map(|it| it.it.takes(to).then_some(it))
}

/// Processes a segment that belongs to no connection and is for a listener.
///
/// # Safety
/// The memory of the host's connections is valid.
pub(crate) unsafe fn request(
    host: &mut Host,
    listener: &mut RpTcpListener,
    incoming: &Incoming<'_>,
) -> Option<Reply> {
    let terms = listener.it.terms(host);
    match listener.it.half_open.input(&terms, incoming) {
        Answer::Reply(header) | Answer::Cookie(header) => Some(Reply::to(incoming.meta, header)),
        Answer::Reset(header) => host.resets.reply(incoming, header),
        Answer::Complete(handshake) => {
            // SAFETY: by this function's conditions.
            unsafe { complete(host, listener, &handshake, incoming) };
            None
        }
        Answer::Open(_) | Answer::Drop => None,
    }
}

/// Opens the connection that waits longest at the listener, if there is one.
///
/// # Safety
/// The memory of the host's connections is valid.
unsafe fn complete(
    host: &Host,
    listener: &mut RpTcpListener,
    handshake: &Handshake,
    incoming: &Incoming<'_>,
) {
    let &Incoming { now, meta, seg, .. } = incoming;
    // SAFETY: by this function's conditions.
    let waiting = unsafe { host.connections.walk() };
    let Some(place) = waiting.filter(|it| it.it.waits_at(listener)).last() else {
        return; // The peer retransmits.
    };
    let Conn::Waiting { at, send, receive } = core::mem::replace(&mut place.it, Conn::Over(false))
    else {
        return;
    };
    let (request, iss) = (&handshake.request, handshake.iss());
    let send = SendRing::new(send);
    place.it = Conn::Open(Connection::prepare(
        now,
        &host.config,
        request,
        iss,
        send,
        receive,
    ));
    let Conn::Open(open) = &mut place.it else {
        return;
    };
    open.resume(handshake);
    open.input(now, meta, seg);
    // In SYN-RECEIVED or CLOSED, the segment has failed a check of the connection, for example of
    // its timestamp, so the connection waits at the listener again.
    if !matches!(open.state(), State::SynReceived | State::Closed) {
        listener.it.half_open.remove(handshake);
        return;
    }
    if let Conn::Open(open) = core::mem::replace(&mut place.it, Conn::Over(false)) {
        let (send, receive) = open.into_buffers();
        place.it = Conn::Waiting { at, send, receive };
    }
}

/// Returns a function that gives the source address `addr` for every retransmitted answer.
pub(crate) fn source(addr: Addr) -> impl FnMut(&Addr, u8) -> Option<Addr> {
    move |_, _| Some(addr)
}
