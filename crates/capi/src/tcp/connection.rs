//! Calls of a connection.

use core::ptr;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_socket::Errno;
use redpoll_tcp::{Connection, Endpoint, Event, RecvError, SendError, SendRing, State, Trouble};

use super::listed::{Kind, Listed};
use super::passive::RpTcpListener;
use super::{Host, RpTcp, is_unicast, keepalive};
use crate::endpoint::RpEndpoint;
use crate::error::{Code, bytes, bytes_mut, code, reference, value};
use crate::measure::{RpTcpInfo, number};

/// Least length of a send or receive buffer in bytes.
pub(crate) const BUFFER_MIN: usize = 64;
/// Longest send or receive buffer in bytes, because windows are not scaled.
const BUFFER_MAX: usize = 65_535;

/// The first local port for connections that the host opens, and the number of such ports
/// (RFC 6335 §6).
const EPHEMERAL_FIRST: u16 = 49_152;
const EPHEMERAL_COUNT: u16 = 16_384;

/// Linux's number of LISTEN, the state of a connection that waits at a listener.
const LISTEN: u32 = 10;

pub(crate) type Buffer = &'static mut [u8];
pub(crate) type Open = Connection<Buffer>;

/// `struct rp_tcp_connection`, whose members C does not know.
pub type RpTcpConnection = Listed<Conn>;

/// A connection in any stage of its life.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Conn {
    /// Waits at a listener for the next handshake, with its send and receive buffers.
    Waiting {
        /// The listener; the pointer is only compared.
        at: *const RpTcpListener,
        /// The send buffer.
        send: Buffer,
        /// The receive buffer.
        receive: Buffer,
    },
    /// Open, or closed after it was open.
    Open(Open),
    /// Over, without a connection in the engine. The field is true while the event that reports
    /// this is still due to C.
    Over(bool),
}

impl Kind for Conn {
    const MARK: u32 = 0x7270_7463;
}

impl Conn {
    pub(crate) fn open(&self) -> Option<&Open> {
        match self {
            Conn::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(crate) fn open_mut(&mut self) -> Option<&mut Open> {
        match self {
            Conn::Open(open) => Some(open),
            _ => None,
        }
    }

    /// Returns whether the connection waits at this listener.
    pub(crate) fn waits_at(&self, listener: *const RpTcpListener) -> bool {
        matches!(self, Conn::Waiting { at, .. } if ptr::eq(*at, listener))
    }

    fn next_event(&mut self) -> Option<Code> {
        match self {
            Conn::Waiting { .. } => None,
            Conn::Open(open) => open.poll_event().map(event),
            Conn::Over(is_due) => core::mem::take(is_due).then_some(7),
        }
    }
}

/// Returns the number of an event, `RP_TCP_EVENT_*`.
fn event(event: Event) -> Code {
    match event {
        Event::Connected => 1,
        Event::Readable => 2,
        Event::Writable => 3,
        Event::PeerClosed => 4,
        Event::Trouble(Trouble::NoAnswer) => 5,
        Event::Trouble(Trouble::Icmp) => 6,
        Event::Closed => 7,
        // Failed, the last kind.
        _ => 8,
    }
}

/// Address and length of memory that C passes. The buffers and the connection must not overlap.
#[derive(Clone, Copy)]
struct Region(*const u8, usize);

impl Region {
    fn overlaps(self, other: Region) -> bool {
        let end = |it: Region| it.0.addr().saturating_add(it.1);
        self.0.addr() < end(other) && other.0.addr() < end(self)
    }
}

/// `struct rp_tcp_buffers`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpTcpBuffers {
    pub send: *mut u8,
    pub send_len: usize,
    pub receive: *mut u8,
    pub receive_len: usize,
}

/// Returns the buffers of a connection. `EINVAL` if a length is out of range, or if a buffer
/// overlaps the other one or the connection.
///
/// # Safety
/// `buffers` is null or points to a `struct rp_tcp_buffers`. Each of the two buffers is null or has
/// its stated length, and no other code uses the buffers during the life of the connection.
pub(crate) unsafe fn buffers(
    buffers: *const RpTcpBuffers,
    connection: *const RpTcpConnection,
) -> Result<(Buffer, Buffer), Errno> {
    // SAFETY: by this function's conditions.
    let it = unsafe { value(buffers) }?;
    let range = BUFFER_MIN..=BUFFER_MAX;
    let send = Region(it.send, it.send_len);
    let receive = Region(it.receive, it.receive_len);
    let own = Region(connection.cast(), size_of::<RpTcpConnection>());
    let refused = !range.contains(&it.send_len)
        || !range.contains(&it.receive_len)
        || send.overlaps(receive)
        || send.overlaps(own)
        || receive.overlaps(own);
    if refused {
        return Err(Errno::EINVAL);
    }
    // SAFETY: by this function's conditions.
    unsafe {
        Ok((
            bytes_mut(it.send, it.send_len)?,
            bytes_mut(it.receive, it.receive_len)?,
        ))
    }
}

/// Returns an open connection; `ENOTCONN` if it still waits for a peer, or is over.
///
/// # Safety
/// As [`Listed::find`].
unsafe fn open<'a>(connection: *mut RpTcpConnection) -> Result<&'a mut Open, Errno> {
    // SAFETY: by this function's conditions.
    let found = unsafe { Listed::find(connection) }?;
    found.it.open_mut().ok_or(Errno::ENOTCONN)
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections are
/// valid, `connection` to the memory of a connection, `space` to a `struct rp_tcp_buffers`, and
/// `local` and `remote` to a `struct rp_endpoint` each. Each buffer of `space` is null or has its
/// stated length. No other code uses the buffers and the memory of the connection until the
/// connection is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_connect(
    tcp: *mut RpTcp,
    now_us: u64,
    connection: *mut RpTcpConnection,
    space: *const RpTcpBuffers,
    local: *const RpEndpoint,
    remote: *const RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, ends) = unsafe { (Listed::find(tcp), (value(local), value(remote))) };
    code(found.and_then(|tcp| {
        let host = &mut tcp.it;
        let (local, remote) = (ends.0?.endpoint(), ends.1?.endpoint());
        if !is_unicast(&local.addr) || !is_unicast(&remote.addr) || remote.port == 0 {
            return Err(Errno::EINVAL);
        }
        // SAFETY: by this function's conditions.
        unsafe { host.connections.admit(connection) }?;
        // SAFETY: by this function's conditions.
        let (send, receive) = unsafe { buffers(space, connection) }?;
        // SAFETY: by this function's conditions.
        let local = unsafe { choose(host, local, remote) }?;
        let now = Instant::from_micros(now_us);
        let iss = host.isn.isn(now, &local, &remote);
        let send = SendRing::new(send);
        let mut open = Connection::connect(now, &host.config, local, remote, iss, send, receive);
        open.set_timestamp_offset(host.isn.timestamp_offset(&local, &remote));
        // SAFETY: by this function's conditions.
        unsafe { host.connections.add(connection, Conn::Open(open)) };
        Ok(0)
    }))
}

/// Returns the local end with a port that no connection to this peer uses. RFC 6056 §3.3.3: the
/// search for a port starts at a place that depends on the ends and the secret.
///
/// # Safety
/// The memory of the host's connections is valid.
unsafe fn choose(host: &mut Host, local: Endpoint, remote: Endpoint) -> Result<Endpoint, Errno> {
    let is_free = |local: &Endpoint| {
        // SAFETY: by this function's conditions.
        let mut others = unsafe { host.connections.walk() };
        others.all(|it| {
            let open = it.it.open().filter(|open| !open.is_closed());
            open.is_none_or(|open| open.local() != *local || open.remote() != remote)
        })
    };
    if local.port != 0 {
        return is_free(&local).then_some(local).ok_or(Errno::EADDRINUSE);
    }
    // The offset is computed with port 0, which no connection has. So the chosen port reveals no
    // connection's timestamp offset.
    let offset = host.isn.timestamp_offset(&local, &remote) as u16;
    for attempt in 0..EPHEMERAL_COUNT {
        let turn = host.chosen.wrapping_add(attempt);
        let place = offset.wrapping_add(turn) % EPHEMERAL_COUNT;
        let port = EPHEMERAL_FIRST.wrapping_add(place);
        let local = Endpoint { port, ..local };
        if is_free(&local) {
            host.chosen = turn.wrapping_add(1);
            return Ok(local);
        }
    }
    Err(Errno::EADDRINUSE)
}

/// # Safety
/// Each pointer may be null. Otherwise `connection` points to a `struct rp_tcp_connection`, and
/// `data` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_send(
    connection: *mut RpTcpConnection,
    now_us: u64,
    data: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, data) = unsafe { (open(connection), bytes(data, len)) };
    code(found.and_then(|open| {
        let data = data?;
        match open.send(Instant::from_micros(now_us), data) {
            Ok(0) if !data.is_empty() => Err(Errno::EAGAIN),
            Ok(count) => Ok(count),
            Err(SendError::Closed(Some(error))) => Err(error.into()),
            Err(_) => Err(Errno::EPIPE),
        }
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `connection` points to a `struct rp_tcp_connection`, and
/// `out` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_recv(
    connection: *mut RpTcpConnection,
    now_us: u64,
    out: *mut u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out) = unsafe { (open(connection), bytes_mut(out, len)) };
    code(
        found.and_then(|open| match open.recv(Instant::from_micros(now_us), out?) {
            Ok(count) => Ok(count),
            Err(RecvError::Failed(error)) => Err(error.into()),
            Err(_) => Err(Errno::EAGAIN),
        }),
    )
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_close(connection: *mut RpTcpConnection, now_us: u64) -> Code {
    // SAFETY: by this function's conditions.
    unsafe { end(connection, |open| open.close(Instant::from_micros(now_us))) }
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_abort(connection: *mut RpTcpConnection, now_us: u64) -> Code {
    // SAFETY: by this function's conditions.
    unsafe { end(connection, |open| open.abort(Instant::from_micros(now_us))) }
}

/// Ends a connection. A connection that still waits for a peer ends at once.
///
/// # Safety
/// As [`Listed::find`].
unsafe fn end(connection: *mut RpTcpConnection, how: impl FnOnce(&mut Open)) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { Listed::find(connection) }.map(|found| {
        match &mut found.it {
            Conn::Open(open) => how(open),
            Conn::Waiting { .. } => found.it = Conn::Over(true),
            Conn::Over(_) => {}
        }
        0
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections are
/// valid, and `connection` to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_release(tcp: *mut RpTcp, connection: *mut RpTcpConnection) -> Code {
    // SAFETY: by this function's conditions.
    let (found, released) = unsafe { (Listed::find(tcp), Listed::find(connection)) };
    code(found.and_then(|tcp| {
        let (host, released) = (&mut tcp.it, released?);
        if let Some(open) = released.it.open() {
            let is_waiting = open.state() == State::TimeWait && open.spare_turn().is_some();
            if !open.is_finished() && !is_waiting {
                return Err(Errno::EAGAIN);
            }
            if is_waiting {
                host.recycled.remember(&host.isn, open);
            }
        }
        // SAFETY: by this function's conditions.
        unsafe {
            if !host.connections.has(connection) {
                return Err(Errno::EINVAL);
            }
            host.connections.remove(connection);
        }
        Ok(0)
    }))
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_state(connection: *mut RpTcpConnection) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { Listed::find(connection) }.map(|found| {
        let state = match &found.it {
            Conn::Open(open) => number(open.state()),
            Conn::Waiting { .. } => LISTEN,
            Conn::Over(_) => number(State::Closed),
        };
        state as usize
    }))
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_error(connection: *mut RpTcpConnection) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { Listed::find(connection) }.and_then(|found| {
        match found.it.open().and_then(Open::error) {
            Some(error) => Err(error.into()),
            None => Ok(0),
        }
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `connection` points to a `struct rp_tcp_connection`, and
/// `local` and `remote` to a `struct rp_endpoint` each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_ends(
    connection: *mut RpTcpConnection,
    local: *mut RpEndpoint,
    remote: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, local, remote) = unsafe { (open(connection), reference(local), reference(remote)) };
    code(found.and_then(|open| {
        *local? = RpEndpoint::of(open.local());
        *remote? = RpEndpoint::of(open.remote());
        Ok(0)
    }))
}

/// Writes a connection's measurements to `info`.
///
/// # Safety
/// Each pointer may be null. Otherwise `connection` points to a `struct rp_tcp_connection`, and
/// `info` to a `struct rp_tcp_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_measure(
    connection: *mut RpTcpConnection,
    info: *mut RpTcpInfo,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, info) = unsafe { (open(connection), reference(info)) };
    code(found.and_then(|open| {
        *info? = RpTcpInfo::of(open);
        Ok(0)
    }))
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_set_nagle(
    connection: *mut RpTcpConnection,
    now_us: u64,
    on: u8,
) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { open(connection) }.map(|open| {
        open.set_nagle(Instant::from_micros(now_us), on != 0);
        0
    }))
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_set_keepalive(
    connection: *mut RpTcpConnection,
    now_us: u64,
    idle_ms: u32,
    interval_ms: u32,
    count: u8,
) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { open(connection) }.and_then(|open| {
        let probes = keepalive(idle_ms, interval_ms, count)?;
        open.set_keepalive(Instant::from_micros(now_us), probes);
        Ok(0)
    }))
}

/// # Safety
/// `connection` is null or points to a `struct rp_tcp_connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_set_user_timeout(
    connection: *mut RpTcpConnection,
    now_us: u64,
    timeout_ms: u32,
) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { open(connection) }.map(|open| {
        let timeout = (timeout_ms != 0).then(|| Duration::from_millis_u32(timeout_ms));
        open.set_user_timeout(Instant::from_micros(now_us), timeout);
        0
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `tcp` points to a `struct rp_tcp` whose connections are
/// valid, and `connection` to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_poll_event(
    tcp: *mut RpTcp,
    connection: *mut *mut RpTcpConnection,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, of) = unsafe { (Listed::find(tcp), reference(connection)) };
    code(found.and_then(|tcp| {
        let of = of?;
        // SAFETY: by this function's conditions.
        for it in unsafe { tcp.it.connections.walk() } {
            if let Some(event) = it.it.next_event() {
                *of = it;
                return Ok(event as usize);
            }
        }
        Ok(0)
    }))
}

/// Returns the endpoint of an address and a port.
pub(crate) fn endpoint(addr: Addr, port: [u8; 2]) -> Endpoint {
    Endpoint::new(addr, u16::from_be_bytes(port))
}
